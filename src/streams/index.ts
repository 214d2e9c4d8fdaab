import { countedBy } from '../provider/analytics/index.ts'
import { callMetrics } from './analytics/call-metrics.ts'
import { callSessions } from './analytics/call-sessions.ts'
import { calls } from './analytics/calls.ts'
import { qualityInsight } from './analytics/quality-insight.ts'
import { realtimeQuality } from './analytics/realtime-quality.ts'
import { realtimeUsage } from './analytics/realtime-usage.ts'
import { usageInsight } from './analytics/usage-insight.ts'
import { appEvents } from './classroom/app-events.ts'
import { poll } from './classroom/poll.ts'
import { popupQuiz } from './classroom/popup-quiz.ts'
import { recordings } from './classroom/recordings.ts'
import { resources } from './classroom/resources.ts'
import { roomEvents } from './classroom/room-events.ts'
import { cloudPlayers } from './players/cloud-players.ts'
import type { Deployment, Stream, StreamName } from './stream.ts'

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
