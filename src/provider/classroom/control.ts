import { z } from 'zod'
import type { Operation } from '../operation.ts'
import { ofClassroom } from './answers.ts'
import { anyObject, room, userUuid } from './fields.ts'

export const roomStates = { notStarted: 0, started: 1, ended: 2, closed: 3 } as const

/** The server then tells the room that the user left (cmd 20). */
export const kickUser = {
  ...ofClassroom,
  name: 'kickUser',
  summary: 'Puts a user out of a room',
  method: 'POST',
  path: '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/users/{userUuid}/exit',
  pathParams: { ...room, userUuid },
  /** `dirty` decides whether the user may come back; its fields are not documented. */
  body: z
    .strictObject({
      dirty: anyObject
        .optional()
        .describe(
          'Whether and for how long the user may not come back, for example {"state":1,"duration":600}',
        ),
    })
    .default({}),
} as const satisfies Operation

/** Which moves between states are refused is not documented. Emits cmd 1. */
export const setRoomState = {
  ...ofClassroom,
  name: 'setRoomState',
  summary: 'Sets the state of a room: 0 not started, 1 started, 2 ended, 3 closed',
  method: 'PUT',
  path: '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/states/{state}',
  pathParams: {
    ...room,
    state: z
      .literal(Object.values(roomStates), 'must be 0, 1, 2 or 3')
      .describe('0 not started, 1 started, 2 ended, 3 closed: nobody can join any more'),
  },
} as const satisfies Operation

export const controlOperations = [kickUser, setRoomState] as const
