/**
 * Runs the daemon in the memory and with the heap that the image documents, against a played provider with full calls
 * and a database of its own, all of them real processes, and tells what it held and what was stored:
 *
 *   npm run memory-soak -- --minutes 10 --profile calls      eight users in a call
 *   npm run memory-soak -- --minutes 10 --profile classes    thirty
 *
 * Prints a JSON object a line: one every few looks, and the sum at the end. Ends with 1 where the daemon died, held more
 * than --limit MiB, or stored nothing.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { type Confined, startConfined } from './confined.ts'
import { execForm, readDockerfile, stageOf } from './dockerfile.ts'
import { repository, textOf } from './image.ts'
import { openMemoryGroup } from './memory.ts'

const table = 'analytics.session_series'
const mebibyte = 1_048_576
/** What README says that the daemon needs. */
const documented = 256 * mebibyte
/** ms between two looks, and after which the daemon must have ended. */
const lookEvery = 2_000
const patience = 60_000
/** Looks after which the values are counted and taken away: an hour of them would fill 70 GB. */
const emptyEvery = 150

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    limit: { type: 'string', default: '240' },
    profile: { type: 'string', default: 'calls' },
    plan: { type: 'string', default: 'enterprise' },
    seed: { type: 'string', default: '1' },
  },
})

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

await soak()

async function soak(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'penstock-memory-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const database = await startEmbedded({
    dataDir: join(folder, 'data'),
    clock: systemClock,
    durability: 'full',
  })
  stack.defer(() => destroyEmbedded(join(folder, 'data'), systemClock))
  stack.defer(() => database.stop())
  await migrateUp({ url: database.url })
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  stack.defer(() => pool.end())

  const provider = startConfined(sandboxCommand())
  stack.defer(async () => void (await provider.terminate(patience)))
  const url = /http:\/\/\S+/.exec(await provider.line(/plays the provider at/))![0]
  const config = join(folder, 'penstock.yaml')
  await writeFile(config, configText(database.url, url), { mode: 0o600 })
  const { command, env } = readImage()
  const group = openMemoryGroup(documented)
  const memory = typeof group === 'string' ? undefined : group
  const daemon = startConfined([...command, 'run', '--config', config], { env, memory })
  stack.defer(async () => void (await daemon.terminate(patience)))

  const { counted, ...most } = await watch(daemon, pool)
  const died = daemon.hasEnded()
  const exit = await daemon.terminate(patience)
  const told = {
    ...{ minutes: Number(values.minutes), limitMiB: Number(values.limit), ...most, died, exit },
    kills: memory?.kills(),
    ...(typeof group === 'string' && { confinement: group }),
    rows: await rowsOf(pool, counted),
    ...(died && { lastLines: daemon.lines.slice(-12) }),
  }
  memory?.close()
  say(told)
  const isBeyond = most.peakResidentMiB > Number(values.limit)
  if (died || exit !== 0 || isBeyond || told.rows[table] === 0) process.exitCode = 1
}

async function watch(daemon: Confined, pool: pg.Pool) {
  const began = systemClock.monotonic()
  const length = Number(values.minutes) * 60_000
  let peakResidentMiB = 0
  let peakAt = 0
  let counted = 0
  for (let looks = 1; systemClock.monotonic() - began < length; looks++) {
    await systemClock.sleep(lookEvery)
    const status = daemon.status()
    if (!status) break
    const seconds = Math.round((systemClock.monotonic() - began) / 1_000)
    if (status.peak > peakResidentMiB) [peakResidentMiB, peakAt] = [status.peak, seconds]
    if (looks % 5 === 0) say({ seconds, ...status, pages: await pagesOf(pool) })
    if (looks % emptyEvery === 0) counted += await takeAway(pool)
  }
  return { seconds: Math.round((systemClock.monotonic() - began) / 1_000), peakResidentMiB, peakAt, counted }
}

function sandboxCommand(): readonly string[] {
  const { profile, plan, seed } = values
  return ['src/main.ts', 'sandbox', '--profile', profile, '--plan', plan, '--seed', seed, '--port', '0']
}

/** The image's own command line, and how it has the C library keep memory: both are what is tried here. */
function readImage() {
  const last = stageOf(readDockerfile(join(repository, 'Dockerfile')), 'daemon')
  const words = execForm(textOf(last, 'ENTRYPOINT')).slice(1)
  const settings = [...textOf(last, 'ENV').matchAll(/(MALLOC_\w+)=(\S+)/g)]
  return {
    command: words.map(word => word.replace('/app/', '')),
    env: Object.fromEntries(settings.map(([, name, value]) => [name!, value!])),
  }
}

function configText(databaseUrl: string, url: string): string {
  const { id, region, rest, uid, token } = { region: 'ap', ...demoApp }
  return JSON.stringify({
    database: { url: databaseUrl },
    http: { listen: '127.0.0.1:0' },
    log: { level: 'warn' },
    provider: { classroom: { url }, analytics: { url } },
    apps: [
      {
        id,
        region,
        plan: values.plan,
        rest: { key: rest.key, secret: rest.secret },
        classroom: { uid, token },
      },
    ],
  })
}

/** Pages of metrics that are done and that are owed. */
async function pagesOf(pool: pg.Pool) {
  const { rows } = await pool.query<{ stream: string; state: string; count: number }>(
    `select stream, state, count(*)::int from ingest.work_item group by 1, 2 order by 1, 2`,
  )
  return Object.fromEntries(rows.map(({ stream, state, count }) => [`${stream} ${state}`, count]))
}

/** Answers how many values there were; those that come between counting and taking away are not among them. */
async function takeAway(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(`select count(*) from ${table}`)
  await pool.query(`truncate ${table}`)
  return Number(rows[0]!.count)
}

async function rowsOf(pool: pg.Pool, counted: number): Promise<Readonly<Record<string, number>>> {
  const counts = ['analytics.call', 'analytics.call_session', table, 'ingest.dead_letter', 'ingest.gap']
  const found = counts.map(async name => {
    const { rows } = await pool.query<{ count: string }>(`select count(*) from ${name}`)
    return [name, Number(rows[0]!.count) + (name === table ? counted : 0)] as const
  })
  return Object.fromEntries(await Promise.all(found))
}
