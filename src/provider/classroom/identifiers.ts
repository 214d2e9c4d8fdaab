import { z } from 'zod'

/** Regions of the service: mainland China, Asia Pacific, Europe, North America. */
export const regions = ['cn', 'ap', 'eu', 'na'] as const
export type Region = (typeof regions)[number]

/** roomUuid, userUuid, resourceUuid, extAppUuid and resourceName stay under this many bytes of UTF-8. */
export const identifierLimitBytes = 64

export const region = z
  .enum(regions, { error: 'must be cn, ap, eu or na' })
  .describe('Region: cn mainland China, ap Asia Pacific, eu Europe, na North America')

export const appId = z.string().min(1, 'must not be empty').describe('App ID of the project')

/** Any ID with the document's length rule. The characters allowed inside are not documented: all pass. */
export const identifier = z
  .string()
  .min(1, 'must not be empty')
  .refine(text => Buffer.byteLength(text) < identifierLimitBytes, 'must be under 64 bytes in UTF-8')

/** Names the user of an operation. */
export const userUuid = identifier.describe('ID of the user; under 64 bytes')

export const roomUuid = identifier.describe('ID of the room, which is its channel too; under 64 bytes')

export const room = { region, appId, roomUuid }
