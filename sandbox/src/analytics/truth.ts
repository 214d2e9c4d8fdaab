import type { Granularity } from '../../../src/provider/analytics/index.ts'
import { type Call, type CallSession, past } from '../calls.ts'
import type { Settings } from '../options.ts'
import type { Universe } from '../universe.ts'
import type { AppWorld } from '../world.ts'
import { type Equipment, equipmentOf } from './equipment.ts'
import { type HeavySecond, heavySecond } from './heavy.ts'
import type { Moment, QualitySeries } from './insights.ts'
import { countPoints, type MetricPoints, seriesOfCall, type TrueSeries } from './metrics.ts'
import type { QualityMetric } from './quality.ts'
import { isTightHour } from './ranges.ts'
import { type RealtimeUsageMetric, type Subject, valueOfQuality, valueOfUsage } from './realtime.ts'
import { isEndTold, type ServedCall, servedCall } from './search.ts'
import { areSessionsCut, isLeaveTold, type ServedSession, servedSession, speaksFrom } from './sessions.ts'
import { type Question, type Strangeness, servedFrom, strangeness } from './thin.ts'
import type { UsageMetric } from './usage.ts'

export interface TrueSession extends CallSession, Equipment {
  /** As it is served. */
  readonly item: ServedSession
  /** While it goes on, it is said to end at the moment of the answer. */
  readonly isLeaveTold: boolean
  /** From when on it is told of one who speaks, Unix milliseconds. */
  readonly speaksFrom: number
}

export interface TrueCall extends Omit<Call, 'sessions'> {
  /** As it is served. */
  readonly item: ServedCall
  /** Once it is over, the search says when it ended. */
  readonly isEndTold: boolean
  /** Of which second no answer of a usual size tells. */
  readonly heavy: HeavySecond | undefined
  /** Of its sessions the first page alone is served. */
  readonly isCut: boolean
  /** In the order of joining, those of servers included. */
  readonly sessions: readonly TrueSession[]
}

/** What an oracle may ask; times are Unix seconds. Values are those that stand in the end. */
export interface AnalyticsTruth {
  /** All that have begun, whether or not a search can reach them. */
  calls(): Iterable<TrueCall>
  /** Values of all sessions until now; undefined where there is no such call. */
  points(callId: string): MetricPoints | undefined
  /** Those values, a series at a time; nothing where there is no such call. */
  series(callId: string): Iterable<TrueSeries>
  /** In the end, or to whom asked at a moment. */
  usage(metric: UsageMetric, granularity: Granularity, ts: number, moment?: Moment): number
  quality(series: QualitySeries, ts: number, moment?: Moment): number
  realtimeUsage(subject: Subject, metric: RealtimeUsageMetric, ts: number): number
  /** Until when the world must be known for an entry of an operation to be served, Unix seconds; infinite: never. */
  servedFrom(operation: string, ts: number, step: number): number
  /** How an answer told the entry of a time, where nobody can read it. */
  strangeness(question: Omit<Question, 'app'>, ts: number): Strangeness | undefined
  /** Whether a limit group serves less at a moment, Unix milliseconds, than the plan says. */
  isTightHour(group: string, at: number): boolean
  /** Of a user undefined where the user is not there. */
  realtimeQuality(subject: Subject, metric: QualityMetric, ts: number, uid?: number): number | undefined
}

export function analyticsTruth(
  { settings, universe }: { readonly settings: Settings; readonly universe: Universe },
  app: string,
): AnalyticsTruth {
  const world = universe.app(app)
  if (!world) throw new Error(`the sandbox has no app ${app}`)
  const insights = universe.insights(app)
  const inTheEnd = () => ({ time: Number.POSITIVE_INFINITY, known: universe.happened() })
  return {
    calls: () => trueCalls(world, settings, universe.happened()),
    points: callId => {
      const call = world.calls.find(callId)
      const now = universe.happened()
      return call && call.createdAt <= now ? countPoints(call, settings, now) : undefined
    },
    series: callId => {
      const call = world.calls.find(callId)
      const now = universe.happened()
      return call && call.createdAt <= now ? seriesOfCall(call, settings, now) : []
    },
    usage: (metric, granularity, ts, moment = inTheEnd()) => insights.usage(metric, granularity, ts, moment),
    quality: (series, ts, moment = inTheEnd()) => insights.quality(series, ts, moment),
    servedFrom: (operation, ts, step) => servedFrom(settings, { app, operation, ts, step }),
    strangeness: (question, ts) => strangeness(settings, { app, ...question }, ts),
    isTightHour: (group, at) => isTightHour(settings, app, group, at),
    realtimeUsage: (subject, metric, ts) => {
      return valueOfUsage(world.calls, subject, metric, { ts, known: universe.happened() })
    },
    realtimeQuality: (subject, metric, ts, uid) => {
      return valueOfQuality(world.calls, subject, metric, { ts, known: universe.happened() }, uid)
    },
  }
}

/** The calls of an app as they stand at `now`, Unix milliseconds. */
export function* trueCalls(world: AppWorld, settings: Settings, now: number): Generator<TrueCall> {
  for (const call of world.calls.during(Number.NEGATIVE_INFINITY, now)) yield trueCall(call, settings, now)
}

/** The sessions are put together when someone looks at them: there may be millions of them. */
export function trueCall(call: Call, settings: Settings, now: number): TrueCall {
  const { quirks, switches } = settings
  const { callId, cname, createdAt, destroyedAt } = call
  return {
    ...{ callId, cname, createdAt },
    destroyedAt: past(destroyedAt, now),
    item: servedCall(call, quirks, now),
    isEndTold: isEndTold(call, switches),
    heavy: heavySecond(call, settings, now),
    isCut: areSessionsCut(call, settings),
    get sessions() {
      return call.sessions
        .filter(({ joinedAt }) => joinedAt <= now)
        .map(session => trueSession(session, cname, settings, now))
    },
  }
}

function trueSession(session: CallSession, cname: string, settings: Settings, now: number): TrueSession {
  return {
    ...session,
    ...equipmentOf(session),
    leftAt: past(session.leftAt, now),
    item: servedSession(session, cname, settings, now),
    isLeaveTold: isLeaveTold(session, settings),
    speaksFrom: speaksFrom(session, settings),
  }
}
