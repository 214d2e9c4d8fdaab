import type { CommitResult, ItemCommit, OpenItem, WindowCommit } from '../../src/engine/ports.ts'
import { app, me, start, type TestStore } from './harness.ts'

/** Unix seconds, so many seconds after the clock of a test begins. */
export const at = (seconds: number) => Date.parse(start) / 1_000 + seconds
export const iso = (seconds: number) => new Date(at(seconds) * 1_000).toISOString()
/** A range, from and to in seconds after the clock of a test begins. */
export const span = (from: number, to: number) => ({ from: at(from), to: at(to) })
/** Ranges back in seconds after the clock of a test begins. */
export const back = (ranges: readonly { from: number; to: number }[]) =>
  ranges.map(({ from, to }) => [from - at(0), to - at(0)])

export function windowPage(series: string, version: number, more: Partial<WindowCommit> = {}): WindowCommit {
  return {
    ...{ app, stream: 'calls', series, fence: me, version },
    ...{ covers: [], sees: [], misses: [], loses: [], rows: {}, rejects: [], work: [] },
    ...more,
  }
}

/** Commits on top of whatever is stored. */
export async function commitNext(
  db: TestStore,
  stream: WindowCommit['stream'],
  series: string,
  more: Partial<WindowCommit>,
): Promise<CommitResult> {
  const known = (await db.store.windows(app, stream)).find(each => each.series === series)
  return db.store.commitWindow(windowPage(series, known!.version, { stream, ...more }))
}

interface WorkOptions {
  readonly stream?: 'call-sessions' | 'call-metrics'
  readonly part?: string
  readonly from?: number
  readonly to?: number
  readonly ask?: WindowCommit['work'][number]['ask']
  readonly isLeftOut?: true
}

/** `from` and `to` in seconds after the clock of a test begins. */
export function work(key: string, options: WorkOptions = {}): WindowCommit['work'][number] {
  const { stream = 'call-sessions', part = '0', from = 0, to = 60, ask = null, ...leftOut } = options
  return { stream, key, part, from: at(from), to: at(to), ask, ...leftOut }
}

export function itemPage(item: OpenItem, more: Partial<ItemCommit> = {}): ItemCommit {
  return {
    app,
    fence: me,
    item,
    nextPage: null,
    streamState: null,
    rows: {},
    rejects: [],
    again: 60_000,
    work: [],
    ...more,
  }
}

/** Gives up what begins before a moment. */
export async function expire(
  db: TestStore,
  stream: 'call-sessions' | 'call-metrics',
  lowerBound: number,
  fence = me,
) {
  const calls = await db.store.expiringCalls(app, stream, lowerBound, [], 100)
  return db.store.expireItems(fence, app, stream, lowerBound, calls)
}

/** Items that may be fetched, whatever their range. */
export function openItems(db: TestStore, stream: 'call-sessions' | 'call-metrics' = 'call-sessions') {
  return db.store.items(app, stream, { after: 0, before: at(1e8) }, 1_000)
}

export function call(id: string, more: object = {}) {
  return {
    ...{
      call_id: id,
      cname: 'maths',
      created_at: iso(0),
      destroyed_at: iso(60),
      finished: true,
      extra: null,
    },
    ...more,
  }
}

export function session(id: string, sid: string, more: object = {}) {
  return {
    ...{ call_id: id, sid, cname: 'maths', uid: '1', network: null, platform: null, speaker: true },
    ...{
      sdk_version: null,
      device_type: null,
      joined_at: iso(0),
      left_at: iso(60),
      finished: true,
      extra: null,
    },
    ...more,
  }
}

/** `at` in seconds after the clock of a test begins. */
export function samples(
  id: string,
  sid: string,
  mid: number,
  values: readonly (readonly [number, number])[],
) {
  return {
    ...{ call_id: id, sid, peer_uid: '0', mid },
    ...{ at: values.map(([second]) => at(second)), value: values.map(([, value]) => value) },
  }
}
