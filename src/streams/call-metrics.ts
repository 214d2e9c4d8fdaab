import { z } from 'zod'
import { CallMetricsAnswer, maxima, callMetrics as operation } from '../provider/analytics/index.ts'
import { sessionSeries } from '../tables/analytics.ts'
import { halveTime } from './calls/call-work.ts'
import { type MeasuredSettings, measured } from './calls/selection.ts'
import { readMetrics } from './calls/session-metrics.ts'
import type { SubstreamPage, SubstreamResult, WorkItem } from './page.ts'
import { paceOf, pauseMistakes } from './parts/cadence.ts'
import { pieces } from './parts/items.ts'
import { believedAhead } from './parts/values.ts'
import type { Substream } from './stream.ts'

/**
 * The quality metrics of some sessions of a call, in one answer. What an answer leaves out has no metrics: a
 * session may be too short to have any.
 */
export const callMetrics: Substream = {
  kind: 'substream',
  part: 'completes',
  ...measured,
  title: 'Quality metrics of each session',
  operation,
  writes: [sessionSeries],
  needs: ['calls', 'call-sessions'],
  read: answer => ({ items: CallMetricsAnswer.parse(answer).metrics }),
  request: (appid, item) => ({
    start_ts: item.from,
    end_ts: item.to,
    appid,
    call_id: item.key,
    sids: sidsOf(item).join(),
  }),
  toRows: rowsOfMetrics(() => []),
  split,
  several: { count: item => sidsOf(item).length, divide },
  shorten: halveTime,
  pace: paceOf,
  mistakes: pauseMistakes,
  cost: ({ select }: MeasuredSettings) => ({
    ...{ batch: maxima.sids, end: 'known' },
    everyNth: select.everyNth,
  }),
  configured: ({ settingsOf }) => ({
    ...callMetrics,
    toRows: rowsOfMetrics(app => settingsOf(app, measured).select.mids),
  }),
}

const Ask = z.object({ sids: z.array(z.string()).min(1) })

function sidsOf({ ask }: WorkItem): readonly string[] {
  return Ask.parse(ask).sids
}

/** Stores the metrics that each app wants. */
function rowsOfMetrics(mids: (app: string) => readonly number[]): Substream['toRows'] {
  return ({ items, item, asked, now }: SubstreamPage): SubstreamResult => {
    const latest = now + believedAhead / 1_000
    const { rows, rejects } = readMetrics(items, item.key, mids(String(asked.appid)), latest)
    return {
      rows: { 'analytics.session_series': rows },
      rejects,
      streamState: null,
      reading: 'whole',
      work: [],
    }
  }
}

/** Fewer sessions first, for that costs nothing that was not to be asked for anyway; then less time. */
function split(item: WorkItem): readonly WorkItem[] | undefined {
  const sids = sidsOf(item)
  if (sids.length === 1) return halveTime(item)
  return divide(item, Math.ceil(sids.length / 2))
}

function divide(item: WorkItem, most: number): readonly WorkItem[] {
  return pieces(sidsOf(item), most).map((sids, n) => ({
    ...item,
    part: `${item.part}.${n + 1}`,
    ask: { sids },
  }))
}
