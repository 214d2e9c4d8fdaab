import type { Operation } from '../operation.ts'
import { kickUser, setRoomState } from './control.ts'
import { appEvents, roomEvents } from './events.ts'
import {
  deleteExtAppProperties,
  deleteRoomProperties,
  deleteUserProperties,
  updateExtAppProperties,
  updateRoomProperties,
  updateUserProperties,
} from './properties.ts'
import { recordings, setRecordingState, updateRecordingConfig } from './recordings.ts'
import { deleteResources, resources, uploadResource } from './resources.ts'
import { poll, popupQuiz } from './widgets.ts'

export * from './answers.ts'
export * from './control.ts'
export * from './events.ts'
export * from './fields.ts'
export * from './properties.ts'
export * from './recordings.ts'
export * from './resources.ts'
export * from './widgets.ts'

/** The eighteen operations in the order of the document's table. */
export const classroomOperations: readonly Operation[] = [
  kickUser,
  setRoomState,
  setRecordingState,
  updateRecordingConfig,
  recordings,
  uploadResource,
  deleteResources,
  resources,
  roomEvents,
  appEvents,
  updateRoomProperties,
  deleteRoomProperties,
  updateUserProperties,
  deleteUserProperties,
  updateExtAppProperties,
  deleteExtAppProperties,
  popupQuiz,
  poll,
]
