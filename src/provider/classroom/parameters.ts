import { z } from 'zod'

/** Opaque: empty or null on the first call, afterwards what the previous answer said. */
export const nextId = z
  .string('must be a string')
  .nullish()
  .describe('Where the batch begins: nextId of the answer before; left out for the first')

/** The reason of an update or a deletion; its inner structure is not documented. */
export const cause = z
  .looseObject({})
  .describe('Reason of the update or deletion: an object of any structure')
