import { SeriesAnswer } from '../../provider/analytics/index.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Json, Timestamp } from '../../tables/json.ts'
import { redact } from '../redact.ts'
import { lastByKey } from '../row-sets.ts'
import type { Reject, WindowPage, WindowResult } from '../stream.ts'
import { timestamp } from '../times.ts'
import { type Point, type Problem, readPoint } from './point.ts'

/** A value of a series, with the beginning of the time that it stands for. */
export interface Value {
  /** The user whose value it is; '' where it is of all. */
  readonly uid: string
  readonly at: Timestamp
  readonly value: number
  readonly extra: Json
}

export interface Values {
  readonly values: readonly Value[]
  readonly rejects: readonly Reject[]
  /** Unix seconds of the values. */
  readonly received: readonly number[]
  /** How many values were told that nobody asked for. */
  readonly ignored: number
}

/** A place of an answer where a value stands, or what is wrong there. */
export interface Entry {
  readonly uid: string
  readonly point: Point | Problem | 'no value' | 'not asked for'
  /** What is set aside if it cannot be read: the whole item, in which the value may stand. */
  readonly item: unknown
}

/** The items of the one answer of a window of insights or real-time values. */
export function readData(answer: unknown): Pick<WindowPage, 'items' | 'hasMore'> {
  return { items: SeriesAnswer.parse(answer).data, hasMore: false }
}

export function wholeWindow(rows: RowSet, told: Omit<Values, 'values'>): WindowResult {
  const { rejects, received, ignored } = told
  return { rows, rejects, hints: [], reading: 'whole', unfinished: [], work: [], received, ignored }
}

/** The values of a metric in an answer. */
export function readValues(page: WindowPage, metric: string): Values {
  return collect(
    page.items.map(item => ({ uid: '', point: readPoint(item, metric), item })),
    page,
  )
}

/**
 * The values of some entries, each time of a user once. An answer may reach to both ends of its frame and beyond:
 * what the window does not own is left to the one that does.
 */
export function collect(entries: readonly Entry[], { range }: WindowPage): Values {
  const values: Value[] = []
  const received: number[] = []
  const rejects: Reject[] = []
  const ignored = entries.filter(({ point }) => point === 'not asked for').length
  for (const { uid, point, item } of entries) {
    if (point === 'no value' || point === 'not asked for') continue
    if ('reason' in point) rejects.push({ ...point, item: redact(item) })
    else if (point.second >= range.from && point.second < range.to) {
      received.push(point.second)
      const { second, value, extra } = point
      values.push({ uid, at: timestamp(second * 1_000)!, value, extra })
    }
  }
  return { values: lastByKey(values, ({ uid, at }) => `${at} ${uid}`), rejects, received, ignored }
}
