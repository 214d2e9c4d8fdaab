import { z } from 'zod'
import type { Operation } from '../operation.ts'
import { listOf, ofClassroom } from './answers.ts'
import { anyObject, instant, int32, itemId, nextId, open, room, someText } from './fields.ts'

export const recordingStates = { stopped: 0, started: 1 } as const

/** Status of an item of the recording list; the document does not show it, services of this kind use these. */
export const recordingStatuses = { recording: 1, ended: 2 } as const

const state = z
  .literal(Object.values(recordingStates), 'must be 0 or 1')
  .describe('State of the recording: 0 stopped, 1 started')
const statePath = '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/records/states/{state}'

/** A web recording begins a new MP4 file at about two hours or 2 GB. The service itself retries twice. */
export const setRecordingState = {
  ...ofClassroom,
  name: 'setRecordingState',
  summary: 'Starts (1) or stops (0) the recording of a room',
  method: 'PUT',
  path: statePath,
  pathParams: { ...room, state },
  body: z
    .strictObject({
      mode: someText.optional().describe('web records a web page; without it streams are recorded'),
      webRecordConfig: anyObject
        .optional()
        .describe('How the page is recorded, where mode is web: an object'),
      retryTimeout: z
        .number()
        .min(0, 'must be 0 or more')
        .optional()
        .describe('Seconds between tries; the service tries twice more at most'),
    })
    .default({}),
} as const satisfies Operation

/** Each call replaces the configuration that was there. It has the path of operation 3, where state 0 is a stop. */
export const updateRecordingConfig = {
  ...ofClassroom,
  name: 'updateRecordingConfig',
  summary: 'Replaces the configuration of a web recording while it runs',
  method: 'PUT',
  path: statePath,
  pathParams: {
    ...room,
    state: z
      .literal(recordingStates.started, 'must be 1: the recording goes on')
      .describe('1: the recording goes on'),
  },
  body: z
    .strictObject({
      webRecordConfig: anyObject
        .optional()
        .describe('How the page is recorded from now on: an object that replaces the one before whole'),
    })
    .default({}),
} as const satisfies Operation

/** The document does not show the item; these fields are known from services of this kind. */
export const RecordingItem = z.looseObject({
  recordId: itemId,
  startTime: open(instant),
  endTime: open(instant),
  resourceId: open(z.string()),
  sid: open(z.string()),
  recordUid: z.unknown().optional(),
  boardId: z.unknown().optional(),
  /** Secret. */
  boardToken: z.unknown().optional(),
  /** 1 individual, 2 composite, 3 web. */
  type: open(int32),
  /** 1 recording, 2 ended. */
  status: open(int32),
  url: open(z.string()),
  /** Each a RecordingFile. */
  recordDetails: open(z.array(z.unknown())),
})

export const RecordingFile = z.looseObject({ url: open(z.string()) })

export const recordings = {
  ...ofClassroom,
  ...listOf(RecordingItem, 'recordId'),
  name: 'recordings',
  summary: 'Lists the recordings of a room, at most 100 a batch',
  method: 'GET',
  path: '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/records',
  pathParams: room,
  queryParams: { nextId },
} as const satisfies Operation

export const recordingOperations = [setRecordingState, updateRecordingConfig, recordings] as const
