import type { z } from 'zod'
import type { Json } from '../../tables/json.ts'
import type { Page, PageResult } from '../page.ts'
import { isObject } from './items.ts'

export type ToRowsWith<Carry> = Omit<PageResult, 'carry'> & { readonly streamState: Carry }

/**
 * Turns a result over a typed stream state into one over the stored form. Every field of the schema has a default,
 * so `{}` is the stream state of a series that was never read.
 */
export function withState<Carry extends Json>(
  schema: z.ZodType<Carry>,
  toRows: (page: Page, streamState: Carry) => ToRowsWith<Carry>,
): (page: Page, streamState: Json) => PageResult {
  return (page, stored) => toRows(page, readState(schema, stored))
}

/**
 * A stored stream state; what cannot be read begins anew, which is safe because rows are idempotent. Only the
 * incarnation is kept even then: without it rows would land in an earlier room of the same name.
 */
export function readState<Carry extends Json>(schema: z.ZodType<Carry>, stored: Json): Carry {
  const whole = schema.safeParse(stored)
  if (whole.success) return whole.data
  const kept = schema.safeParse({ incarnation: incarnationOf(stored) })
  return kept.success ? kept.data : schema.parse({})
}

/** Which room of its name a series of a room is of, from 1; also where all else of its stream state cannot be read. */
export function incarnationOf(stored: Json): number {
  const said = isObject(stored) ? stored.incarnation : undefined
  return Number.isSafeInteger(said) && Number(said) > 0 ? Number(said) : 1
}

/** A last page that was told in the same words before: all that it makes is stored, and nothing changes. */
export function nothingNew<Carry extends { readonly incarnation: number }>(
  streamState: Carry,
): ToRowsWith<Carry> {
  return {
    ...{ rows: {}, rejects: [], hints: [], streamState },
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'next',
    unfinished: false,
  }
}

/**
 * A page from the middle of a log whose beginning is not remembered makes no rows: places and ordinals count
 * from the beginning. The stream state says so, and the log is read again from there.
 */
export function restart<Carry extends { readonly incarnation: number; readonly lost: boolean }>(
  streamState: Carry,
): ToRowsWith<Carry> {
  return {
    rows: {},
    streamState: { ...streamState, lost: true },
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'stay',
    rejects: [],
    hints: [],
    unfinished: true,
  }
}
