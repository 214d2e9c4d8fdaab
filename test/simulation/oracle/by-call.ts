import type { TrueSeries } from '../../../sandbox/src/index.ts'
import type { Examination, Finding } from './examination.ts'

/** All values of a metric of a session, in the order of their times. */
export interface StoredSeries {
  readonly sid: string
  readonly peer: string
  readonly mid: number
  /** Unix seconds. */
  readonly times: readonly number[]
  /** `time=value`, apart by commas. */
  readonly pairs: string
  /** What stands beside each, apart by line breaks; null where nothing stands beside any. */
  readonly extras: string | null
}

/** What was measured in a call, as it is stored and as it was. */
export interface MeasuredCall {
  readonly key: string
  readonly callId: string
  readonly series: readonly StoredSeries[]
  readonly truth: readonly TrueSeries[]
  /** The condition for all calls that are looked at together with this one. */
  readonly where: string
}

/** Judges calls one after the other. */
export interface CallJudge {
  /** Those that it wants to be shown, by app and call. */
  readonly calls: ReadonlySet<string>
  readonly judge: (call: MeasuredCall) => Promise<void>
  readonly findings: () => readonly Finding[]
}

/** So many calls are read at once: one question for each would cost more than what it answers. */
const together = 40

/** Goes through calls in groups of which everything is read together. */
export function inGroups<Call>(calls: readonly Call[]): readonly (readonly Call[])[] {
  return Array.from({ length: Math.ceil(calls.length / together) }, (_, n) =>
    calls.slice(n * together, (n + 1) * together),
  )
}

/** Rows that name their call as `call_id`, call by call. */
export async function byCall<Row>(
  { rows }: Pick<Examination, 'rows'>,
  sql: string,
): Promise<(callId: string) => readonly Row[]> {
  const all = Map.groupBy(await rows<Row & { readonly call_id: string }>(sql), ({ call_id }) => call_id)
  return callId => all.get(callId) ?? []
}

/** The condition for calls of an app. */
export function areOf(app: string, calls: readonly string[]): string {
  return `where app_id = '${app}' and call_id in (${calls.map(id => `'${id}'`).join(', ')})`
}
