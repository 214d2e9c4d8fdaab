import { type AnalyticsLimitReading, countedBy, type ParameterNames } from '../provider/analytics/index.ts'
import { withRegion } from '../provider/classroom/index.ts'
import { type PlayerLimitReading, playerGroupOf } from '../provider/players/index.ts'
import { callMetrics } from './analytics/call-metrics.ts'
import { askSessions, callSessions, rowsOfSessions, type ServerUsers } from './analytics/call-sessions.ts'
import { calls } from './analytics/calls.ts'
import { qualityInsight } from './analytics/quality-insight.ts'
import { realtimeQuality } from './analytics/realtime-quality.ts'
import { realtimeUsage } from './analytics/realtime-usage.ts'
import { usageInsight } from './analytics/usage-insight.ts'
import type { CallSelection } from './calls/selection.ts'
import { appEvents } from './classroom/app-events.ts'
import { poll } from './classroom/poll.ts'
import { popupQuiz } from './classroom/popup-quiz.ts'
import { recordings } from './classroom/recordings.ts'
import { resources } from './classroom/resources.ts'
import { roomEvents } from './classroom/room-events.ts'
import { cloudPlayers } from './players/cloud-players.ts'
import { format } from './series/parameter-names.ts'
import type { Stream, StreamName } from './stream.ts'

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
  'usage-insight': usageInsight,
  'quality-insight': qualityInsight,
  'realtime-usage': realtimeUsage,
  'realtime-quality': realtimeQuality,
  'call-sessions': callSessions,
  'call-metrics': callMetrics,
} as const satisfies Readonly<Record<StreamName, Stream>>

/** What differs between deployments of the provider, and what its users want of it. */
export interface Deployment {
  /** Some serve the widget paths only behind a region segment. */
  readonly widgetPath: 'without-region' | 'with-region'
  readonly words: ParameterNames
  readonly serverUsers: (app: string) => ServerUsers
  /** Of which calls an app wants the metrics. */
  readonly selects: (app: string) => CallSelection
  /** Which endpoints of call analytics share a counter. */
  readonly analyticsLimits: AnalyticsLimitReading
  /** Whose counters the lists of players are. */
  readonly playerLimits: PlayerLimitReading
  /** Path of the lists of players, where it is another one. */
  readonly playersPath?: string | undefined
}

/** The streams as a deployment wants them asked. */
export function configuredStreams(deployment: Deployment): readonly Stream[] {
  return Object.values(streams)
    .map(stream => configured(stream, deployment))
    .map(stream => ({ ...stream, operation: countedBy(stream.operation, deployment.analyticsLimits) }))
}

function configured(
  stream: Stream,
  { widgetPath, words, serverUsers, selects, playerLimits, playersPath }: Deployment,
): Stream {
  switch (stream.name) {
    case 'popup-quiz':
    case 'poll':
      if (widgetPath === 'without-region') return stream
      return { ...stream, operation: withRegion(stream.operation) }
    case 'usage-insight':
    case 'quality-insight':
    case 'realtime-usage':
    case 'realtime-quality':
      return format(stream, words)
    case 'call-sessions':
      return { ...stream, request: askSessions(serverUsers), toRows: rowsOfSessions(selects) }
    case 'cloud-players': {
      const { path, ...operation } = stream.operation
      const { group } = playerGroupOf(stream.operation, {}, playerLimits)
      return { ...stream, operation: { ...operation, path: playersPath ?? path, limitGroup: group } }
    }
    default:
      return stream
  }
}
