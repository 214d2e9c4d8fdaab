import { z } from 'zod'
import { HandsChange, StageChange } from '../../provider/classroom/index.ts'
import type { MembershipAction } from '../../tables/classroom.ts'
import type { Reject } from '../page.ts'
import { fieldsWithout, isSaid, judgeEach, type Read } from '../parts/items.ts'
import { readerOf } from './event.ts'

type List = readonly unknown[] | null | undefined

interface Members<T> {
  readonly members: readonly (Read<T> & {
    readonly action: MembershipAction
    /** Whether the list of all who are there has the user; null where it cannot tell. */
    readonly is_listed: boolean | null
  })[]
  readonly rejects: readonly Reject[]
}

/** The three lists of a stage or hands event: all who are there, who was added, who was removed. */
interface MemberLists {
  readonly present: readonly [name: string, users: List]
  readonly added: readonly [name: string, users: List]
  readonly removed: readonly [name: string, users: List]
}

/** The changes that an event names, those added counted before those removed; then all others who are there. */
function readMembers<T extends { readonly userUuid?: string | null | undefined }>(
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

const users = z.array(z.unknown()).nullish()

const StageLists = StageChange.extend({
  acceptedUsers: users,
  addAcceptedUsers: users,
  removeAcceptedUsers: users,
})
const OnStage = StageChange.shape.acceptedUsers.unwrap().unwrap().element

const stageColumns = new Set(['userUuid'])

/** cmd 1501. */
export const stage = readerOf(StageLists, value => {
  const { members, rejects } = readMembers(OnStage, {
    present: ['acceptedUsers', value.acceptedUsers],
    added: ['addAcceptedUsers', value.addAcceptedUsers],
    removed: ['removeAcceptedUsers', value.removeAcceptedUsers],
  })
  return {
    rejects,
    rows: event => ({
      'classroom.stage_change': members.map(({ value, raw, ordinal, action, is_listed }) => ({
        ...event,
        ...{ ordinal, user_uuid: value.userUuid ?? null, action, is_listed },
        extra: fieldsWithout(stageColumns, raw, value),
      })),
    }),
  }
})

const HandsLists = HandsChange.extend({
  progressUsers: users,
  addProgressUsers: users,
  removeProgressUsers: users,
})
const Waving = HandsChange.shape.progressUsers.unwrap().unwrap().element

const handsColumns = new Set(['userUuid', 'payload'])

/** cmd 1502. */
export const hands = readerOf(HandsLists, value => {
  const { members, rejects } = readMembers(Waving, {
    present: ['progressUsers', value.progressUsers],
    added: ['addProgressUsers', value.addProgressUsers],
    removed: ['removeProgressUsers', value.removeProgressUsers],
  })
  return {
    rejects,
    rows: event => ({
      'classroom.hand_wave': members.map(({ value, raw, ordinal, action, is_listed }) => ({
        ...event,
        ...{ ordinal, user_uuid: value.userUuid ?? null, action, is_listed },
        payload: raw.payload ?? null,
        extra: fieldsWithout(handsColumns, raw, value),
      })),
    }),
  }
})
