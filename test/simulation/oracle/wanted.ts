import { askedOf, Findings, say } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** What somebody wanted to be fetched once more: a range of time, or the details of one call. */
export interface Wanted {
  readonly app: string
  readonly stream: WantedStream
  /** The call, of details. */
  readonly call?: string
  /** Unix seconds; of details the second in which the call began, and the next. */
  readonly from: number
  readonly to: number
  /** ms since the epoch */
  readonly at: number
}

const operations = { calls: 'callSearch', 'call-sessions': 'callSessions', 'call-metrics': 'callMetrics' }
export type WantedStream = keyof typeof operations

/** Who wants a range, or a call, sees all of it asked for after that and answered, also what was given up before. */
export function examineWanted(examination: Examination, wanted: readonly Wanted[]): readonly Finding[] {
  const found = new Findings()
  const all = askedOf(examination).filter(({ answer }) => answer === 'served')
  for (const { app, stream, call, from, to, at } of wanted) {
    const since = all.filter(one => one.app === app && one.operation === operations[stream] && one.time >= at)
    if (call !== undefined) {
      if (!since.some(({ query }) => query.get('call_id') === call))
        found.add('owed', `${app} ${stream}`, `${call} is wanted once more, and nobody asked for it`)
      continue
    }
    for (let second = from; second < to; second++) {
      if (since.some(one => one.from <= second && second < one.to)) continue
      found.add('owed', `${app} ${stream}`, `${say(second)} is wanted once more, and nobody asked for it`)
    }
  }
  return found.list()
}
