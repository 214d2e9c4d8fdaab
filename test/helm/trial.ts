import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { rootCertificates } from 'node:tls'
import { demoApp, listen, type Sandbox } from '../../sandbox/src/index.ts'
import { systemRandom } from '../../src/clock/system.ts'
import { buildImage } from '../container/image.ts'
import { databaseUrl, execute } from '../support/databases.ts'
import { type Node, openNode } from './cluster.ts'
import { type Release, render, type ValueSet } from './helm.ts'

/** A release of the chart between a played provider and an empty database, with roles as production has them. */
export interface Trial {
  readonly release: Release
  readonly node: Node
  /** Address of the daemon's endpoints. */
  readonly url: string
  /** Address of the database for a superuser. */
  readonly databaseUrl: string
  readonly close: () => Promise<void>
}

/** Some certification authority, which no test is certified by. */
const [authority = ''] = rootCertificates

export interface TrialOptions {
  readonly set: ValueSet
  readonly sandbox: Sandbox
  /** Address of a database whose user may make databases and roles. */
  readonly server: string
}

export async function openTrial({ set, sandbox, server }: TrialOptions): Promise<Trial> {
  await using stack = new AsyncDisposableStack()
  const image = await buildImage()
  stack.defer(image.remove)
  const provider = await listen(sandbox)
  stack.defer(provider.close)
  const database = await makeDatabase(server)
  stack.defer(database.drop)
  const port = await freePort()
  const release = render(set, { config: configOf(port, provider.url) })
  const node = openNode({
    release,
    image,
    secrets: {
      'penstock-migration': { url: database.migration, 'ca.crt': authority },
      'penstock-credentials': {
        'database-url': database.runtime,
        'rest-key': demoApp.rest.key,
        'rest-secret': demoApp.rest.secret,
        'classroom-uid': demoApp.uid,
        'classroom-token': `${demoApp.token}\n`,
        'ca.crt': authority,
      },
    },
  })
  stack.defer(node.close)
  const kept = stack.move()
  return {
    ...{ release, node, url: `http://127.0.0.1:${port}`, databaseUrl: database.superuser },
    close: () => kept.disposeAsync(),
  }
}

/** The played provider in the place of the real one, and a port that is free on this machine. */
function configOf(port: number, url: string): object {
  return {
    http: { listen: `0.0.0.0:${port}` },
    log: { level: 'info' },
    provider: { classroom: { url }, analytics: { url } },
    // A world that is stopped in order to be compared says nothing any more, and by default is asked once an hour then.
    streams: Object.fromEntries(
      ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources'].map(name => [
        name,
        { idleEvery: '1m' },
      ]),
    ),
    apps: [
      {
        ...{ id: demoApp.id, region: 'ap', plan: demoApp.plan },
        rest: {
          keyFile: '/run/secrets/penstock/rest-key',
          secretFile: '/run/secrets/penstock/rest-secret',
        },
        classroom: {
          uidFile: '/run/secrets/penstock/classroom-uid',
          tokenFile: '/run/secrets/penstock/classroom-token',
        },
      },
    ],
  }
}

/** An empty database, with a login role for the migration and one for the daemon, which have the rights they need. */
async function makeDatabase(server: string) {
  const name = `penstock_chart_${systemRandom.uuid().replaceAll('-', '')}`
  const [migration, runtime] = [`${name}_m`, `${name}_r`]
  const superuser = databaseUrl(server, name)
  await execute(server, `create database ${name}`)
  for (const role of ['penstock_migrate', 'penstock_runtime', 'penstock_read']) {
    await execute(
      server,
      `do $$ begin create role ${role} nologin; exception when duplicate_object then null; end $$`,
    )
  }
  await execute(server, `grant create on database ${name} to penstock_migrate`)
  await execute(server, `create role ${migration} login password 'm' in role penstock_migrate`)
  await execute(server, `create role ${runtime} login password 'r' in role penstock_runtime`)
  const as = (username: string, password: string) =>
    Object.assign(new URL(superuser), { username, password }).href
  return {
    superuser,
    migration: as(migration, 'm'),
    runtime: as(runtime, 'r'),
    drop: async () => {
      await execute(server, `drop database ${name} with (force)`)
      await execute(server, `drop role ${migration}, ${runtime}`)
    },
  }
}

export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await once(listener, 'close')
  return port
}
