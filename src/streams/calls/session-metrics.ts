import type { z } from 'zod'
import { MetricSeries, MetricsItem } from '../../provider/analytics/index.ts'
import type { SessionMetricRow } from '../../rows/analytics.ts'
import type { Json } from '../../rows/json.ts'
import { asText, judgeEach } from '../items.ts'
import { metricId } from '../numbers.ts'
import { redact } from '../redact.ts'
import type { Reject } from '../stream.ts'
import { isRising, type Pairs, readPairs } from './pairs.ts'

const Series = MetricSeries.extend({ mid: metricId })
type Series = z.infer<typeof Series>

interface Found extends Omit<SessionMetricRow, 'at' | 'value' | 'extra'> {
  readonly at: number[]
  readonly value: number[]
  extra?: Json[]
}

/**
 * The values of each metric of each session. A series that comes twice is one; of two values of the same second
 * the last one counts. Entries, series and pairs that cannot be read are set aside, each with its sid.
 */
export function readMetrics(
  items: readonly unknown[],
  call_id: string,
): { readonly rows: readonly SessionMetricRow[]; readonly rejects: readonly Reject[] } {
  const rows = new Map<string, Found>()
  const entries = judgeEach(MetricsItem, items, 'metrics')
  const rejects: Reject[] = entries.rejects.map(reject => ({ ...reject, item: redact(reject.item) }))
  for (const { value: entry, ordinal } of entries.good) {
    const path = `metrics.${ordinal}.data`
    const series = judgeEach(Series, entry.data, path)
    for (const reject of series.rejects) rejects.push({ ...reject, item: entryOf(entry.sid, reject.item) })
    for (const { value: one, ordinal } of series.good) {
      const bad = add(rows, call_id, entry.sid, one, `${path}.${ordinal}.kvs`)
      if (bad) rejects.push(bad)
    }
  }
  return { rows: [...rows.values()].map(once), rejects }
}

/** Puts the pairs of a series to what is known of it; answers what has to be set aside. */
function add(
  rows: Map<string, Found>,
  call_id: string,
  sid: string,
  { mid, peer_uid, kvs }: Series,
  path: string,
): Reject | undefined {
  const read = readPairs(kvs)
  if (read.at.length > 0) {
    const peer = asText(peer_uid) ?? '0'
    const key = JSON.stringify([sid, mid, peer])
    const { at, value, extra } = read
    const known = rows.get(key)
    if (known) append(known, read)
    else rows.set(key, { call_id, sid, peer_uid: peer, mid, at, value, ...(extra && { extra: [...extra] }) })
  }
  if (read.bad.length === 0) return undefined
  const rule = 'must be a second and a finite number'
  return {
    reason: read.reason,
    detail: `${path}.${read.first}: ${rule} (mid ${mid}; such pairs: ${read.bad.length})`,
    item: entryOf(sid, { mid, peer_uid, kvs: read.bad }),
  }
}

function append(row: Found, { at, value, extra }: Pairs): void {
  const before = row.at.length
  for (const second of at) row.at.push(second)
  for (const each of value) row.value.push(each)
  if (extra) row.extra = [...filled(row.extra, before), ...extra]
  else if (row.extra) row.extra = filled(row.extra, row.at.length)
}

/** What stood beside the first values of a series, as long as there are values. */
function filled(extra: readonly Json[] = [], length: number): Json[] {
  return Array.from({ length }, (_, index) => extra[index] ?? null)
}

/** What is set aside has the shape of an entry of the answer, so that it can be read once more by itself. */
function entryOf(sid: string, series: unknown): unknown {
  return redact({ sid, data: [series] })
}

/** Each second once. Values come in order as a rule, and then there is nothing to do. */
function once(row: Found): SessionMetricRow {
  if (isRising(row.at)) return row
  const last = new Map(row.at.map((second, index) => [second, index]))
  const places = [...last.values()]
  const { extra } = row
  return {
    ...row,
    ...{ at: [...last.keys()], value: places.map(index => row.value[index]!) },
    ...(extra && { extra: places.map(index => extra[index]!) }),
  }
}
