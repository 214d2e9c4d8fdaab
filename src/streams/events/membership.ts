import type { z } from 'zod'
import type { MembershipAction } from '../../rows/classroom.ts'
import { judgeEach, type Read } from '../items.ts'
import type { Reject } from '../stream.ts'

type List = readonly unknown[] | null | undefined

export interface Members<T> {
  readonly members: readonly (Read<T> & { readonly action: MembershipAction })[]
  readonly rejects: readonly Reject[]
}

/** The three lists of a stage or hands event: all who are there, who was added, who was removed. */
export interface MemberLists {
  readonly present: readonly [name: string, users: List]
  readonly added: readonly [name: string, users: List]
  readonly removed: readonly [name: string, users: List]
}

/**
 * The changes that an event names, those added counted before those removed; where it names none, all who are
 * present.
 */
export function readMembers<T>(schema: z.ZodType<T>, { present, added, removed }: MemberLists): Members<T> {
  const adds = added[1] ?? []
  const removes = removed[1] ?? []
  if (adds.length + removes.length === 0) {
    const all = judgeEach(schema, present[1] ?? [], `data.${present[0]}`)
    return { members: all.good.map(user => ({ ...user, action: 'present' })), rejects: all.rejects }
  }
  const came = judgeEach(schema, adds, `data.${added[0]}`)
  const went = judgeEach(schema, removes, `data.${removed[0]}`, adds.length)
  return {
    members: [
      ...came.good.map(user => ({ ...user, action: 'add' as const })),
      ...went.good.map(user => ({ ...user, action: 'remove' as const })),
    ],
    rejects: [...came.rejects, ...went.rejects],
  }
}
