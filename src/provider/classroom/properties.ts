import { z } from 'zod'
import type { Operation } from '../operation.ts'
import { ofClassroom } from './answers.ts'
import { anyObject, cause, identifier, room, someText, userUuid } from './fields.ts'

export const extAppStates = { disabled: 0, enabled: 1 } as const

const ofRoom = '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/properties'
const ofUser = '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/users/{userUuid}/properties'
const ofExtApp = '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/extApps/{extAppUuid}/properties'

const update = z.strictObject({
  properties: anyObject.describe('Properties and their new values: an object; any names, any values'),
  cause: cause.optional(),
})
const removal = z.strictObject({
  properties: z
    .array(someText, 'must be a list of names')
    .min(1, 'must name one at least')
    .describe('Names of the properties to delete: a list'),
  cause: cause.optional(),
})

const common = z.strictObject({
  state: z.literal(Object.values(extAppStates), 'must be 0 or 1').describe('0 disabled, 1 enabled'),
})

const extApp = { ...room, extAppUuid: identifier.describe('ID of the extension app; under 64 bytes') }

export const updateRoomProperties = {
  ...ofClassroom,
  name: 'updateRoomProperties',
  summary: 'Sets custom properties of a room',
  method: 'PUT',
  path: ofRoom,
  pathParams: room,
  body: update,
} as const satisfies Operation

export const deleteRoomProperties = {
  ...ofClassroom,
  name: 'deleteRoomProperties',
  summary: 'Deletes custom properties of a room by name',
  method: 'DELETE',
  path: ofRoom,
  pathParams: room,
  body: removal,
} as const satisfies Operation

export const updateUserProperties = {
  ...ofClassroom,
  name: 'updateUserProperties',
  summary: 'Sets custom properties of a user in a room',
  method: 'PUT',
  path: ofUser,
  pathParams: { ...room, userUuid },
  body: update,
} as const satisfies Operation

export const deleteUserProperties = {
  ...ofClassroom,
  name: 'deleteUserProperties',
  summary: 'Deletes custom properties of a user in a room by name',
  method: 'DELETE',
  path: ofUser,
  pathParams: { ...room, userUuid },
  body: removal,
} as const satisfies Operation

export const updateExtAppProperties = {
  ...ofClassroom,
  name: 'updateExtAppProperties',
  summary: 'Sets custom properties of an extension app in a room, and switches it on or off',
  method: 'PUT',
  path: ofExtApp,
  pathParams: extApp,
  body: update.extend({ common: common.optional().describe('Switches the app on or off: {"state":1}') }),
} as const satisfies Operation

export const deleteExtAppProperties = {
  ...ofClassroom,
  name: 'deleteExtAppProperties',
  summary: 'Deletes custom properties of an extension app in a room by name',
  method: 'DELETE',
  path: ofExtApp,
  pathParams: extApp,
  body: removal,
} as const satisfies Operation

export const propertyOperations = [
  updateRoomProperties,
  deleteRoomProperties,
  updateUserProperties,
  deleteUserProperties,
  updateExtAppProperties,
  deleteExtAppProperties,
] as const
