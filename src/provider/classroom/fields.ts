import { z } from 'zod'
import { orNumber, written, writtenWhole } from '../fits.ts'

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

/** The ID of what an answer lists; nothing is told of its length. */
export const itemId = orNumber(z.string().min(1))

/** The same where it may be left out, as null or as an empty text. */
export const itemIdIfAny = orNumber(z.string()).nullish()

/** A text of any length that says something. */
export const someText = z.string('must be a text').min(1, 'must not be empty')

/** Names the user of an operation. */
export const userUuid = identifier.describe('ID of the user; under 64 bytes')

export const roomUuid = identifier.describe('ID of the room, which is its channel too; under 64 bytes')

export const room = { region, appId, roomUuid }

/** Last millisecond of the year 9999: anything later is no time of a class. */
const lastInstant = 253_402_300_799_999

/** As milliseconds these are the days from 12 January 1970 to 3 March 1973, as seconds those from 2001 on. */
const seconds = { from: 1_000_000_000, to: 100_000_000_000 }

/** Unix milliseconds, UTC. The document does not tell the unit of every time: one that can only be seconds is read as such. What is less than a millisecond is left out. */
export const instant = written(
  z
    .number()
    .min(0)
    .max(lastInstant)
    .overwrite(time => Math.trunc(time >= seconds.from && time < seconds.to ? time * 1_000 : time)),
)

/** A number of any kind, and one of people or of a closed list. */
export const number = written(z.number())
export const int32 = written(z.int32())

/** A position in a log. Above 2^53 our JSON reader hands over a bigint, so that no digit is lost. */
export const sequence = writtenWhole(
  z.union([
    z.int().min(0),
    z
      .bigint()
      .min(0n)
      .max(2n ** 63n - 1n),
  ]),
)

/** An integer in some answers, a word in others. */
const role = z.union([z.int(), z.string()])

/**
 * What may be absent, and is taken for absent where it is of another kind: less is lost than without all around it. What
 * names something or decides what others mean is not taken so: there it is better to know nothing.
 */
export function open<T extends z.ZodType>(schema: T) {
  return schema.nullish().catch(undefined)
}

/** The ID of a person: some are told without one, as the service itself is where it changes something. */
export const personId = open(identifier)

/** A person as events and widgets show one; the document leaves most of the fields open. */
export const Person = z.looseObject({
  userUuid: personId,
  userName: open(z.string()),
  role: open(role),
  // Users of calls have a number, and it may be that.
  streamUuid: open(orNumber(z.string())),
  type: z.unknown().optional(),
  updateTime: open(instant),
})
export type Person = z.infer<typeof Person>

export const anyObject = z.looseObject({})

/** Opaque: empty or null on the first call, afterwards what the previous answer said. */
export const nextId = z
  .string('must be a string')
  .nullish()
  .describe('Where the batch begins: nextId of the answer before; left out for the first')

/** The reason of an update or a deletion; its inner structure is not documented. */
export const cause = z
  .looseObject({})
  .describe('Reason of the update or deletion: an object of any structure')
