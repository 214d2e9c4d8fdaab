import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hour } from './harness.ts'
import {
  lesson,
  minute,
  openReplayHarness,
  pollItems,
  pupil,
  quizItems,
  type ReplayHarness,
  record,
} from './replay-harness.ts'

let harness: ReplayHarness
beforeAll(async () => {
  harness = await openReplayHarness()
})
afterAll(() => harness.close())

/** The rows that differ, by table. */
async function differing() {
  const { tally, rooms } = await harness.compare()
  return { rooms, tables: tally.tables() }
}

describe('a replay of unchanged streams finds nothing to change', () => {
  it('in a room whose log and widgets were read once', async () => {
    await harness.read('room-events', 'once', { items: lesson('once'), answeredAt: minute(20) })
    await harness.read('popup-quiz', 'once', { items: quizItems })
    await harness.read('poll', 'once', { items: pollItems })
    expect(await differing()).toEqual({ rooms: 1, tables: [] })
    const kinds = (await harness.dump()).map(line => line.slice(0, line.indexOf(' ')))
    expect(new Set(kinds).size, 'every derived table and the room have rows').toBe(14)
  })

  it('where a user answers the first of many quizzes again, among items without a number or a place', async () => {
    const answer = (quiz: number) => ({
      changeProperties: { popupQuizId: `q${quiz}`, selectedItems: ['A'], lastCommitTime: minute(quiz) },
      operator: pupil('ann'),
    })
    const first = [answer(0), 'no item', ...Array.from({ length: 9 }, (_, quiz) => answer(quiz)), answer(0)]
    const begun = { items: first as readonly object[], nextId: 'n1' }
    const next = { items: [answer(0), answer(8)], cursor: 'n1', nextId: 'n2' }
    const end = { items: [answer(8), answer(0)], cursor: 'n2' }
    await harness.read('room-events', 'many', { items: lesson('many'), answeredAt: minute(20) })
    for (const page of [begun, begun, next, end, end]) await harness.read('popup-quiz', 'many', page)
    expect((await differing()).tables).toEqual([])
    const stored = await harness.db.rows(
      `select quiz_id, array_agg(ordinal::int order by ordinal) as places from classroom.quiz_submission
       where room_uuid = 'many' and quiz_id in ('q0', 'q8') group by 1 order by 1`,
    )
    expect(stored).toEqual([
      { quiz_id: 'q0', places: [0, 2, 11, 12, 15] },
      { quiz_id: 'q8', places: [10, 13, 14] },
    ])
  })

  it('where the feed came first and the log confirmed it bit by bit, live and not', async () => {
    const items = lesson('heard')
    for (const [index, each] of items.entries()) {
      if (index % 3 !== 2)
        await harness.read('app-events', '', { items: [each], answeredAt: minute(1.5 + index) })
      if (index % 4 === 3) {
        await harness.read('room-events', 'heard', {
          items: items.slice(0, index + 1),
          answeredAt: minute(1.7 + index),
        })
      }
    }
    await harness.read('room-events', 'heard', { items, answeredAt: minute(40) })
    expect((await differing()).tables).toEqual([])
  })

  it('in a room that only the feed has shown', async () => {
    await harness.read('app-events', '', { items: lesson('unread'), answeredAt: minute(12) })
    expect((await differing()).tables).toEqual([])
  })

  it('where the feed has told what the log does not hold', async () => {
    const items = lesson('doubtful')
    await harness.read('app-events', '', {
      items: [...items.slice(0, 4), record('doubtful', 99, 1001, { state: 2 })],
    })
    await harness.read('room-events', 'doubtful', { items: items.slice(0, 8), answeredAt: minute(9) })
    expect(
      await harness.db.value(
        `select count(*)::int from classroom.room_event where source = 'feed' and room_uuid = 'doubtful'`,
      ),
    ).toBe(1)
    expect((await differing()).tables).toEqual([])
  })

  it('in rooms that one name was used for one after the other', async () => {
    for (const [use, begins] of [0, 60, 120].entries()) {
      await harness.db.advance(hour / 10)
      await harness.read('room-events', 'again', {
        items: lesson('again', use * 100, begins),
        answeredAt: minute(begins + 20),
      })
      await harness.read('popup-quiz', 'again', { items: quizItems.slice(use) })
      await harness.read('poll', 'again', { items: pollItems })
    }
    expect(
      await harness.db.value(`select max(incarnation) from classroom.room where room_uuid = 'again'`),
    ).toBe(3)
    expect((await differing()).tables).toEqual([])
  })

  it('with pages that follow each other and numbers above 2^53', async () => {
    const items = lesson('big', 2n ** 53n)
    await harness.read('room-events', 'big', {
      items: items.slice(0, 6),
      nextId: 'n1',
      answeredAt: minute(20),
    })
    await harness.read('room-events', 'big', { items: items.slice(6), cursor: 'n1', answeredAt: minute(21) })
    await harness.read('popup-quiz', 'big', { items: quizItems.slice(0, 5), nextId: 'n1' })
    await harness.read('popup-quiz', 'big', { items: quizItems.slice(5), cursor: 'n1' })
    expect((await differing()).tables).toEqual([])
  })

  it('in an open room whose live end brings times that nothing else tells', async () => {
    const timeless = pollItems.map(({ ts, ...rest }: { ts?: number }) => rest)
    await harness.read('room-events', 'live', { items: lesson('live').slice(0, 10), answeredAt: minute(9) })
    await harness.read('poll', 'live', { items: [] })
    await harness.read('poll', 'live', { items: timeless, answeredAt: minute(30) })
    expect(await harness.db.value(`select ended_at from classroom.poll where room_uuid = 'live'`)).toEqual(
      new Date(minute(30)),
    )
    expect((await differing()).tables).toEqual([])
  })

  it('with items and events that could not be read', async () => {
    const strange = [
      record('odd', 1, 3, { fromUser: pupil('ann'), message: 42 }),
      { ...record('odd', 2, 3, {}), version: 'two', beside: { of: 'it' } },
      { roomUuid: 'odd', sequence: 3, cmd: 1501 },
      { roomUuid: 'odd', sequence: 4, cmd: 1, data: { state: 'on' } },
      { roomUuid: 'odd', sequence: 5, cmd: 'chat' },
      record('odd', 6, 1101, {
        rewardDetails: [{}, { userUuid: 'ann', totalReward: 3, taskToken: 'hidden' }],
      }),
      record('odd', 7, 20, { onlineUsers: ['nobody', { ...pupil('cat'), role: 2 }] }),
    ]
    await harness.read('room-events', 'odd', { items: strange, answeredAt: minute(20) })
    await harness.read('poll', 'odd', {
      items: [{ changeProperties: 'none' }, 'no item' as never, ...pollItems],
    })
    await harness.read('popup-quiz', 'odd', {
      items: ['no item' as never, ...quizItems, { changeProperties: 'none' }],
    })
    expect((await differing()).tables).toEqual([])
  })
})

describe('the end of a class, which no event tells the time of, stays as a reading has told it', () => {
  const endOf = (room: string) =>
    harness.db.value(`select ended_at from classroom.room where room_uuid = $1`, [room])
  const firstSeen = (room: string) =>
    harness.db.value(`select min(at) from classroom.room_state_change where room_uuid = $1 and state = 2`, [
      room,
    ])
  const end = 13

  it('that of an event before it, where the log was read from its beginning after the feed had told it', async () => {
    const items = lesson('sooner')
    await harness.read('app-events', '', { items: [items[end]!], answeredAt: minute(15) })
    await harness.read('room-events', 'sooner', { items, answeredAt: minute(40) })
    expect([await firstSeen('sooner'), await endOf('sooner')]).toEqual([at(15), at(9)])
    expect((await differing()).tables).toEqual([])
  })

  it('that of the feed, where the log told the end again later', async () => {
    const items = lesson('later')
    await harness.read('room-events', 'later', { items: items.slice(0, 10), answeredAt: minute(9) })
    await harness.read('app-events', '', { items: [items[end]!], answeredAt: minute(15) })
    await harness.read('room-events', 'later', { items: items.slice(0, end + 1), answeredAt: minute(16) })
    expect([await firstSeen('later'), await endOf('later')]).toEqual([at(15), at(15)])
    expect((await differing()).tables).toEqual([])
  })

  it('that of the event before it, where it was only read after the close', async () => {
    const items = lesson('unheard')
    await harness.read('room-events', 'unheard', { items: items.slice(0, 10), answeredAt: minute(9) })
    await harness.read('room-events', 'unheard', { items: items.toSpliced(end, 1), answeredAt: minute(17) })
    await harness.read('room-events', 'unheard', { items, answeredAt: minute(19) })
    expect([await firstSeen('unheard'), await endOf('unheard')]).toEqual([at(9), at(9)])
    expect((await differing()).tables).toEqual([])
  })

  it('and goes where the class goes on', async () => {
    await harness.db.rows(`update classroom.room set ended_at = now() where room_uuid = 'live'`)
    expect((await differing()).tables).toMatchObject([{ different: 1, columns: { ended_at: 1 } }])
    await harness.write()
    expect(await endOf('live')).toBeNull()
  })
})

const at = (minutes: number) => new Date(minute(minutes))

it('an event of the feed that the log has replaced by another leaves nothing behind', async () => {
  await harness.read('app-events', '', { items: [record('replaced', 1, 1, { state: 0 })] })
  await harness.read('room-events', 'replaced', {
    items: [record('replaced', 1, 3, { fromUser: pupil('ann'), message: 'hello' })],
    answeredAt: minute(1),
  })
  expect((await differing()).tables).toEqual([])
  expect(await harness.db.rows(`select state from classroom.room where room_uuid = 'replaced'`)).toEqual([
    { state: null },
  ])
})
