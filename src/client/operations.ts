import * as analytics from '../provider/analytics/index.ts'
import * as classroom from '../provider/classroom/index.ts'
import type { Family, Operation } from '../provider/operation.ts'
import * as players from '../provider/players/index.ts'

/** The twenty-eight operations of the three documents by family and name. */
export const operations = {
  classroom: {
    kickUser: classroom.kickUser,
    setRoomState: classroom.setRoomState,
    setRecordingState: classroom.setRecordingState,
    updateRecordingConfig: classroom.updateRecordingConfig,
    recordings: classroom.recordings,
    uploadResource: classroom.uploadResource,
    deleteResources: classroom.deleteResources,
    resources: classroom.resources,
    roomEvents: classroom.roomEvents,
    appEvents: classroom.appEvents,
    updateRoomProperties: classroom.updateRoomProperties,
    deleteRoomProperties: classroom.deleteRoomProperties,
    updateUserProperties: classroom.updateUserProperties,
    deleteUserProperties: classroom.deleteUserProperties,
    updateExtAppProperties: classroom.updateExtAppProperties,
    deleteExtAppProperties: classroom.deleteExtAppProperties,
    popupQuiz: classroom.popupQuiz,
    poll: classroom.poll,
  },
  analytics: {
    callSearch: analytics.callSearch,
    callSessions: analytics.callSessions,
    callMetrics: analytics.callMetrics,
    usageInsight: analytics.usageInsight,
    qualityInsight: analytics.qualityInsight,
    realtimeUsage: analytics.realtimeUsage,
    realtimeQuality: analytics.realtimeQuality,
  },
  players: {
    createPlayer: players.createPlayer,
    deletePlayer: players.deletePlayer,
    listPlayers: players.listPlayers,
  },
} as const satisfies Readonly<Record<Family, Readonly<Record<string, Operation>>>>

export type Operations = typeof operations

/** All of them, family by family. */
export const allOperations: readonly Operation[] = Object.values(operations).flatMap(
  (family): readonly Operation[] => Object.values(family),
)
