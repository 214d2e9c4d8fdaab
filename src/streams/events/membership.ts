import type { z } from 'zod'
import type { MembershipAction } from '../../tables/classroom.ts'
import type { Reject } from '../page.ts'
import { isSaid, judgeEach, type Read } from '../parts/items.ts'

type List = readonly unknown[] | null | undefined

export interface Members<T> {
  readonly members: readonly (Read<T> & {
    readonly action: MembershipAction
    /** Whether the list of all who are there has the user; null where it cannot tell. */
    readonly is_listed: boolean | null
  })[]
  readonly rejects: readonly Reject[]
}

/** The three lists of a stage or hands event: all who are there, who was added, who was removed. */
export interface MemberLists {
  readonly present: readonly [name: string, users: List]
  readonly added: readonly [name: string, users: List]
  readonly removed: readonly [name: string, users: List]
}

/** The changes that an event names, those added counted before those removed; then all others who are there. */
export function readMembers<T extends { readonly userUuid?: string | null | undefined }>(
  schema: z.ZodType<T>,
  { present, added, removed }: MemberLists,
): Members<T> {
  const adds = added[1] ?? []
  const removes = removed[1] ?? []
  const came = judgeEach(schema, adds, `data.${added[0]}`)
  const went = judgeEach(schema, removes, `data.${removed[0]}`, adds.length)
  const all = judgeEach(schema, present[1] ?? [], `data.${present[0]}`, adds.length + removes.length)
  const listed = new Set(all.good.map(({ value }) => value.userUuid))
  const changed = [
    ...came.good.map(user => ({ ...user, action: 'add' as const })),
    ...went.good.map(user => ({ ...user, action: 'remove' as const })),
  ]
  const named = new Set(changed.flatMap(({ value }) => value.userUuid ?? []))
  const isWhole = isSaid(present[1]) && all.rejects.length === 0
  const isListed = ({ userUuid }: T) => {
    if (!isSaid(userUuid)) return null
    return listed.has(userUuid) || (isWhole ? false : null)
  }
  return {
    members: [
      ...changed.map(user => ({ ...user, is_listed: isListed(user.value) })),
      ...all.good
        .filter(({ value }) => !isSaid(value.userUuid) || !named.has(value.userUuid!))
        .map(user => ({ ...user, action: 'present' as const, is_listed: true })),
    ],
    rejects: [...came.rejects, ...went.rejects, ...all.rejects],
  }
}
