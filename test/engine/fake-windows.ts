import { z } from 'zod'
import { callSearch, callSessions } from '../../src/provider/analytics/index.ts'
import type { WorkItem } from '../../src/streams/page.ts'
import type { Substream, WindowStream } from '../../src/streams/stream.ts'

/** What a provider of calls answers in these tests: seconds at which something begins, newest first. */
export interface ServedWindow {
  readonly items: readonly number[]
  readonly hasMore?: boolean
  /** How many it says there are. */
  readonly total?: number
  readonly unfinished?: readonly number[]
  /** Something in it cannot be read, and nobody knows when it begins. */
  readonly isUncertain?: boolean
  /** Seconds of the values in it, where it is made of values. */
  readonly received?: readonly number[]
}

const pageSize = 3

/** A stream like the one of calls: pages of three, newest first. */
export const calls: WindowStream = {
  kind: 'window',
  name: 'calls',
  settings: z.object({}),
  follows: () => ({ series: [], every: 0, allowedLateness: 0, revisitEvery: 0, frame: 'needed' }),
  title: '',
  writes: [],
  operation: callSearch,
  pageSize,
  request: (app, _series, { start, end }, page) => {
    return { appid: app, start_ts: start, end_ts: end, page_no: page, page_size: pageSize }
  },
  read: answer => {
    const { items, hasMore = false, total, unfinished = [], isUncertain, received } = answer as ServedWindow
    return { items: Object.assign([...items], { unfinished, isUncertain, received }), hasMore, total }
  },
  toRows: ({ items, hasMore, range }) => {
    const seconds = items as readonly number[]
    const rest = items as unknown as Required<ServedWindow>
    const isFull = seconds.length === pageSize
    const reading = !hasMore ? 'whole' : isFull ? 'next' : 'narrow'
    const inside = rest.unfinished.filter(second => range.from <= second && second < range.to)
    return {
      rows: {},
      rejects: [],
      hints: [],
      reading,
      unfinished: inside,
      work: [],
      received: rest.received,
      listed: seconds.map(String),
      listsAll: (seconds.at(-1) ?? range.from) < range.from,
      isUncertain: rest.isUncertain,
    }
  },
}

/** A stream like the one of sessions: an item has as many pages as it says; numbers below 0 cannot be read. */
export const sessions: Substream = {
  kind: 'substream',
  part: 'begins',
  pace: () => ({ every: 0 }),
  name: 'call-sessions',
  needs: ['calls'],
  settings: z.object({}),
  cost: () => ({ batch: 1, everyNth: 1, end: 'known' }),
  title: '',
  writes: [],
  operation: callSessions,
  request: (app, item, page) => {
    return {
      appid: app,
      call_id: item.key,
      start_ts: item.from,
      end_ts: item.to,
      page_no: page,
      page_size: 100,
    }
  },
  read: answer => ({ items: (answer as ServedWindow).items }),
  toRows: ({ items }, streamState) => {
    const read = ((streamState as number | null) ?? 0) + items.length
    return {
      rows: {},
      rejects: (items as readonly number[])
        .filter(item => item < 0)
        .map(item => ({ reason: 'out_of_range', detail: 'below 0', item })),
      streamState: read,
      reading: items.length === pageSize ? 'next' : 'whole',
      work: [],
    }
  },
  split: halves,
  shorten: halves,
}

function halves(item: WorkItem): readonly WorkItem[] | undefined {
  const middle = Math.floor((item.from + item.to) / 2)
  if (middle === item.from) return undefined
  const part = (n: number, from: number, to: number): WorkItem => ({
    ...item,
    part: `${item.part}.${n}`,
    from,
    to,
  })
  return [part(1, item.from, middle), part(2, middle + 1, item.to)]
}
