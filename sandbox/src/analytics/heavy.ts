import { type Call, past } from '../calls.ts'
import type { FaultRule } from '../faults.ts'
import { befalls } from '../hash.ts'
import type { Settings } from '../options.ts'
import { unservedSeconds } from './metrics.ts'
import { type AnalyticsContext, inSeconds } from './visit.ts'

/** A second of a call of which no answer tells that is of a usual size. */
export interface HeavySecond {
  readonly operation: 'callSessions' | 'callMetrics'
  /** Whose metrics are told with it; undefined of sessions. */
  readonly sid: string | undefined
  /** Unix seconds; one for which metrics have a value. */
  readonly at: number
}

/** So far into its time it lies, as a share. */
const into = 0.4

/** A call that goes on has none yet. */
export function heavySecond(call: Call, settings: Settings, now: number): HeavySecond | undefined {
  const { heavySessions, heavyMetrics } = settings.quirks
  const end = past(call.destroyedAt, now)
  if (end === undefined) return undefined
  const [first] = call.sessions
  if (befalls(heavySessions, 'heavy sessions', call.callId)) {
    const at = secondIn(call.createdAt, end, settings)
    return at === undefined ? undefined : { operation: 'callSessions', sid: undefined, at }
  }
  if (!first || !befalls(heavyMetrics, 'heavy metrics', call.callId)) return undefined
  const at = secondIn(first.joinedAt, past(first.leftAt, now) ?? end, settings)
  return at === undefined ? undefined : { operation: 'callMetrics', sid: first.sid, at }
}

/** Undefined where it would lie at an end. */
function secondIn(from: number, to: number, { switches }: Settings): number | undefined {
  const step = Math.max(1, Math.floor(switches.metricSeconds))
  const at = Math.ceil(inSeconds(from + (to - from) * into) / step) * step
  return at > inSeconds(from) + 1 && at < inSeconds(to) - 1 ? at : undefined
}

/** What becomes of an answer for what is asked in it. */
export function weightOf(operation: string, context: AnalyticsContext): FaultRule | undefined {
  const { settings, world, query, asked, now } = context
  const { heavySessions, heavyMetrics } = settings.quirks
  if (heavySessions === 0 && heavyMetrics === 0) return undefined
  const call = world.calls.find(query.optionalText('call_id') ?? '')
  const heavy = call && heavySecond(call, settings, now)
  if (heavy?.operation !== operation) return undefined
  const { sid, at } = heavy
  const end = operation === 'callMetrics' ? asked.end - unservedSeconds(settings) : asked.end
  const isTold = sid === undefined || (query.optionalText('sids') ?? '').split(',').includes(sid)
  return isTold && asked.start <= at && at <= end ? { kind: 'weighty' } : undefined
}
