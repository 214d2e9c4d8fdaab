# Penstock in a container: Node, the packages that the program needs at run time, and the program as JavaScript. Node would
# run the TypeScript of src as it is, and keep what it takes to read it in memory: 25 MiB, and half a second at each start.
#
#   docker build --tag penstock .                          the daemon
#   docker build --tag penstock-demo --target demo .       with the sandbox and a Postgres of its own
#   docker run --read-only --volume ./penstock.yaml:/etc/penstock/penstock.yaml:ro penstock

FROM node:24.21.0-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24.21.0-slim AS program
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sandbox/package.json sandbox/
COPY embedded-postgres/package.json embedded-postgres/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/
COPY sandbox sandbox
COPY embedded-postgres embedded-postgres
COPY src src
RUN npm run build

FROM node:24.21.0-slim AS demo-packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sandbox/package.json sandbox/
COPY embedded-postgres/package.json embedded-postgres/
RUN npm ci --omit=dev --ignore-scripts

FROM node:24.21.0-slim AS daemon
LABEL org.opencontainers.image.title="Penstock" \
      org.opencontainers.image.description="Drains live-classroom REST APIs into Postgres without breaking a limit, and proves what is complete" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# With `penstock` in it, for docker exec and kubectl exec.
# Bodies lie beside the heap: the C library would keep the room of large ones in its arenas when they have gone.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 \
    PATH=/app/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY --from=program /app/dist dist
COPY migrations migrations
COPY bin bin
COPY deploy/image/penstock bin/penstock
# Nobody in particular: any other number does as well, and nothing is ever written to the file system.
USER 10001:10001
EXPOSE 9464 9465
STOPSIGNAL SIGTERM
# Not the whole command line: it takes its memory from the daemon's limit, twice a minute.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --start-interval=2s --retries=3 \
  CMD ["node", "--max-old-space-size=64", "--max-semi-space-size=1", "/app/dist/commands/healthcheck-main.js", "/etc/penstock/penstock.yaml"]
# Without a word from us Node takes the whole memory limit of a container for its heap, and is killed where it should
# collect. What a page leaves behind is young and much: a small nursery keeps it from taking 48 MiB on top of that.
ENTRYPOINT ["node", "--max-old-space-size-percentage=47", "--max-semi-space-size=4", "/app/bin/penstock.mjs"]
CMD ["run", "--config", "/etc/penstock/penstock.yaml"]

# Whatever `demo`, `sandbox` and `database.url: embedded` need besides; bin/penstock.mjs prefers the source.
FROM daemon AS demo
COPY --from=demo-packages /app/node_modules node_modules
COPY src src
COPY sandbox sandbox
COPY embedded-postgres embedded-postgres

# What is built where no target is named.
FROM daemon
