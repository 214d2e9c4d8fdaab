import { describe, expect, it } from 'vitest'
import { readPairs } from '../../src/streams/calls/session-metrics.ts'
import { streams } from '../../src/streams/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { fixture, pageOf } from './pages.ts'

/** What the contract leaves open inside an item: each way of saying it makes the same rows. */

type Item = Readonly<Record<string, Json>>

function itemsOf(stream: 'popup-quiz' | 'poll' | 'room-events', name: string): readonly Item[] {
  const { page } = fixture(stream, name).input as { page: { items: Item[] } }
  return page.items
}

/** Rows and dead letters of a page; what is kept raw shows how it was said, and is left out. */
function harvested(stream: 'popup-quiz' | 'poll' | 'room-events', items: readonly Json[]) {
  const { rows, rejects } = streams[stream].toRows(pageOf({ items }), null)
  const { 'classroom.widget_event': raw, ...others } = rows
  const details = rejects.map(({ reason, detail }) => `${reason} ${detail}`)
  return { rows: others, details, kept: raw?.length ?? 0 }
}

const widgets = [
  ['popup-quiz', 'a-whole-quiz'],
  ['poll', 'a-whole-poll'],
] as const

describe.each(widgets)('an item of %s', (stream, name) => {
  const items = itemsOf(stream, name)

  it('says the same with its fields under data, beside its sequence', () => {
    const wrapped = items.map(({ sequence, ...data }) => ({ sequence: sequence!, cmd: 1, version: 1, data }))
    expect(harvested(stream, wrapped)).toEqual(harvested(stream, items))
  })

  it('says the same with all of it under data', () => {
    expect(
      harvested(
        stream,
        items.map(data => ({ data })),
      ),
    ).toEqual(harvested(stream, items))
  })

  it('that does not say what changed is kept and set aside', () => {
    const { details, kept } = harvested(stream, [{ something: 'else' }, { data: { something: 'else' } }])
    expect(details.map(text => text.split(':')[0])).toEqual([
      'missing_key changeProperties',
      'missing_key changeProperties',
    ])
    expect(kept).toBe(2)
  })
})

describe('options that a poll submission chose', () => {
  const vote = (selectIndex: Json) => {
    const item = {
      changeProperties: { extra: { pollId: 'p1', selectIndex } },
      operator: { userUuid: 'ann' },
    }
    const { rows, details } = harvested('poll', [item])
    const [row] = rows['classroom.poll_submission'] ?? []
    return { chosen: row?.select_index, extra: row?.extra, details }
  }

  it.each([
    ['numbers', [0, 2]],
    ['texts', ['0', '2']],
    ['objects', [{ index: 0 }, { index: '2' }]],
    [
      'objects that say more',
      [
        { index: 0, num: 7, text: 'yes' },
        { index: 2, num: 1, text: 'no' },
      ],
    ],
    [
      'objects of another name',
      [
        { option: 0, text: 'yes' },
        { option: 2, text: 'no' },
      ],
    ],
  ])('come as %s', (_, selectIndex) => {
    expect(vote(selectIndex)).toEqual({ chosen: [0, 2], extra: null, details: [] })
  })

  it('are not guessed where an object has two that might be it', () => {
    const selectIndex = [{ option: 0, num: 2 }]
    expect(vote(selectIndex)).toEqual({ chosen: null, extra: { selectIndex }, details: [] })
  })
})

describe('events of one answer', () => {
  it('make the same rows in whatever order they stand', () => {
    const start = (sequence: number, recordId: string) => ({
      ...{ roomUuid: 'algebra-7b', cmd: 1001, sequence, version: 1 },
      data: { state: 1, recordId, sid: 's', resourceId: 'r', startTime: 1_767_222_000_000 + sequence },
    })
    const stop = (sequence: number) => ({
      ...{ roomUuid: 'algebra-7b', cmd: 1001, sequence, version: 1 },
      data: { state: 0 },
    })
    const items = [start(1, 'a'), stop(2), start(3, 'b'), stop(4)]
    const forwards = harvested('room-events', items)
    expect(harvested('room-events', items.toReversed())).toEqual(forwards)
    const stops = forwards.rows['classroom.recording_state_change']!.filter(({ state }) => state === 0)
    expect(stops.map(({ record_id }) => record_id)).toEqual(['a', 'b'])
  })
})

describe('a value of a metric', () => {
  it.each([
    ['a pair', [1_767_225_700, 0.5]],
    ['an object of two names', { ts: 1_767_225_700, value: 0.5 }],
    ['an object named by its second', { '1767225700': 0.5 }],
  ])('comes as %s', (_, pair) => {
    const { at, value, bad } = readPairs([pair])
    expect({ at, value, bad }).toEqual({ at: [1_767_225_700], value: [0.5], bad: [] })
  })

  it.each([[[1_767_225_700, null]], [{ ts: 1_767_225_700, value: null }], [{ '1767225700': null }]])(
    'is none where it is null, and nothing to be asked for again: %j',
    pair => {
      expect(readPairs([pair, [1_767_225_702, 1]])).toMatchObject({
        at: [1_767_225_702],
        value: [1],
        bad: [],
      })
    },
  )

  it('is not guessed where an object says nothing that is a second', () => {
    expect(readPairs([{ '7': 0.5 }, { loss: 0.5 }]).bad).toHaveLength(2)
  })
})

describe('a person of whom the ID or another field is not told as it is elsewhere', () => {
  const event = (cmd: number, data: Json) => ({ cmd, sequence: 1, version: 1, data })
  const strange = { userUuid: 42, userName: ['Ann'] }

  it.each([
    [3, { fromUser: strange, message: 'hi' }, 'chat_message', [null], { fromUser: strange }],
    [3, { message: 'hi' }, 'chat_message', [null], null],
    [20, { onlineUsers: [strange, { userUuid: 'bob' }] }, 'attendance', [null, 'bob'], strange],
    [1101, { rewardDetails: [{ userUuid: 42 }] }, 'reward', [null], { userUuid: 42 }],
    [1501, { addAcceptedUsers: [{ userUuid: 42 }] }, 'stage_change', [null], { userUuid: 42 }],
    [1502, { addProgressUsers: [{ userUuid: 42 }] }, 'hand_wave', [null], { userUuid: 42 }],
  ] as const)('in data of cmd %i costs no row', (cmd, data, table, people, extra) => {
    const { rows, details } = harvested('room-events', [event(cmd, data)])
    const stored = rows[`classroom.${table}`] ?? []
    expect(details).toEqual([])
    expect(stored.map(({ user_uuid }) => user_uuid)).toEqual(people)
    expect(stored[0]?.extra).toEqual(extra)
  })

  it.each([
    ['a number', { userUuid: 42 }],
    ['of no object', 'the service'],
  ])('keeps the resources of an event whose operator has one that is %s', (_, operator) => {
    const data = { action: 1, resources: [{ resourceUuid: 'doc' }], operator }
    const { rows, details } = harvested('room-events', [event(1003, data)])
    expect(rows['classroom.resource_change']).toMatchObject([
      { resource_uuid: 'doc', operator_uuid: null, extra: { operator } },
    ])
    expect(details).toEqual([])
  })

  it.each([
    ['popup-quiz', { popupQuizId: 'q', selectedItems: ['a'] }, 'quiz_submission'],
    ['poll', { pollId: 'p', selectIndex: [{ option: 0, num: 2 }] }, 'poll_submission'],
  ] as const)('keeps the submissions of %s apart by their places', (stream, extra, table) => {
    const items = [{ userUuid: 42 }, undefined].map(operator => ({
      changeProperties: { extra },
      ...(operator && { operator }),
    }))
    const { rows, details } = harvested(stream, items)
    const chosen = stream === 'poll' ? { selectIndex: extra.selectIndex } : null
    expect(details).toEqual([])
    expect(rows[`classroom.${table}`]).toMatchObject([
      { user_uuid: '', ordinal: 0, extra: { ...chosen, operator: { userUuid: 42 } } },
      { user_uuid: '', ordinal: 1, extra: chosen },
    ])
  })
})

describe('how many have come and gone', () => {
  const told = (data: Json) => {
    const { rows, details } = harvested('room-events', [{ cmd: 20, sequence: 1, version: 1, data }])
    return { rows: rows['classroom.attendance'] ?? [], details }
  }

  it('is a row without a user where nobody is named', () => {
    expect(told({ total: 7, onlineUsers: [], offlineUsers: [] })).toMatchObject({
      rows: [{ ordinal: 0, user_uuid: null, action: null, total: 7 }],
      details: [],
    })
    expect(told({ onlineUsers: [] })).toEqual({ rows: [], details: [] })
  })

  it('stays with those who are named, and costs none of them where it is no number', () => {
    const people = { onlineUsers: [{ userUuid: 'ann' }], offlineUsers: [{ userUuid: 'bob' }] }
    expect(told({ ...people, total: 2 }).rows.map(({ total }) => total)).toEqual([2, 2])
    expect(told({ ...people, total: 'two' })).toMatchObject({
      rows: [
        { total: null, extra: { total: 'two' } },
        { total: null, extra: { total: 'two' } },
      ],
      details: [],
    })
  })
})

it('who is listed beside the changes of an event is told once, and so is who cannot be told apart', () => {
  const ids = (...list: (string | null)[]) => list.map(userUuid => ({ userUuid }))
  const data = {
    progressUsers: ids('ann', 'bob', null),
    addProgressUsers: ids('bob'),
    removeProgressUsers: ids('cid', null),
  }
  const { rows } = harvested('room-events', [{ cmd: 1502, sequence: 1, version: 1, data }])
  expect(
    rows['classroom.hand_wave']!.map(row => [row.ordinal, row.user_uuid, row.action, row.is_listed]),
  ).toEqual([
    [0, 'bob', 'add', true],
    [1, 'cid', 'remove', false],
    [2, null, 'remove', null],
    [3, 'ann', 'present', true],
    [5, null, 'present', true],
  ])
})
