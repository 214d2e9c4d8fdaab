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
import type { DaemonProcess } from './daemon.ts'

const second = 1_000

/** Projects of one credential. */
export const projects: readonly AppOptions[] = Array.from({ length: 12 }, (_, n) => ({
  ...{ id: `app-${n}`, uid: 'penstock', token: `token-${n}`, plan: 'enterprise' },
  rest: { key: 'key', secret: 'secret' },
}))

/** A provider with the calls of a day behind it, and the configurations of processes that drain it. */
export interface Stage {
  readonly sandbox: Sandbox
  /** What each process is told, and the file that says it. */
  readonly settings: readonly Settings[]
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
  const settings = lists.map((list, place) => settingsOf(url, providers[place]!.url, list))
  for (const [place, config] of configs.entries())
    await writeFile(config, JSON.stringify(settings[place]), { mode: 0o600 })
  const hosts = providers.map(provider => new URL(provider.url).host)
  return {
    ...{ sandbox, settings, configs, processOf: ({ host }) => hosts.indexOf(host) },
    oldest: Math.floor(sandbox.status().now / second) - 3_600,
    close: async () => {
      await Promise.all(providers.map(provider => provider.close()))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const off = ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources']

export type Settings = ReturnType<typeof settingsOf>

function settingsOf(url: string, provider: string, apps: readonly AppOptions[]) {
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

/** Epochs that two had, and the most seconds for which a shard had no owner that was alive, and a process more than its share and one. */
export interface OwnershipRecord {
  readonly ownedTwice: readonly string[]
  readonly unownedSeconds: number
  readonly unfairSeconds: number
}

/** For how long something was so without a break. */
class Stretches<Key> {
  readonly #since = new Map<Key, number>()
  #longest = 0

  /** These are so now, and no others. */
  note(keys: readonly Key[]): void {
    const now = systemClock.monotonic()
    for (const key of this.#since.keys()) if (!keys.includes(key)) this.#since.delete(key)
    for (const key of keys) {
      const since = this.#since.get(key) ?? now
      this.#since.set(key, since)
      this.#longest = Math.max(this.#longest, now - since)
    }
  }

  /** Seconds, of whatever lasted longest. */
  longest(): number {
    return Math.round(this.#longest / 100) / 10
  }
}

/** Looks at the fence of every shard several times a second, until it is stopped. */
export function watchOwners(url: string, living: () => readonly Pick<DaemonProcess, 'isOwner'>[]) {
  const unowned = new Stretches<number>()
  const unfair = new Stretches<string>()
  const owners = new Map<string, string>()
  const ownedTwice: string[] = []
  const stopped = new AbortController()

  async function look(): Promise<void> {
    const rows = await ask(url, 'select shard, owner, epoch::text as epoch from ingest.ownership')
    const alive = living()
    const held = new Map<string, number>()
    for (const row of rows) {
      const owner = String(row.owner)
      const turn = `${row.shard} at epoch ${row.epoch}`
      const before = owners.get(turn) ?? owner
      if (before !== owner) ownedTwice.push(`${turn}: ${before} and ${owner}`)
      owners.set(turn, owner)
      held.set(owner, (held.get(owner) ?? 0) + 1)
    }
    const share = Math.ceil(rows.length / Math.max(1, alive.length))
    const isAlive = (owner: unknown) => alive.some(process => process.isOwner(String(owner)))
    unowned.note(rows.filter(({ owner }) => !isAlive(owner)).map(({ shard }) => Number(shard)))
    unfair.note([...held].filter(([owner, all]) => isAlive(owner) && all > share + 1).map(([owner]) => owner))
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
      return { ownedTwice, unownedSeconds: unowned.longest(), unfairSeconds: unfair.longest() }
    },
  }
}
