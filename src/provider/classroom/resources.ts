import { z } from 'zod'
import { orNumber } from '../fits.ts'
import type { Operation } from '../operation.ts'
import { listOf, ofClassroom } from './answers.ts'
import { anyObject, identifier, instant, number, open, room, someText } from './fields.ts'

export const resourceActions = { changed: 1, deleted: 2 } as const

/** In the list and inside events (cmd 1003); a deletion may carry nothing but the ID. */
export const ResourceItem = z.looseObject({
  resourceUuid: orNumber(identifier),
  resourceName: open(z.string()),
  ext: open(z.string()),
  /** Bytes. */
  size: open(number),
  url: open(z.string()),
  updateTime: open(instant),
  taskUuid: open(z.string()),
  /** Secret. */
  taskToken: open(z.string()),
  /** Services of this kind tell totalPageSize, convertedPageSize, convertedPercentage, convertedFileList and currentStep. */
  taskProgress: z.unknown().optional(),
})
export type ResourceItem = z.infer<typeof ResourceItem>

const path = '/{region}/edu/apps/{appId}/v1/rooms/{roomUuid}/resources'

export const uploadResource = {
  ...ofClassroom,
  name: 'uploadResource',
  summary: 'Adds a public resource to a room, or replaces it',
  method: 'PUT',
  path: `${path}/{resourceUuid}`,
  pathParams: { ...room, resourceUuid: identifier.describe('ID of the file; under 64 bytes') },
  body: z.strictObject({
    resourceName: identifier.optional().describe('Name that people see; under 64 bytes'),
    size: z.int('must be a whole number of bytes').min(0, 'must be 0 or more').describe('Size in bytes'),
    ext: someText.describe('Extension of the file, for example pdf'),
    url: someText.describe('Where the file can be fetched'),
    conversion: anyObject
      .optional()
      .describe('How a document becomes pages of the whiteboard, still or dynamic: an object'),
  }),
} as const satisfies Operation

export const deleteResources = {
  ...ofClassroom,
  name: 'deleteResources',
  summary: 'Deletes public resources of a room',
  method: 'DELETE',
  path,
  pathParams: room,
  body: z.strictObject({
    resourceUuids: z
      .array(identifier, 'must be a list of IDs')
      .min(1, 'must name one at least')
      .describe('IDs of the files, each under 64 bytes: a list'),
  }),
} as const satisfies Operation

export const resources = {
  ...ofClassroom,
  ...listOf(ResourceItem, 'resourceUuid'),
  name: 'resources',
  summary: 'Lists the public resources of a room, all at once',
  method: 'GET',
  path,
  pathParams: room,
} as const satisfies Operation

export const resourceOperations = [uploadResource, deleteResources, resources] as const
