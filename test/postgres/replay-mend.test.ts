import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fillTwoRooms,
  lesson,
  minute,
  openReplayHarness,
  pollItems,
  type ReplayHarness,
} from './replay-harness.ts'

let harness: ReplayHarness
/** The database as the streams have filled it. */
let right: readonly string[]

beforeAll(async () => {
  harness = await openReplayHarness()
  await fillTwoRooms(harness)
  right = await harness.dump()
})
afterAll(() => harness.close())

const place = `app_id = 'school' and room_uuid = 'maths' and incarnation = 1`
const inEvent = { extra: 'sequence = sequence + 500', at: `at = at + interval '1 s'` }

/** Of each table: how a row becomes one that should not be there, and some columns that may be wrong. */
const plants: Readonly<
  Record<
    string,
    { readonly extra: string; readonly different: readonly (readonly [column: string, change: string])[] }
  >
> = {
  room_state_change: {
    extra: inEvent.extra,
    different: [
      ['at', inEvent.at],
      ['state', 'state = 7'],
      ['started_at', 'started_at = now()'],
    ],
  },
  chat_message: {
    extra: inEvent.extra,
    different: [
      ['message', `message = 'planted'`],
      ['extra', `extra = '{"color": "blue"}'`],
      ['role', 'role = null'],
    ],
  },
  attendance: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['action', `action = 'gone'`],
      ['user_uuid', `user_uuid = 'zoe'`],
    ],
  },
  recording_state_change: {
    extra: inEvent.extra,
    different: [
      ['record_id', `record_id = 'r9'`],
      ['sid', `sid = 'planted'`],
    ],
  },
  reward: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['changed_reward', 'changed_reward = 9'],
      ['total', 'total = null'],
    ],
  },
  resource_change: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['task_progress', `task_progress = '{}'`],
      ['size', 'size = size + 0.5'],
    ],
  },
  stage_change: { extra: 'ordinal = ordinal + 9', different: [['action', `action = 'present'`]] },
  hand_wave: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['payload', 'payload = null'],
      ['at', inEvent.at],
    ],
  },
  quiz: {
    extra: `quiz_id = 'q' || quiz_id`,
    different: [
      ['items', `items = '[]'`],
      ['state', 'state = null'],
      ['average_accuracy', 'average_accuracy = 0.5'],
    ],
  },
  quiz_submission: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['is_correct', 'is_correct = (is_correct is not true)'],
      ['committed_at', 'committed_at = now()'],
    ],
  },
  poll: {
    extra: `poll_id = 'x'`,
    different: [
      ['mode', 'mode = 1'],
      ['ended_at', 'ended_at = now()'],
    ],
  },
  poll_submission: {
    extra: 'ordinal = ordinal + 9',
    different: [
      ['select_index', `select_index = '{7}'`],
      ['at', 'at = null'],
    ],
  },
  poll_tally: {
    extra: 'option_index = option_index + 9',
    different: [
      ['num', 'num = num + 1'],
      ['percentage', 'percentage = 0.75'],
    ],
  },
}

/** The first row of the room, by its key. */
const firstRow = (table: string) =>
  `ctid = (select t.ctid from classroom.${table} t where ${place} order by t::text limit 1)`

const plant = {
  missing: (table: string) => `delete from classroom.${table} where ${firstRow(table)}`,
  extra: (table: string, change: string) =>
    `insert into classroom.${table}
     select (jsonb_populate_record(null::classroom.${table}, to_jsonb(t) || ${change.replace(/^(\w+) = (.*)$/, `jsonb_build_object('$1', $2)`)})).*
     from classroom.${table} t where ${firstRow(table)}`,
  different: (table: string, change: string) =>
    `update classroom.${table} set ${change} where ${firstRow(table)}`,
}

const cases = Object.entries(plants).flatMap(([table, { extra, different }]) => [
  { table, kind: 'missing', statement: plant.missing(table), columns: {} },
  { table, kind: 'extra', statement: plant.extra(table, extra), columns: {} },
  ...different.map(([column, change]) => ({
    ...{ table, kind: 'different', statement: plant.different(table, change), columns: { [column]: 1 } },
  })),
])

const roomCases = [
  ['state', 'state = 1'],
  ['state_sequence', 'state_sequence = 1'],
  ['started_at', `started_at = started_at + interval '1 s'`],
  ['started_at', 'started_at = null'],
] as const

async function found() {
  const tables = (await harness.compare()).tally.tables()
  return tables.map(({ keys, ...counts }) => ({ ...counts, keys: Object.values(keys).flat().length }))
}

describe('a difference that was planted is told and mended', () => {
  it.each(cases)('$table: $kind $columns', async ({ table, kind, statement, columns }) => {
    await harness.db.rows(statement)
    const none = { missing: 0, extra: 0, different: 0 }
    expect(await found()).toEqual([{ table: `classroom.${table}`, ...none, [kind]: 1, columns, keys: 1 }])
    const changed = await harness.write()
    expect([changed.tally.rows(), changed.busy]).toEqual([1, []])
    expect(await harness.dump()).toEqual(right)
  })

  it.each(roomCases)('room: %s with %s', async (column, change) => {
    await harness.db.rows(`update classroom.room set ${change} where ${place}`)
    expect(await found()).toMatchObject([{ table: 'classroom.room', different: 1, columns: { [column]: 1 } }])
    await harness.write()
    expect(await harness.dump()).toEqual(right)
  })

  it('rows under a name of which nothing is kept raw', async () => {
    await harness.db.rows(
      `insert into classroom.chat_message (app_id, room_uuid, incarnation, sequence, message, at) values ('school', 'nowhere', 2, 5, 'planted', now())`,
    )
    expect((await harness.compare()).tally.tables()).toMatchObject([
      {
        table: 'classroom.chat_message',
        extra: 1,
        keys: { extra: [{ room: 'nowhere', incarnation: 2, sequence: 5 }] },
      },
    ])
    await harness.write()
    expect(await harness.dump()).toEqual(right)
  })

  it('many at once, of which only some are named', async () => {
    await harness.db.rows(
      `insert into classroom.chat_message (app_id, room_uuid, incarnation, sequence, message, at)
       select 'school', 'maths', 1, 1000 + n, 'planted', now() from generate_series(1, 300) n`,
    )
    await harness.db.rows(`delete from classroom.attendance where ${place}`)
    const [attendance, chat] = (await harness.compare()).tally.tables()
    expect(attendance).toMatchObject({ missing: 3 })
    expect(chat).toMatchObject({ extra: 300 })
    expect(chat!.keys.extra.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 20 }, (_, n) => 1001 + n),
    )
    expect(JSON.stringify(chat)).not.toContain('planted')
    await harness.write()
    expect(await harness.dump()).toEqual(right)
    // What is right is left alone, so this holds of every other difference that was mended.
    expect((await harness.write()).tally.rows(), 'a second time nothing is changed').toBe(0)
  })
})

describe('a time that was taken from an answer and that nothing else tells', () => {
  const timeless = pollItems.map(({ ts: _, ...rest }: { ts?: number }) => rest)
  const pollOf = (room: string) =>
    harness.db.rows(`select started_at, ended_at, mode from classroom.poll where room_uuid = '${room}'`)

  it('stays as it is stored, also where its row is mended, and is unknown in a row that was missing', async () => {
    await harness.read('room-events', 'late', { items: lesson('late'), answeredAt: minute(20) })
    await harness.read('poll', 'late', { items: [] })
    await harness.read('poll', 'late', { items: timeless, answeredAt: minute(30) })
    const stored = { started_at: new Date(minute(30)), ended_at: new Date(minute(30)), mode: 2 }
    expect(await pollOf('late')).toEqual([stored])
    await harness.db.rows(`update classroom.poll set mode = 1 where room_uuid = 'late'`)
    expect((await harness.write()).tally.tables()).toMatchObject([{ columns: { mode: 1 } }])
    expect(await pollOf('late')).toEqual([stored])
    await harness.db.rows(`delete from classroom.poll where room_uuid = 'late'`)
    await harness.write()
    expect(await pollOf('late')).toEqual([{ started_at: null, ended_at: null, mode: 2 }])
    expect((await harness.write()).tally.rows()).toBe(0)
    for (const table of [
      'poll',
      'poll_tally',
      'poll_submission',
      'room',
      'room_event',
      'widget_event',
      'chat_message',
    ])
      await harness.db.rows(`delete from classroom.${table} where room_uuid = 'late'`)
    await harness.write()
    expect(await harness.dump()).toEqual(right)
  })
})
