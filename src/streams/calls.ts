import type { z } from 'zod'
import type { RangeLimits } from '../planning/windows.ts'
import { CallItem, CallListAnswer, callSearch, isFullPage, maxima } from '../provider/analytics/index.ts'
import { readNumber, second } from '../provider/fits.ts'
import { duration, formatDuration, formatSeconds } from '../settings/values.ts'
import { type CallRow, call as table } from '../tables/analytics.ts'
import { type Call, endsAhead, hintRooms, isOngoing, sessionWork } from './calls/call-work.ts'
import type { Reject, WindowPage, WindowResult, WindowSeries } from './page.ts'
import { cronKey, pacedSection, paceOf, pauseMistakes } from './parts/cadence.ts'
import { digestOf, isObject, judgeEach, lastOfEach, type Read, redact } from './parts/items.ts'
import {
  believedAhead,
  fieldsBeside,
  latestBelieved,
  notAfter,
  secondsTimestamp,
  timestamp,
} from './parts/values.ts'
import type { Around, Mistake, WindowSettings, WindowStream } from './stream.ts'

const settings = pacedSection({
  every: duration('10s', '1h').prefault('1m').describe('How often new calls are looked for.'),
  ...cronKey(),
  allowedLateness: duration('0s', '1d')
    .prefault('1h')
    .describe(
      'How long after its end a range of time is searched again for calls that turn up late; then it is complete.',
    ),
  revisitEvery: duration('1m', '1d')
    .prefault('10m')
    .describe('How often calls that go on are looked at again.'),
})
type Settings = z.output<typeof settings>

/**
 * The calls of an app, newest first. A window owns the calls that start in it; the search may also list calls
 * that only overlap it, and all that is listed is stored.
 */
export const calls: WindowStream = {
  kind: 'window',
  name: 'calls',
  title: 'Call records',
  operation: callSearch,
  writes: [table],
  pageSize: maxima.pageSize,
  read,
  request: (appid, _series, { start, end }, page) => ({
    start_ts: start,
    end_ts: end,
    appid,
    page_no: page,
    page_size: maxima.pageSize,
  }),
  toRows,
  standIn: item => (isObject(item) ? { created_ts: item.created_ts } : null),
  settings,
  follows,
  mistakes,
}

/** All calls of the app, the only series of the stream. */
export const allCalls: WindowSeries = { key: '', ask: {}, step: 1 }

/** A bounded look back for late calls costs one request. */
function follows({ allowedLateness, revisitEvery, ...said }: Settings): WindowSettings {
  return {
    ...{ series: [allCalls], ...paceOf(said), revisitEvery, frame: 'needed' },
    allowedLateness: Math.ceil(allowedLateness / 1_000),
  }
}

/** A range must be read once more after it has become final and before it can no longer be had. */
function mistakes(
  { allowedLateness, revisitEvery, ...said }: Settings,
  allowed: RangeLimits | undefined,
  around: Around,
): readonly Mistake[] {
  if (!allowed) return []
  const tooRare = pauseMistakes(said, allowed, around)
  const available = allowed.availableData - allowed.dataDelay
  if (allowedLateness < available * 1_000 - revisitEvery) return tooRare
  return [
    ...tooRare,
    {
      settings: ['allowedLateness', 'revisitEvery'],
      limit: 'any',
      text: `allowedLateness (${formatDuration(allowedLateness)}) and revisitEvery (${formatDuration(revisitEvery)}) must together be shorter than what can be asked for (${formatSeconds(available)}): as it is, no range would ever be complete`,
    },
  ]
}

/** Without a beginning that can be believed a call has no place among the others; 0 stands for none. */
function believedBy(now: number) {
  const near = second
    .refine(at => at > 0, 'must not be 0')
    .refine(at => at <= now + believedAhead / 1_000, 'more than a day ahead')
  return CallItem.extend({ created_ts: near })
}

const columns = new Set(['call_id', 'cname', 'created_ts', 'destroyed_ts', 'finished'])

function read(answer: unknown): Pick<WindowPage, 'items' | 'hasMore' | 'isFull' | 'total'> {
  const { call_lists: items, has_more, ...counts } = CallListAnswer.parse(answer)
  const total = readNumber(counts.total_size)
  return { items, hasMore: has_more ?? false, isFull: isFullPage(items, counts), total }
}

function toRows(page: WindowPage): WindowResult {
  const { range, now, details } = page
  const { good, rejects } = judgeEach(believedBy(now), page.items.map(redact))
  const listed = lastOfEach(good, ({ value }) => value.call_id)
  const found = listed.map(({ value }) => value)
  const open = found.filter(call => isOngoing(call) || endsAhead(call, now))
  const unfinished = [...open.map(call => call.created_ts), ...rejects.flatMap(startOf)]
  const work = found.map(call => sessionWork(call, now, details))
  // Newest come first.
  const listsAll = (good.at(-1)?.value.created_ts ?? range.from) < range.from
  return {
    rows: { 'analytics.call': listed.map(item => callRow(item, page)) },
    rejects: [...rejects, ...work.flatMap(each => each.rejects)],
    hints: hintRooms(found, now),
    listed: [...found.map(call => call.call_id), ...rejects.map(({ item }) => digestOf([item]) ?? '')],
    reading: listsAll ? 'whole' : readingOf(page),
    listsAll,
    unfinished: [...new Set(unfinished)].filter(at => at >= range.from && at < range.to),
    isUncertain: rejects.some(reject => startOf(reject).length === 0),
    work: work.flatMap(each => each.items),
  }
}

/**
 * The document leaves open whether calls of the pages to come are left out, so a full page is followed by the next
 * whatever it says, and what is left out behind the last one is on no page.
 */
function readingOf({ isFull, hasMore }: WindowPage): WindowResult['reading'] {
  if (isFull) return 'next'
  return hasMore ? 'narrow' : 'whole'
}

/** A call that cannot be read may be told otherwise the next time: its start is read again until it is. */
function startOf({ item }: Reject): readonly number[] {
  const { data } = second.safeParse(isObject(item) ? item.created_ts : undefined)
  return data ? [data] : []
}

function callRow(item: Read<Call>, { now, receivedAt }: WindowPage): CallRow {
  const { value } = item
  const latest = latestBelieved({ answeredAt: now * 1_000, receivedAt })
  const destroyed_ts = notAfter(latest, secondsTimestamp(value.destroyed_ts))
  return {
    call_id: value.call_id,
    cname: value.cname ?? null,
    created_at: timestamp(value.created_ts * 1_000)!,
    destroyed_at: destroyed_ts,
    finished: value.finished ?? null,
    extra: fieldsBeside(columns, item, { destroyed_ts }),
  }
}
