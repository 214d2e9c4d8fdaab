import type { BusinessError } from '../operation.ts'

/** `code` of an answer that succeeded. */
export const successCode = 0

export const classroomCodes = {
  badRequest: 400,
  muted: 30_403_200,
  noRoom: 20_404_100,
  noUser: 20_404_200,
  recordingNotStarted: 30_409_410,
  recordingNotEnded: 30_409_411,
  classStarted: 30_409_100,
  classEnded: 30_409_101,
  internal: 500,
} as const

/** The classroom document's table of errors. It belongs to every operation: the document assigns none. */
export const classroomErrors: readonly BusinessError[] = [
  { status: 400, code: classroomCodes.badRequest, meaning: 'a request parameter is incorrect' },
  { status: 401, meaning: 'x-svc-uid or x-svc-token is missing or wrong' },
  {
    status: 403,
    code: classroomCodes.muted,
    meaning: 'the classroom is muted, users cannot send chat messages',
    // It tells of one room, and not of what the app may do.
    kind: 'conflict',
  },
  { status: 404, meaning: 'there is no such resource' },
  { status: 404, code: classroomCodes.noRoom, meaning: 'there is no such classroom' },
  { status: 404, code: classroomCodes.noUser, meaning: 'there is no such user' },
  { status: 409, code: classroomCodes.recordingNotStarted, meaning: 'the recording has not been started' },
  { status: 409, code: classroomCodes.recordingNotEnded, meaning: 'the recording has not been ended' },
  { status: 409, code: classroomCodes.classStarted, meaning: 'the class has been started' },
  { status: 409, code: classroomCodes.classEnded, meaning: 'the class has been ended' },
  { status: 500, code: classroomCodes.internal, meaning: 'the server failed' },
  { status: 503, meaning: 'a gateway got no timely reply from upstream' },
]
