import type { z } from 'zod'
import type { Json } from '../rows/json.ts'
import type { Harvest, Page } from './stream.ts'

export type HarvestWith<Carry> = Omit<Harvest, 'carry'> & { readonly carry: Carry }

/**
 * Turns a harvest over a typed carry into one over the stored form. Every field of the schema has a default,
 * so `{}` is the carry of a series that was never read.
 */
export function withCarry<Carry extends Json>(
  schema: z.ZodType<Carry>,
  harvest: (page: Page, carry: Carry) => HarvestWith<Carry>,
): (page: Page, carry: Json) => Harvest {
  return (page, stored) => harvest(page, readCarry(schema, stored))
}

/**
 * A stored carry; what cannot be read begins anew, which is safe because rows are idempotent. Only the
 * incarnation is kept even then: without it rows would land in an earlier room of the same name.
 */
export function readCarry<Carry extends Json>(schema: z.ZodType<Carry>, stored: Json): Carry {
  const whole = schema.safeParse(stored)
  if (whole.success) return whole.data
  const incarnation = schema.safeParse({ incarnation: incarnationOf(stored) })
  return incarnation.success ? incarnation.data : schema.parse({})
}

function incarnationOf(stored: Json): Json | undefined {
  if (typeof stored !== 'object' || stored === null || !('incarnation' in stored)) return undefined
  return stored.incarnation
}
