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
export const role = z.union([z.int(), z.string()])

/** A person as events and widgets show one; the document leaves most of the fields open. */
export const Person = z.looseObject({
  userUuid: identifier,
  userName: z.string().nullish(),
  role: role.nullish(),
  streamUuid: z.string().nullish(),
  type: z.unknown().optional(),
  updateTime: instant.nullish(),
})
export type Person = z.infer<typeof Person>

export const anyObject = z.looseObject({})
