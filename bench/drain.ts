import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { systemClock } from '../src/clock/system.ts'
import { streams } from '../src/streams/index.ts'
import { roomStreamsOf } from '../src/streams/stream.ts'
import { buildImage } from '../test/container/image.ts'
import { copyAgain } from './copy.ts'
import { type Database, onDatabase } from './database.ts'
import { type Child, cpuSeconds, peakMemory, startChild, treeCpuSeconds } from './process.ts'
import { type Shares, sharesOf } from './shares.ts'

export interface DrainOptions {
  readonly events: number
  readonly rooms: number
  readonly rounds: number
  /** One more round, in which the daemon notes what it spends its time on. */
  readonly shares: boolean
  /** The daemon as the image runs it, with its flags and its environment, instead of the source of the clone. */
  readonly image: boolean
  readonly say: (line: string) => void
}

/** One round: a drain and a COPY of what it brought. */
export interface Round {
  readonly rows: number
  readonly startSeconds: number
  readonly drainSeconds: number
  readonly copySeconds: number
  readonly daemonCpu: number
  readonly serverCpu: number
  readonly copyCpu: number
  readonly peak: number
}

const mebibyte = 1_048_576
const patience = 1_800_000

/**
 * Drains a backlog over HTTP with the daemon as a process of its own, then copies the very same rows into the very
 * same tables and indexes, turn by turn. fsync is on for both. The clock runs from the first answer that has events until
 * every series of every room has been read to its end.
 */
export async function drain({ events, rooms, rounds, shares, image, say }: DrainOptions) {
  return onStage({ events, rooms, image, say }, async stage => {
    const all: Round[] = []
    for (let round = 1; round <= rounds; round++) {
      const one = await playRound(stage, round)
      say(`round ${round}: ${one.drainSeconds.toFixed(1)} s, COPY ${one.copySeconds.toFixed(2)} s`)
      all.push(one)
    }
    const figures = figuresOf(all, events)
    if (!shares) return { events, rooms, ...figures }
    const profile = join(stage.folder, 'profile')
    await playRound(stage, rounds + 1, profile)
    return { events, rooms, ...figures, ...((await sharesOf(profile)) satisfies Shares) }
  })
}

interface Backlog {
  readonly events: number
  readonly rooms: number
  /** When it happened; now where it is absent. */
  readonly hoursAgo?: number
  /** Streams of rooms; all of them where it is absent. */
  readonly only?: readonly string[]
  readonly image?: boolean
  readonly say: (line: string) => void
}

/** Has a provider that serves the backlog and a Postgres for as long as the work takes. */
export async function onStage<T>(
  { events, rooms, only, hoursAgo = 0, image = false, say }: Backlog,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  return onDatabase(async database => {
    const program = image ? await programOfImage(say) : programOfClone
    let provider: Child | undefined
    try {
      say(`rendering the answers of ${events} events in ${rooms} rooms`)
      const perRoom = rooms > 0 ? Math.ceil(events / rooms) : 0
      const backlog = [rooms, perRoom, hoursAgo].map(String)
      provider = await startChild(['bench/canned.ts', ...backlog, ...(only ?? [])])
      return await work({ ...database, provider, program, only })
    } finally {
      await provider?.stop()
      await program.remove()
    }
  })
}

/** How the daemon is started. */
interface Program {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly remove: () => Promise<void>
}

const programOfClone: Program = { args: ['bin/penstock.mjs'], env: {}, remove: async () => {} }

/** Memory that README gives a container. */
const documentedMebibytes = 256

/** The image's files in a folder, started with the heap that they have in the documented memory: there is no limit here. */
async function programOfImage(say: (line: string) => void): Promise<Program> {
  say('building what the image holds')
  const { files, entrypoint, env, remove } = await buildImage()
  const inMebibytes = (arg: string) =>
    arg.replace(
      /^--max-old-space-size-percentage=(\d+)$/,
      (_, percent) => `--max-old-space-size=${Math.floor((Number(percent) / 100) * documentedMebibytes)}`,
    )
  const args = entrypoint.slice(1).map(arg => (arg.startsWith('/') ? join(files, arg) : inMebibytes(arg)))
  const { PATH: _, ...own } = env
  return { args, env: own, remove }
}

export interface Stage extends Database {
  readonly provider: Child
  readonly program: Program
  readonly only: readonly string[] | undefined
}

/** Drains, and copies what came. */
export async function playRound(stage: Stage, round: number, profile?: string): Promise<Round> {
  const { url, ...drained } = await drainOnce(stage, round, profile)
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  try {
    const { rows, seconds, cpu } = await copyAgain(pool, () => treeCpuSeconds(stage.server.pid))
    return { ...drained, rows, copySeconds: seconds, copyCpu: cpu }
  } finally {
    await pool.end()
  }
}

/** Drains all into a database of its own, whose address is told with the figures. */
export async function drainOnce(
  { folder, server, fresh, provider, program, only }: Stage,
  round: number,
  profile?: string,
): Promise<Omit<Round, 'rows' | 'copySeconds' | 'copyCpu'> & { readonly url: string }> {
  const url = await fresh(`round_${round}`)
  const config = join(folder, `penstock-${round}.yaml`)
  await writeFile(config, configText(url, provider.firstLine, only), { mode: 0o600 })
  await fetch(`${provider.firstLine}/round/${round}`)
  const serverCpu = () => treeCpuSeconds(server.pid)
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const begun = systemClock.monotonic()
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []
  const daemon = await startChild([...flags, ...program.args, 'run', '--config', config], program.env)
  try {
    await provider.says(`first ${round}`)
    const startSeconds = since(begun)
    const before = { daemon: await cpuSeconds(daemon.pid), server: await serverCpu() }
    const first = systemClock.monotonic()
    await provider.says(`all ${round}`)
    await untilRead(pool, daemon, offOf(only))
    return {
      ...{ url, startSeconds, drainSeconds: since(first) },
      daemonCpu: (await cpuSeconds(daemon.pid)) - before.daemon,
      serverCpu: (await serverCpu()) - before.server,
      peak: await peakMemory(daemon.pid),
    }
  } finally {
    await daemon.stop()
    await pool.end()
  }
}

/** Nothing limits the daemon but its own work: rates are far above what two cores can do. */
function configText(databaseUrl: string, providerUrl: string, only: readonly string[] | undefined): string {
  const off = offOf(only)
  return `database: { url: "${databaseUrl}" }
http: { listen: "127.0.0.1:0" }
log: { level: warn }
provider: { classroom: { url: "${providerUrl}" } }
limits: { classroom: { perSecond: 10000, concurrency: 16 } }
streams: { ${off.map(name => `${name}: off`).join(', ')} }
apps: [{ id: demo, region: ap, plan: premium, classroom: { uid: penstock, token: demo-token } }]
`
}

function offOf(only: readonly string[] | undefined): readonly string[] {
  return only ? roomStreamsOf(Object.values(streams)).filter(name => !only.includes(name)) : []
}

async function untilRead(pool: pg.Pool, daemon: Child, off: readonly string[]): Promise<void> {
  const end = systemClock.monotonic() + patience
  for (;;) {
    const { rows } = await pool.query<{ open: boolean }>(
      `select exists (select from ingest.progress where series <> '' and stream <> all ($1) and caught_up_at is null) as open`,
      [off],
    )
    if (!rows[0]!.open) return
    if (!daemon.alive()) throw new Error('the daemon ended before everything was drained')
    if (systemClock.monotonic() > end) throw new Error('not every series was read in time')
    await systemClock.sleep(100)
  }
}

function figuresOf(rounds: readonly Round[], events: number) {
  const of = (figure: (round: Round) => number) => spread(rounds.map(figure))
  const million = events / 1_000_000
  return {
    rows: rounds[0]!.rows,
    rounds: rounds.length,
    start_seconds: of(round => round.startSeconds),
    drain_seconds: of(round => round.drainSeconds),
    copy_seconds: of(round => round.copySeconds),
    ratio: of(round => round.copySeconds / round.drainSeconds),
    events_per_second: of(round => events / round.drainSeconds),
    server_cpu_ratio: of(round => round.serverCpu / round.copyCpu),
    daemon_cpu_ratio: of(round => round.daemonCpu / round.copyCpu),
    server_cpu_seconds_per_million_events: of(round => round.serverCpu / million),
    copy_cpu_seconds_per_million_events: of(round => round.copyCpu / million),
    daemon_cpu_seconds_per_million_events: of(round => round.daemonCpu / million),
    daemon_peak_mebibytes: of(round => round.peak / mebibyte),
  }
}

/** The middle one of the rounds, the least and the most. */
export function spread(values: readonly number[]): readonly [middle: number, least: number, most: number] {
  const sorted = values.map(value => Number(value.toPrecision(3))).sort((a, b) => a - b)
  return [sorted[sorted.length >> 1]!, sorted[0]!, sorted.at(-1)!]
}

function since(moment: number): number {
  return (systemClock.monotonic() - moment) / 1_000
}
