import type { TrueCall } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf } from './asked.ts'
import { firstReach } from './calls.ts'
import { type Allowance, allowanceOf, groupOf, maxima } from './contract.ts'
import type { Examination } from './examination.ts'

const day = 86_400_000
/** How much of a day's requests a group may have left and still count as one that had no room for more. */
const spent = 0.9
/** After a call has ended its details are read within this, where there is room for them, ms. */
const longestUnread = 3_600_000
/** After this a request can no longer arrive: its total deadline and ten seconds, ms. */
const canArrive = 40_000

/** The part of a call that is asked about, both ends included; Unix seconds. */
export interface Extent {
  readonly from: number
  readonly to: number
}

/** A call that is said to end before it begins is asked about at its begin. */
export function extentOf({ item }: TrueCall): Extent {
  return { from: item.created_ts, to: Math.max(item.created_ts, item.destroyed_ts) }
}

/** Whether the sessions of a call and their values could be had for as long as it takes, and must be there. */
export function areDetailsDue(examination: Examination, call: TrueCall, allowance: Allowance): boolean {
  const { start, healed, end, isEnd } = examination
  if (!isEnd || call.destroyedAt === undefined) return false
  const isReachable = call.createdAt > start - (allowance.availableData - firstReach) * 1_000
  return isReachable && Math.max(call.destroyedAt, healed) + longestUnread < end
}

/** So many calls are listed of a search, on all of its pages. */
export function listable({ sandbox }: Examination): number {
  const { callListPages, mostPerPage } = sandbox.settings.switches
  return callListPages * Math.min(mostPerPage, maxima.page_size)
}

/**
 * Whether a call could be found: more may begin in its second than a search lists, in the order of their IDs. One that is
 * stored was.
 */
export async function readListed(examination: Examination): Promise<(call: TrueCall) => boolean> {
  const { apps, sandbox, rows } = examination
  const most = listable(examination)
  const unlisted = apps.flatMap(({ id }) => {
    const bySecond = Map.groupBy(sandbox.analytics(id).calls(), ({ item }) => item.created_ts)
    return [...bySecond.values()].flatMap(calls =>
      calls
        .map(({ callId }) => callId)
        .toSorted()
        .slice(most),
    )
  })
  if (unlisted.length === 0) return () => true
  const beyond = new Set(unlisted)
  const stored = new Set(
    (await rows<{ id: string }>('select call_id as id from analytics.call')).map(({ id }) => id),
  )
  return ({ callId }) => !beyond.has(callId) || stored.has(callId)
}

/** Whether a group had requests left for what was not asked, by all apps of its credential together. */
export function hasRoom(examination: Examination, app: string, operation: string): boolean {
  const { sandbox, apps, start, end, counters } = examination
  const group = groupOf[operation]!
  const keyOf = (id: string) => sandbox.settings.apps.find(one => one.id === id)?.rest?.key ?? id
  const sharing = apps.filter(({ id }) => keyOf(id) === keyOf(app))
  const perDay = Math.min(...sharing.flatMap(({ plan }) => rateOf(allowanceOf(group, plan), 86_400)))
  const ids = new Set(sharing.map(({ id }) => id))
  const isCounted = (asked: Asked) =>
    counters === 'split' ? asked.operation === operation : asked.group === group
  const made = askedOf(examination).filter(asked => isCounted(asked) && ids.has(asked.app))
  const perSecond = Math.min(
    ...sharing.flatMap(({ plan }) => rateOf(allowanceOf(group, plan), 1)),
    Number.POSITIVE_INFINITY,
  )
  const all = made.length + countedAsSpent(examination, made, perSecond)
  return all < (spent * perDay * (end - start)) / day
}

function rateOf(allowance: Allowance | undefined, window: number): readonly number[] {
  return (allowance?.rates ?? []).filter(rate => rate.window === window).map(({ requests }) => requests)
}

/**
 * Where history went back, nobody knows what was asked for in the one that is lost: the documents of the program say that
 * the time since the last request of it counts as spent to the full, until something is asked for again and what was on its
 * way has arrived.
 */
function countedAsSpent(
  { sandbox, rewound = [], end }: Examination,
  made: readonly Asked[],
  perSecond: number,
): number {
  if (!Number.isFinite(perSecond) || rewound.length === 0) return 0
  const all = sandbox.arrivals.list(0, sandbox.arrivals.count)
  let [count, countedUntil] = [0, 0]
  for (const { from, to } of rewound) {
    const last = made.findLast(({ time }) => time < from)
    if (!last) continue
    const next = all.find(({ time }) => time >= to)?.time ?? end
    const since = Math.max(last.time, countedUntil)
    count += perSecond * (Math.floor((next - since + canArrive) / 1_000) + 1)
    countedUntil = next
  }
  return count
}

/** Calls of which the ledger says that details are lost, by app and stream; for some reasons alone where that is said. */
export async function callsGivenUp({ rows }: Examination, reasons = 'true'): Promise<ReadonlySet<string>> {
  const gaps = await rows<{ key: string }>(
    `select app_id || ' ' || stream || ' ' || series as key from ingest.gap
     where stream in ('call-sessions', 'call-metrics') and state in ('lost', 'absent', 'open') and ${reasons}`,
  )
  return new Set(gaps.map(({ key }) => key))
}
