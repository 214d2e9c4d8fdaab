import { expect, it } from 'vitest'
import { examinePeople } from './people.ts'
import type { Row, StoredTable } from './rows.ts'

const minute = 60_000
const room = { app_id: 'alpha', room_uuid: 'algebra 1', incarnation: 1 }
const begun = Date.UTC(2026, 0, 5, 17)
const standing = {
  ...{
    ...room,
    state: 2,
    started_at: begun,
    ended_at: begun + 40 * minute,
    valid_from: begun,
    valid_to: null,
  },
  ...{ last_event_at: begun + 40 * minute, forgotten_at: null, emptied_at: null },
}

function table(name: string, rows: readonly Row[]): [string, StoredTable] {
  return [name, { name, key: [], columns: [], rows }]
}

function comes(user_uuid: string, at: number, sequence: number, action = 'enter'): Row {
  const role = user_uuid === 'eve' ? 'teacher' : '2'
  return {
    ...room,
    user_uuid,
    user_name: user_uuid,
    role,
    action,
    at: begun + at * minute,
    sequence,
    ordinal: 0,
  }
}

/** Eve teaches; Ada is there in time, goes and comes back; Bo comes after ten minutes and stays to the end. */
const stored = new Map([
  ...[table('room', [standing]), table('quiz', []), table('poll', []), table('recording', [])],
  table('attendance', [
    ...[comes('eve', 0, 1), comes('ada', 1, 2), comes('bo', 10, 3), comes('ada', 20, 4, 'leave')],
    comes('ada', 30, 5),
  ]),
  table('chat_message', [{ ...room, user_uuid: 'bo', role: null, at: begun + 30 * minute }]),
  table('room_state_change', [{ ...room, sequence: 0, state: 1 }]),
  ...[table('hand_wave', []), table('reward', [{ ...room, user_uuid: 'ada', changed_reward: 2 }])],
  ...[
    table('resource', []),
    table('resource_change', []),
    table('quiz_submission', []),
    table('poll_submission', []),
  ],
])

const stay = (user: string, from: number, to: number) => ({
  ...{ room: 'alpha algebra 1 1', user, role: user === 'eve' ? 'teacher' : '2' },
  ...{ from: begun + from * minute, to: begun + to * minute },
})
const stays = [stay('eve', 0, 40), stay('ada', 1, 20), stay('ada', 30, 40), stay('bo', 10, 40)]

const nobodys = { hands: 0, quizzes: 0, polls: 0 }
const person = (user_uuid: string, from: number, told: Row) => ({
  ...{ ...room, ...nobodys, user_uuid, is_student: user_uuid !== 'eve', entered_at: begun + from * minute },
  ...{ left_at: begun + 40 * minute, stays: 1, messages: 0, rewards: 0, ...told },
})
const heads = (at: number, people: number) => ({
  ...{ ...room, at: begun + at * minute, people, students: at < 40 ? people - 1 : 0 },
})
const attended = { app_id: 'alpha', classes: 1, students: 2, visits: 2, minutes: 59 * minute }
const truth: Readonly<Record<string, readonly Row[]>> = {
  class: [
    {
      ...{ ...room, state: 'ended', is_going_on: false, started_at: begun, ended_at: begun + 40 * minute },
      ...{ minutes: 40 * minute, students: 2, unknown_roles: 0, teachers: ['eve'], messages: 1, rewards: 2 },
      ...{ ...nobodys, recordings: 0, files: 0 },
    },
  ],
  participation: [
    person('eve', 0, { minutes: 40 * minute }),
    person('ada', 1, { stays: 2, minutes: 29 * minute, rewards: 2 }),
    person('bo', 10, { minutes: 30 * minute, messages: 1 }),
  ],
  late_arrival: [
    {
      ...{ ...room, user_uuid: 'bo', class_started_at: begun, entered_at: begun + 10 * minute },
      minutes: 10 * minute,
    },
  ],
  head_count: [heads(0, 1), heads(1, 2), heads(10, 3), heads(20, 2), heads(30, 3), heads(40, 0)],
  attention: [{ ...room, until: begun + 40 * minute, first: 1.45, second: 1.5, acts: '0 1' }],
  attendance_by_day: [{ ...attended, day: '2026-01-06', stays: 3 }],
  attendance_by_week: [
    {
      ...{ ...attended, day: '2026-01-05', students_before: 0, visits_before: 0, minutes_before: 0 },
      change: null,
    },
  ],
}

/** What is found where the views say this, of an app whose day begins eight hours before that of UTC. */
async function judge(
  said: Readonly<Record<string, readonly Row[]>> = {},
  tables = stored,
): Promise<readonly string[]> {
  const views: Readonly<Record<string, readonly Row[]>> = { ...truth, attendance_interval: stays, ...said }
  const rows = (text: string) => Promise.resolve(views[/classroom\.(\w+)$/.exec(text)![1]!]!)
  const found = await examinePeople({ rows: rows as never, turns: [{ from: 0, hours: 8 }] }, tables)
  return found.map(({ kind, text }) => `${kind} ${text.split(':')[0]}`)
}

const changed = (view: string) => [`different classroom.${view}`, `lost classroom.${view}`]

it('who was in a class, and for how long, follows from who came and went', async () => {
  expect(await judge()).toEqual([])
})

it('who comes back is not late', async () => {
  const [bo] = truth.late_arrival!
  const again = { ...bo, user_uuid: 'ada', entered_at: begun + 30 * minute, minutes: 30 * minute }
  expect(await judge({ late_arrival: [bo!, again] })).toEqual(['different classroom.late_arrival'])
})

it('who came before the class began is not late, whatever time that has', async () => {
  const begins = table('room_state_change', [{ ...room, sequence: 4, state: 1 }])
  expect(await judge({}, new Map([...stored, begins]))).toEqual(['different classroom.late_arrival'])
  expect(await judge({ late_arrival: [] }, new Map([...stored, begins]))).toEqual([])
})

it('who is still there has not left', async () => {
  const going = [...stays.slice(0, 2), { ...stays[2]!, to: null }, stays[3]!]
  const found = await judge({ attendance_interval: going })
  expect(found).toContain('lost classroom.participation')
})

it.each(Object.keys(truth))('what classroom.%s says otherwise is told', async view => {
  const [first, ...others] = truth[view]!
  const [column] = Object.keys(first!).filter(name => !['app_id', 'room_uuid'].includes(name))
  expect(await judge({ [view]: [{ ...first, [column!]: 'other' }, ...others] })).toEqual(changed(view))
})

it('a week is told beside the one before it, in which who came on two days counts once', async () => {
  const week = truth.attendance_by_week![0]!
  const second = {
    ...standing,
    incarnation: 2,
    started_at: begun + 7 * 86_400_000,
    ended_at: begun + 7 * 86_400_000,
  }
  const later = new Map([...stored, table('room', [standing, second])])
  const told = [
    week,
    {
      ...{ ...week, day: '2026-01-12', students: 0, visits: 0, minutes: 0 },
      ...{ students_before: 2, visits_before: 2, minutes_before: 59 * minute, change: -1 },
    },
  ]
  const found = async (weeks: readonly Row[]) => {
    const views: Readonly<Record<string, readonly Row[]>> = {
      ...{ ...truth, attendance_interval: stays, attendance_by_week: weeks },
    }
    const rows = (text: string) => Promise.resolve(views[/classroom\.(\w+)$/.exec(text)![1]!]!)
    const all = await examinePeople({ rows: rows as never, turns: [{ from: 0, hours: 8 }] }, later)
    return all.filter(({ text }) => text.startsWith('classroom.attendance_by_week'))
  }
  expect(await found(told)).toEqual([])
  expect(await found([week, { ...told[1]!, students_before: 3 }])).toHaveLength(2)
})

it('of a class that retention took nothing is said', async () => {
  const rows = () => Promise.reject(new Error('nobody asks'))
  const emptied = new Map([...stored, table('room', [{ ...standing, emptied_at: begun }])])
  expect(await examinePeople({ rows }, emptied)).toEqual([])
})
