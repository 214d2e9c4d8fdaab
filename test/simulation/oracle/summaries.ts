import type { TrueSeries } from '../../../sandbox/src/index.ts'
import { Findings } from './asked.ts'
import { byCall, type CallJudge, type StoredSeries } from './by-call.ts'
import type { Examination } from './examination.ts'

/** From here on a value is bad, as the documents of the project say of the metrics that tell of quality. */
const badFrom: Readonly<Record<number, number>> = { 20005: 200, 20011: 200, 20016: 10, 20018: 10, 20022: 400 }
/** The metrics of which views of quality tell, and the columns of each. */
const told: Readonly<Record<number, readonly [mean: string, p95: string]>> = {
  20005: ['audio_freeze_avg_ms', 'audio_freeze_p95_ms'],
  20011: ['video_freeze_avg_ms', 'video_freeze_p95_ms'],
  20016: ['audio_loss_avg_pct', 'audio_loss_p95_pct'],
  20018: ['video_loss_avg_pct', 'video_loss_p95_pct'],
  20022: ['rtt_avg_ms', 'rtt_p95_ms'],
}

/** The metric by which talk is told, and the value from which on somebody talks, as the project says. */
const volumeOfSent = 20025
const talkFrom = 40

interface Value {
  readonly sid: string
  readonly mid: number
  /** Unix seconds. */
  readonly at: number
  readonly value: number
}

type Row = Readonly<Record<string, string | number | boolean | null>>

/** A call whose stays come to more than these, seconds, is summed up by the housekeeping, which has come by in such a time. */
const large = 50 * 3_600
const untilHouseKept = 660

/**
 * Every cell of the summaries of calls, against the values of the world that are stored. One of which something is still
 * pending may be behind, and so may a large one of which something was read just now.
 */
export async function judgeSummaries(examination: Examination): Promise<CallJudge> {
  const { rows, apps, sandbox, end } = examination
  const found = new Findings()
  const standing = new Map(
    (
      await rows<{ key: string; pending: boolean; lost: boolean; read: number }>(
        `select app_id || ' ' || item as key, bool_or(state = 'pending') as pending, bool_or(state = 'lost') as lost,
                extract(epoch from max(updated_at))::float8 as read
         from ingest.work_item where stream in ('call-sessions', 'call-metrics') group by 1`,
      )
    ).map(({ key, ...state }) => [key, state]),
  )
  const all = apps.flatMap(({ id }) =>
    [...sandbox.analytics(id).calls()].map(({ callId }) => `${id} ${callId}`),
  )
  let read: { readonly where: string; readonly stored: Stored } | undefined
  return {
    calls: new Set(all.filter(key => standing.get(key)?.pending === false)),
    judge: async ({ key, callId, series, truth, where }) => {
      if (read?.where !== where) read = { where, stored: await readStored(examination, where) }
      const { stored } = read
      const { lost: isLost, read: readAt } = standing.get(key)!
      if (readAt > end / 1_000 - untilHouseKept && staysOf(callId, stored, end) > large) return
      compareCall(found, key, { callId, isLost, series, truth }, stored)
    },
    findings: () => found.list(),
  }
}

type Stored = Awaited<ReturnType<typeof readStored>>

/** What the tables and views say of calls, each by its call. */
async function readStored(examination: Examination, where: string) {
  const read = <Told = Row>(sql: string) => byCall<Told>(examination, sql)
  const seconds = (column: string) => `extract(epoch from ${column})::float8`
  return {
    quality: await read(`select *, samples::int as samples from analytics.call_quality ${where}`),
    summaries: await read(
      `select call_id, array_to_string(persons, ' ') as persons, stays, user_minutes from analytics.call_summary ${where}`,
    ),
    ends: await read<{ to: number | null }>(
      `select call_id, ${seconds('destroyed_at')} as to from analytics.call ${where}`,
    ),
    persons: await read<{ person: string; from: number | null; to: number | null }>(
      `select call_id, coalesce(uid, sid) as person, ${seconds('joined_at')} as from, ${seconds('left_at')} as to
       from analytics.call_session ${where}`,
    ),
    metrics: await read(`select * from analytics.metric_summary ${where}`),
    stays: await read(
      `select call_id, sid, samples::int, bad_samples::int, freeze_samples::int, freezes::int, audio_loss_samples::int, rtt_samples::int,
              ${Object.values(told).map(([mean]) => mean)}, t.volume_samples, t.talk_samples
       from analytics.session_quality
       left join (select call_id, sid, volume_samples, talk_samples from analytics.session_summary ${where}) t using (call_id, sid) ${where}`,
    ),
    minutes: await read(
      `select *, samples::int as samples, ${seconds('minute')} as at from analytics.call_quality_by_minute ${where}`,
    ),
    counts: await read<Counts>(countsOf(examination, where)),
  }
}

/** All stays of a call together, as far as they are known, seconds. */
function staysOf(callId: string, stored: Stored, now: number): number {
  const ended = stored.ends(callId)[0]?.to ?? now / 1_000
  return stored
    .persons(callId)
    .map(({ from, to }) => (from === null ? 0 : (to ?? ended) - from))
    .reduce((sum, seconds) => sum + seconds, 0)
}

interface Judged {
  readonly callId: string
  /** Something of it was given up. */
  readonly isLost: boolean
  readonly series: readonly StoredSeries[]
  readonly truth: readonly TrueSeries[]
}

function compareCall(
  found: Findings,
  key: string,
  { callId, isLost, series, truth }: Judged,
  stored: Stored,
): void {
  const [call] = stored.quality(callId)
  if (!call) return
  const values = valuesIn(series, truth)
  const telling = values.filter(({ mid }) => mid in badFrom)
  const minutes = Map.groupBy(telling, ({ at }) => at - (at % 60))
  const stays = Map.groupBy(values, ({ sid }) => sid)
  same(found, `${key} partial`, call.partial, isLost || call.finished !== true)
  compareQuality(found, key, call, telling)
  comparePersons(found, key, callId, stored)
  compareMetrics(found, key, stored.metrics(callId), values)
  for (const stay of stored.stays(callId))
    compareStay(found, `${key} ${stay.sid}`, stay, stays.get(String(stay.sid)) ?? [])
  compareMinutes(found, key, stored.minutes(callId), minutes)
  for (const row of stored.counts(callId))
    compareCounts(found, key, row, row.minute === null ? telling : (minutes.get(row.minute) ?? []))
}

/** How many values of each metric stand behind a row, of a whole call or of a minute of it. */
interface Counts {
  /** Unix seconds; null of the whole call. */
  readonly minute: number | null
  readonly mids: readonly number[]
  readonly samples: readonly number[]
  /** It was written at some time up to now. */
  readonly timely: boolean
}

function countsOf({ start, end }: Examination, where: string): string {
  const names = Object.values(told).map(([mean]) => mean.replace(/avg_.*/, 'samples'))
  const each = `array[${Object.keys(told).join(', ')}] as mids, array[${names.map(name => `coalesce(${name}, 0)`).join(', ')}] as samples`
  return `select call_id, null::float8 as minute, ${each},
            updated_at between to_timestamp(${start / 1_000}) and to_timestamp(${end / 1_000}) as timely
          from analytics.call_summary ${where}
          union all select call_id, extract(epoch from minute)::float8, ${each}, true from analytics.call_minute ${where}`
}

/** `of`: the values that tell of quality, of the call or of that minute of it. */
function compareCounts(found: Findings, name: string, row: Counts, of: readonly Value[]): void {
  const { minute, mids, samples, timely } = row
  for (const [n, mid] of mids.entries())
    same(
      found,
      `${name} ${minute ?? 'call'} samples of ${mid}`,
      samples[n],
      of.filter(each => each.mid === mid).length,
    )
  if (!timely) found.add('different', 'call summary', `${name}: written at a time that was not`)
}

/** What the world says of the moments that are stored. */
function valuesIn(series: readonly StoredSeries[], truth: readonly TrueSeries[]): readonly Value[] {
  const stored = new Map<string, Set<number>>()
  for (const { sid, mid, peer, times: seconds } of series) {
    // Of whom a value is, may be unsaid where it is the session's own user.
    const key = `${sid} ${mid} ${peer || '0'}`
    const times = stored.get(key) ?? new Set()
    stored.set(key, times)
    for (const second of seconds) times.add(Math.round(second))
  }
  const values: Value[] = []
  for (const { sid, mid, peer, moments, values: all } of truth) {
    const times = stored.get(`${sid} ${mid} ${peer}`)
    if (!times) continue
    moments.forEach((at, n) => {
      const value = all[n]
      if (typeof value === 'number' && times.has(at)) values.push({ sid, mid, at, value })
    })
  }
  return values
}

/** What a call, or a minute of it, comes to, by its values that tell of quality. */
function compareQuality(found: Findings, name: string, row: Row, telling: readonly Value[]): void {
  same(found, `${name} samples`, row.samples, telling.length)
  same(found, `${name} bad_share`, row.bad_share, shareOf(telling))
  for (const [mid, [mean, p95]] of Object.entries(told)) {
    const numbers = numbersOf(telling.filter(each => each.mid === Number(mid)))
    same(found, `${name} ${mean}`, row[mean], meanOf(numbers))
    if (p95 in row) same(found, `${name} ${p95}`, row[p95], percentile(numbers, 0.95))
  }
}

/** Who was there, and for how long, by the stays; those are judged elsewhere. */
function comparePersons(found: Findings, name: string, callId: string, stored: Stored): void {
  const [summary] = stored.summaries(callId)
  const [call] = stored.ends(callId)
  const stays = stored.persons(callId)
  const lengths = stays.map(({ from, to }) => {
    const end = to ?? call?.to ?? null
    return from === null || end === null ? 0 : Math.max(0, end - from)
  })
  const minutes = lengths.reduce((sum, each) => sum + each, 0) / 60
  same(
    found,
    `${name} persons`,
    asSet(String(summary?.persons).split(' ')),
    asSet(stays.map(({ person }) => person)),
  )
  same(found, `${name} stays`, summary?.stays, stays.length)
  same(found, `${name} user_minutes`, summary?.user_minutes, minutes)
}

const asSet = (texts: readonly string[]) =>
  [...new Set(texts)]
    .filter(text => text !== '')
    .toSorted()
    .join()

function compareMetrics(found: Findings, name: string, rows: readonly Row[], values: readonly Value[]): void {
  const left = Map.groupBy(values, ({ sid, mid }) => `${sid} ${mid}`)
  for (const row of rows) {
    const key = `${row.sid} ${row.mid}`
    const of = left.get(key) ?? []
    left.delete(key)
    const numbers = numbersOf(of)
    const right = {
      ...{
        samples: numbers.length,
        min: numbers[0] ?? null,
        max: numbers.at(-1) ?? null,
        avg: meanOf(numbers),
      },
      ...{ p50: percentile(numbers, 0.5), p95: percentile(numbers, 0.95) },
      bad_share: Number(row.mid) in badFrom ? shareOf(of) : null,
    }
    for (const [column, value] of Object.entries(right))
      same(found, `${name} ${key} ${column}`, row[column], value)
  }
  for (const key of left.keys()) found.add('lost', 'call summary', `${name} ${key}: nothing is told of it`)
}

function compareStay(found: Findings, name: string, row: Row, values: readonly Value[]): void {
  const telling = values.filter(({ mid }) => mid in badFrom)
  const freezes = telling.filter(({ mid }) => mid === 20005 || mid === 20011)
  const of = (mid: number) => telling.filter(each => each.mid === mid)
  const volume = values.filter(({ mid }) => mid === volumeOfSent)
  const talk = volume.filter(({ value }) => value >= talkFrom)
  const right = {
    ...{ volume_samples: volume.length || null, talk_samples: volume.length > 0 ? talk.length : null },
    ...{ samples: telling.length, bad_samples: telling.filter(isBad).length },
    ...{ freeze_samples: freezes.length, freezes: freezes.filter(isBad).length },
    ...{ audio_loss_samples: of(20016).length, rtt_samples: of(20022).length },
    ...Object.fromEntries(
      Object.entries(told).map(([mid, [mean]]) => [mean, meanOf(numbersOf(of(Number(mid))))]),
    ),
  }
  for (const [column, value] of Object.entries(right)) same(found, `${name} ${column}`, row[column], value)
}

function compareMinutes(
  found: Findings,
  name: string,
  rows: readonly Row[],
  values: ReadonlyMap<number, readonly Value[]>,
): void {
  const left = new Map(values)
  for (const row of rows) {
    const minute = Number(row.at)
    compareQuality(found, `${name} minute ${minute}`, row, left.get(minute) ?? [])
    left.delete(minute)
  }
  for (const minute of left.keys())
    found.add('lost', 'call summary', `${name}: minute ${minute} is not told of`)
}

const isBad = ({ mid, value }: Value) => value >= badFrom[mid]!

function shareOf(values: readonly Value[]): number | null {
  return values.length > 0 ? values.filter(isBad).length / values.length : null
}

function numbersOf(values: readonly Value[]): readonly number[] {
  return values.map(({ value }) => value).sort((a, b) => a - b)
}

function meanOf(numbers: readonly number[]): number | null {
  return numbers.length > 0 ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : null
}

/** Between the two values around the place, as SQL's percentile_cont is defined. */
function percentile(sorted: readonly number[], share: number): number | null {
  if (sorted.length === 0) return null
  const place = (sorted.length - 1) * share
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return below + (above - below) * (place - Math.floor(place))
}

/** Sums of doubles depend on their order in the last digits. */
function same(found: Findings, name: string, stored: Row[string] | undefined, right: Row[string]): void {
  const isClose =
    typeof stored === 'number' && typeof right === 'number'
      ? Math.abs(stored - right) <= 1e-9 * Math.max(1, Math.abs(right))
      : stored === right
  if (!isClose) found.add('different', 'call summary', `${name}: ${stored} instead of ${right}`)
}
