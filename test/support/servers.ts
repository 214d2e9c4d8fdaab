import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { destroyEmbedded, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'

export interface Server {
  readonly kind: 'docker' | 'embedded' | 'url'
  /** Of a superuser. */
  readonly url: string
  readonly description: string
  stop(): Promise<void>
}

const IMAGE = 'postgres:18-alpine'
const PROBE_MS = 3_000
const PREFIX = 'penstock-test-'

/** Starts the kind of server that is asked for: auto, docker, embedded or postgres://... */
export async function chooseServer(wanted: string): Promise<Server> {
  if (/^postgres(ql)?:\/\//.test(wanted)) return borrow(wanted)
  switch (wanted) {
    case 'auto':
      return startAny()
    case 'docker':
      if (await engineAnswers()) return startContainer()
      throw new Error('TEST_PG=docker, but no container engine answers: start one, or set TEST_PG=embedded')
    case 'embedded':
      return startOwn('as TEST_PG asks')
    default:
      throw new Error(`TEST_PG is "${wanted}", which is none of auto, docker, embedded, postgres://...`)
  }
}

async function startAny(): Promise<Server> {
  if (!(await engineAnswers())) return startOwn('no container engine answers')
  try {
    return await startContainer()
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    return startOwn(`the container engine could not start ${IMAGE}: ${reason}`)
  }
}

function borrow(url: string): Server {
  const { host } = new URL(url)
  return { kind: 'url', url, description: `the Postgres at ${host} (TEST_PG)`, stop: async () => undefined }
}

async function startContainer(): Promise<Server> {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql')
  const container = await new PostgreSqlContainer(IMAGE)
    .withCommand([
      'postgres',
      '-c',
      'fsync=off',
      '-c',
      'synchronous_commit=off',
      '-c',
      'full_page_writes=off',
    ])
    .start()
  return {
    kind: 'docker',
    url: container.getConnectionUri(),
    description: `Postgres in a container (${IMAGE})`,
    stop: async () => {
      await container.stop()
    },
  }
}

async function startOwn(reason: string): Promise<Server> {
  await removeLeftovers()
  const dataDir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  await chmod(dataDir, 0o755)
  const remove = async () => {
    await destroyEmbedded(dataDir, systemClock)
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const { url, stop } = await startEmbedded({ dataDir, clock: systemClock, durability: 'test' })
    const description = `an embedded Postgres (${reason})`
    return { kind: 'embedded', url, description, stop: () => stop().finally(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Servers of runs that were killed: a directory bears the process id of its run. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split('-')[0]) : 0
    if (!(pid > 0) || existsSync(`/proc/${pid}`)) continue
    const dataDir = join(tmpdir(), name)
    // Another user's is for that user to remove.
    await destroyEmbedded(dataDir, systemClock)
      .then(() => rm(dataDir, { recursive: true, force: true }))
      .catch(() => undefined)
  }
}

/** Loading the container library takes long, so it is only loaded where there is any sign of an engine. */
async function engineAnswers(): Promise<boolean> {
  if (!hasSignOfEngine()) return false
  const decided = new AbortController()
  const asked = import('testcontainers')
    .then(({ getContainerRuntimeClient }) => getContainerRuntimeClient())
    .then(
      () => true,
      () => false,
    )
  const tooLate = systemClock.sleep(PROBE_MS, decided.signal).then(() => false)
  const answered = await Promise.race([asked, tooLate])
  decided.abort()
  return answered
}

function hasSignOfEngine(): boolean {
  const runtimeDir = process.env.XDG_RUNTIME_DIR ?? `/run/user/${process.getuid?.()}`
  const signs = [
    '/var/run/docker.sock',
    join(runtimeDir, 'docker.sock'),
    join(homedir(), '.docker/run/docker.sock'),
    join(homedir(), '.docker/desktop/docker.sock'),
    join(homedir(), '.testcontainers.properties'),
  ]
  const variables = ['DOCKER_HOST', 'TESTCONTAINERS_HOST_OVERRIDE']
  return process.platform === 'win32' || variables.some(name => process.env[name]) || signs.some(existsSync)
}
