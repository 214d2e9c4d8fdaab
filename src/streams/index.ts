import { countedBy } from '../provider/analytics/index.ts'
import { appEvents } from './app-events.ts'
import { callMetrics } from './call-metrics.ts'
import { callSessions } from './call-sessions.ts'
import { calls } from './calls.ts'
import { cloudPlayers } from './cloud-players.ts'
import { poll } from './poll.ts'
import { popupQuiz } from './popup-quiz.ts'
import { qualityInsight } from './quality-insight.ts'
import { realtimeQuality } from './realtime-quality.ts'
import { realtimeUsage } from './realtime-usage.ts'
import { recordings } from './recordings.ts'
import { resources } from './resources.ts'
import { roomEvents } from './room-events.ts'
import type { Deployment, Stream, StreamName } from './stream.ts'
import { usageInsight } from './usage-insight.ts'

/** Every stream by its name, as the documents and what is known from elsewhere have it asked. */
export const streams = {
  'app-events': appEvents,
  'room-events': roomEvents,
  'popup-quiz': popupQuiz,
  poll,
  recordings,
  resources,
  'cloud-players': cloudPlayers,
  calls,
  'call-sessions': callSessions,
  'call-metrics': callMetrics,
  'usage-insight': usageInsight,
  'quality-insight': qualityInsight,
  'realtime-usage': realtimeUsage,
  'realtime-quality': realtimeQuality,
} as const satisfies Streams

/** Streams by name: those that there are, or others in their place. */
export type Streams = Readonly<Record<StreamName, Stream>>

/** The streams as a deployment wants them asked. */
export function configuredStreams(deployment: Deployment, all: Streams = streams): readonly Stream[] {
  return Object.values(all)
    .map(stream => stream.configured?.(deployment) ?? stream)
    .map(stream => ({ ...stream, operation: countedBy(stream.operation, deployment.analyticsLimits) }))
}
