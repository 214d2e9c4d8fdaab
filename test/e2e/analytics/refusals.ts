import type { Sandbox } from '../../../sandbox/src/index.ts'
import { systemClock } from '../../../src/clock/system.ts'

/** An answer of code 300 that a provider gives once to a question that keeps every limit. */
export interface Refusal {
  readonly operation:
    | 'callSearch'
    | 'callSessions'
    | 'usageInsight'
    | 'qualityInsight'
    | 'realtimeUsage'
    | 'realtimeQuality'
  readonly message: string
  /** HTTP status beside the code, which no document names. */
  readonly status: 200 | 300 | 400 | 429
  /** Which of the questions meets it; the first where it is not said. */
  readonly meets?: (asked: Asked, now: number) => boolean
}

/** A question about a range of time as it arrived. */
export interface Asked {
  readonly operation: string
  /** When it came, Unix ms. */
  readonly at: number
  /** Unix seconds as they were sent. */
  readonly start: number
  readonly end: number
  readonly isRefused: boolean
}

const operations: Readonly<Record<string, string>> = {
  '/beta/analytics/call/lists': 'callSearch',
  '/beta/analytics/call/sessions': 'callSessions',
  '/beta/analytics/call/metrics': 'callMetrics',
  '/beta/insight/usage/by_time': 'usageInsight',
  '/beta/insight/quality/by_time': 'qualityInsight',
  '/beta/realtime/usage/by_time_20sec': 'realtimeUsage',
  '/beta/realtime/quality/by_time_20sec': 'realtimeQuality',
}

/** The sandbox behind a provider that gives each refusal once; `asked` grows by every question. */
export function refuseOnce(sandbox: Sandbox, refusals: readonly Refusal[], asked: Asked[]): Sandbox {
  const left = new Set(refusals)
  return {
    ...sandbox,
    fetch: async (request, hangUp) => {
      const { pathname, searchParams } = new URL(request.url)
      const operation = operations[pathname]
      if (!operation) return sandbox.fetch(request, hangUp)
      const at = systemClock.now()
      const number = (...names: readonly string[]) =>
        Number(names.map(name => searchParams.get(name)).find(text => text !== null))
      const question = { operation, at, start: number('start_ts', 'startTs'), end: number('end_ts', 'endTs') }
      const met = [...left].find(refusal => {
        const { operation, meets = () => true } = refusal
        return operation === question.operation && meets({ ...question, isRefused: false }, at / 1_000)
      })
      asked.push({ ...question, isRefused: met !== undefined })
      if (!met) return sandbox.fetch(request, hangUp)
      left.delete(met)
      const body = { code: 300, message: met.message, requestId: 'refused' }
      return new Response(JSON.stringify(body), {
        status: met.status,
        headers: { 'content-type': 'application/json', date: new Date(at).toUTCString() },
      })
    },
  }
}
