import { describe, expect, it } from 'vitest'
import { examineClasses } from './classes.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { StoredSchema } from './rows.ts'

const minute = 60_000
const begins = 1_000 * minute

/** Two classes of one room, an hour each and two hours from begin to begin, with a call ten minutes after each begin. */
const lives = [1, 2].map(incarnation => {
  const openedAt = begins + (incarnation - 1) * 120 * minute
  return {
    ...{ app: 'a', roomUuid: 'r', incarnation, stored: incarnation, openedAt },
    ...{ endedAt: openedAt + 60 * minute, calls: [`c${incarnation}`] },
  } as unknown as TrueRoom
})
const rooms = lives.map(({ app, roomUuid, stored, openedAt, endedAt }, n) => ({
  ...{ app_id: app, room_uuid: roomUuid, incarnation: stored, valid_from: openedAt },
  ...{ valid_to: lives[n + 1]?.openedAt ?? null, last_event_at: endedAt },
}))
const came = lives.map(({ stored }) => ({
  ...{ app_id: 'a', room_uuid: 'r', incarnation: stored, action: 'enter', user_uuid: 'u', stream_uuid: '7' },
}))
const stored = new Map(
  Object.entries({ room: { rooms }, attendance: { came } }).map(([name, of]) => [
    name,
    { rows: Object.values(of)[0] },
  ]),
) as unknown as StoredSchema

interface Told {
  readonly class_call: readonly object[]
  readonly class_quality: readonly object[]
  readonly user_call: readonly object[]
}
const place = (incarnation: number) => ({ app: 'a', room: 'r', incarnation })
const right: Told = {
  class_call: [1, 2].map(n => ({ ...place(n), call: `c${n}` })),
  class_quality: [1, 2].map(n => ({ ...place(n), calls: 1, sessions: 1 })),
  user_call: [1, 2].map(n => ({ ...place(n), user: 'u', sid: `s${n}` })),
}

async function judge(told: Partial<Told> = {}) {
  const views = { ...right, ...told }
  const rows = async (sql: string) => {
    for (const [view, answer] of Object.entries(views)) if (sql.includes(`.${view}`)) return answer
    if (sql.includes('call_session')) return [1, 2].map(n => ({ key: `a c${n}`, sid: `s${n}`, uid: '7' }))
    return lives.map(({ openedAt }, n) => ({ key: `a c${n + 1}`, at: openedAt + 10 * minute }))
  }
  return (await examineClasses({ rows: rows as never }, lives, stored)).map(
    ({ kind, text }) => `${kind}: ${text}`,
  )
}

describe('calls of classes', () => {
  it('are well where each is of the class in which it was made', async () => {
    expect(await judge()).toEqual([])
  })

  it('are not of a later class of that name', async () => {
    const found = await judge({ class_call: [right.class_call[1]!, { ...place(2), call: 'c1' }] })
    expect(found).toContainEqual('different: class_call: call c1 is not of a r 2 but of 1')
  })

  it('are of their class, unless nobody saw it', async () => {
    expect(await judge({ class_call: [right.class_call[0]!] })).toContainEqual(
      'lost: class_call: a c2 of r 2',
    )
  })

  it('are told of once, with all their stays', async () => {
    const once = right.class_quality[0]!
    expect(await judge({ class_quality: [...right.class_quality, once] })).toEqual([
      'duplicate: class_quality: 1 rows twice',
    ])
    expect(await judge({ class_quality: [once, { ...place(2), calls: 1, sessions: 0 }] })).toHaveLength(2)
  })

  it('are told of whoever has a stay in them', async () => {
    const found = await judge({ user_call: [right.user_call[0]!, { ...place(2), user: 'u', sid: null }] })
    expect(found).toEqual(['different: user_call: a r 2 u: null', 'lost: user_call: a r 2 u: s2'])
  })
})
