import { z } from 'zod'
import { identifier } from './identifiers.ts'

/** Last millisecond of the year 9999: anything later is no time of a class. */
const lastInstant = 253_402_300_799_999

/** Unix milliseconds, UTC. */
export const instant = z.number().min(0).max(lastInstant)

/** A position in a log. Above 2^53 our JSON reader hands over a bigint, so that no digit is lost. */
export const sequence = z.union([
  z.int().min(0),
  z
    .bigint()
    .min(0n)
    .max(2n ** 63n - 1n),
])

/** An integer in some answers, a word in others. */
const role = z.union([z.int(), z.string()])

/** What may be absent, and is taken for absent where it is of another kind: less is lost than without all around it. */
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
  streamUuid: open(z.string()),
  type: z.unknown().optional(),
  updateTime: open(instant),
})
export type Person = z.infer<typeof Person>

export const anyObject = z.looseObject({})
