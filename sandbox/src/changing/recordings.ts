import {
  classroomCodes,
  recordingStates,
  setRecordingState,
  updateRecordingConfig,
} from '../../../src/provider/classroom/index.ts'
import type { Classrooms } from '../classrooms.ts'
import { recordingTypes, runningRecording, startRecording, stopRecording } from '../lesson/recording.ts'
import { conflict, type Refusal } from '../refusal.ts'
import { type Play, type RequestContext, roomOf } from '../request-context.ts'
import { type Fields, oneOf, optional, readBody } from './body.ts'

const states = Object.values(recordingStates)

/** Operations 3 and 4, which share a path. */
export function recordingPlays(classrooms: Classrooms): readonly Play[] {
  return [
    {
      operation: updateRecordingConfig,
      isMeant: isUpdate,
      act: context => update(context, classrooms),
    },
    { operation: setRecordingState, act: context => setRecording(context, classrooms) },
  ]
}

/**
 * A start has no use for a web configuration unless its mode is web, and a stop has none for any field. So a
 * configuration that comes with state 1 and without the other fields of a start is meant for the recording
 * that runs; everything else starts or stops one.
 */
function isUpdate({ params, sent }: Pick<RequestContext, 'params' | 'sent'>): boolean {
  if (params.state !== String(recordingStates.started)) return false
  try {
    const fields = readBody(sent)
    return 'webRecordConfig' in fields && !('mode' in fields) && !('retryTimeout' in fields)
  } catch {
    return false
  }
}

function setRecording(context: RequestContext, classrooms: Classrooms): void {
  const state = oneOf(states, context.params.state, 'state')
  const request = readRequest(readBody(context.sent))
  const { classroom } = classrooms.of(roomOf(context))
  const isRunning = runningRecording(classroom) !== undefined
  if (state === recordingStates.stopped) {
    if (!isRunning) throw notStarted()
    stopRecording(classroom, context.now)
    return
  }
  if (isRunning) throw conflict(classroomCodes.recordingNotEnded, 'Recording has not been ended')
  startRecording(classroom, context.now, recordingTypes[request.mode === 'web' ? 'web' : 'composite'])
  classroom.contents.held.recording = request
}

/** What the document names of a request to record; what it does not show inside is taken as it comes. */
function readRequest(fields: Fields) {
  return {
    mode: optional(fields, 'mode', 'String'),
    retryTimeout: optional(fields, 'retryTimeout', 'Number'),
    webRecordConfig: optional(fields, 'webRecordConfig', 'Object'),
  }
}

/** The new configuration takes the place of the whole former one. */
function update(context: RequestContext, classrooms: Classrooms): void {
  const webRecordConfig = optional(readBody(context.sent), 'webRecordConfig', 'Object')
  const { classroom } = classrooms.of(roomOf(context))
  if (!runningRecording(classroom)) throw notStarted()
  const { held } = classroom.contents
  held.recording = { ...held.recording, webRecordConfig }
}

function notStarted(): Refusal {
  return conflict(classroomCodes.recordingNotStarted, 'Recording has not been started')
}
