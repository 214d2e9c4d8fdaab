import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AppOptions,
  type Arrival,
  createSandbox,
  listen,
  type Sandbox,
} from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'

const second = 1_000

/** Projects of one credential. */
export const projects: readonly AppOptions[] = Array.from({ length: 12 }, (_, n) => ({
  ...{ id: `app-${n}`, uid: 'penstock', token: `token-${n}`, plan: 'enterprise' },
  rest: { key: 'key', secret: 'secret' },
}))

/** A provider with the calls of a day behind it, and the configurations of processes that drain it. */
export interface Stage {
  readonly sandbox: Sandbox
  /** Of each process. */
  readonly configs: readonly string[]
  /** Unix seconds: what began before was listed when the stage was set. */
  readonly oldest: number
  /** Which process sent it: each knows the provider under an address of its own. */
  readonly processOf: (arrival: Arrival) => number
  readonly close: () => Promise<void>
}

/** For one process each: the projects that it knows. All write to the database at `url`. */
export async function openStage(url: string, lists: readonly (readonly AppOptions[])[]): Promise<Stage> {
  const sandbox = createSandbox({
    ...{ clock: systemClock, seed: 'processes', apps: projects },
    profile: { kind: 'calls', callsPerDay: 72, users: 5, minutes: 12, days: 1 },
  })
  const providers = await Promise.all(lists.map(() => listen(sandbox)))
  const directory = await mkdtemp(join(tmpdir(), 'penstock-processes-'))
  const configs = lists.map((_, place) => join(directory, `penstock-${place}.yaml`))
  for (const [place, config] of configs.entries()) {
    const settings = settingsOf(url, providers[place]!.url, lists[place]!)
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 })
  }
  const hosts = providers.map(provider => new URL(provider.url).host)
  return {
    ...{ sandbox, configs, processOf: ({ host }) => hosts.indexOf(host) },
    oldest: Math.floor(sandbox.status().now / second) - 3_600,
    close: async () => {
      await Promise.all(providers.map(provider => provider.close()))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const off = ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources']

function settingsOf(url: string, provider: string, apps: readonly AppOptions[]): object {
  const address = { url: provider, deadline: '2s' }
  return {
    database: { url, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: address, analytics: address },
    streams: Object.fromEntries(off.map(stream => [stream, 'off'])),
    apps: apps.map(({ id, uid, token, plan, rest }) => ({
      ...{ id, region: 'eu', plan, rest, classroom: { uid, token } },
    })),
  }
}

/** Every request that broke a rule, with all that came within the minute before it, and the debit of each. */
export async function brokenRequests(url: string, { sandbox, processOf }: Stage): Promise<readonly object[]> {
  const all = sandbox.arrivals.list(0, sandbox.arrivals.count)
  const broken = all.filter(arrival => arrival.broken.length > 0)
  if (broken.length === 0) return []
  const debits = await ask(
    url,
    `select app_id as app, limit_group as group, n::int, operation, epoch::int, outcome,
            extract(epoch from sent_at)::float8 * 1000 as sent, extract(epoch from dead_at)::float8 * 1000 as dead,
            extract(epoch from settled_at)::float8 * 1000 as settled
     from ingest.debit where operation <> 'lost history' order by sent_at`,
  )
  const tell = (arrival: Arrival) => ({
    ...{ n: arrival.n, app: arrival.app, operation: arrival.operation, process: processOf(arrival) },
    ...{ arrived: new Date(arrival.time).toISOString(), status: arrival.status },
    // The one that let it go, and those of the same project that were under way beside it.
    debits: debits
      .filter(({ app, sent }) => app === arrival.app && Number(sent) <= arrival.time)
      .filter(({ dead, settled }) => Number(settled ?? dead) + 60 * second >= arrival.time)
      .map(({ group, n, operation, epoch, outcome, sent, dead, settled }) => ({
        ...{ group, n, operation, epoch, outcome },
        ...{ sentBefore: ago(arrival, sent), deadAfter: -ago(arrival, dead)! },
        settledAfter: settled === null ? null : -ago(arrival, settled)!,
      })),
  })
  return broken.map(arrival => ({
    ...{ ...tell(arrival), broken: arrival.broken },
    before: all.filter(({ n, time }) => n < arrival.n && time > arrival.time - 60 * second).map(tell),
  }))
}

/** Seconds. */
function ago({ time }: Arrival, at: unknown): number {
  return Math.round(time - Number(at)) / second
}

/**
 * Calls that began in what was read, long enough before the first daemon that none was listed late, and are not stored; and
 * stored ones that never were.
 */
export async function missingCalls(url: string, { sandbox, oldest }: Stage) {
  const ranges = await ask(
    url,
    `select app_id as app, extract(epoch from lower(r))::float8 as from, extract(epoch from upper(r))::float8 as to
     from ingest.progress, unnest(covered + seen) r where stream = 'calls'`,
  )
  const calls = await ask(
    url,
    `select call_id as call from analytics.call where app_id = any (array['${projects.map(({ id }) => id).join(`','`)}'])`,
  )
  const stored = new Set(calls.map(row => row.call))
  const truth = projects.flatMap(({ id }) =>
    [...sandbox.analytics(id).calls()].map(({ callId, createdAt }) => ({
      ...{ app: id, callId, at: createdAt / second },
    })),
  )
  const isRead = (app: string, at: number) =>
    ranges.some(range => range.app === app && Number(range.from) <= at && at < Number(range.to))
  const due = truth.filter(({ app, at }) => at < oldest && isRead(app, at))
  const known = new Set(truth.map(({ callId }) => callId))
  return {
    calls: due.length,
    lost: due.filter(({ callId }) => !stored.has(callId)).length,
    invented: [...stored].filter(call => !known.has(String(call))).length,
  }
}

/** Debits of a counter are numbered in the order in which they were granted: no epoch may follow a later one. */
export async function debitsOfFormerOwners(url: string): Promise<number> {
  const [twice] = await ask(
    url,
    `select count(*)::int as debits from (
       select epoch, max(epoch) over (partition by scope, limit_group, app_id order by n) as latest
       from ingest.debit where operation <> 'lost history') d where epoch < latest`,
  )
  return Number(twice!.debits)
}

/** Seconds for which a shard had no owner that was alive, and epochs that two had. */
export interface OwnershipRecord {
  readonly unownedSeconds: number
  readonly ownedTwice: readonly string[]
}

/** Looks at the fence of every shard several times a second, until it is stopped. `isAlive` is told a process ID. */
export function watchOwners(url: string, isAlive: (pid: number) => boolean) {
  const unowned = new Map<number, number>()
  const owners = new Map<string, string>()
  const ownedTwice: string[] = []
  const stopped = new AbortController()
  let longest = 0

  async function look(): Promise<void> {
    const rows = await ask(url, 'select shard, owner, epoch::text as epoch from ingest.ownership')
    const now = systemClock.monotonic()
    for (const row of rows) {
      const [shard, owner, turn] = [
        Number(row.shard),
        String(row.owner),
        `${row.shard} at epoch ${row.epoch}`,
      ]
      const before = owners.get(turn) ?? owner
      if (before !== owner) ownedTwice.push(`${turn}: ${before} and ${owner}`)
      owners.set(turn, owner)
      const since = unowned.get(shard)
      if (since !== undefined) longest = Math.max(longest, now - since)
      if (isAlive(Number(owner.split('/')[1]))) unowned.delete(shard)
      else unowned.set(shard, since ?? now)
    }
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      // While the database is away nobody can tell.
      await look().catch(() => {})
      await systemClock.sleep(200, stopped.signal)
    }
  }

  const watching = watch()
  return {
    /** What was owned in a history that is lost says nothing of the one that goes on. */
    forget: () => owners.clear(),
    stop: async (): Promise<OwnershipRecord> => {
      stopped.abort()
      await watching
      return { unownedSeconds: Math.round(longest / 100) / 10, ownedTwice }
    },
  }
}
