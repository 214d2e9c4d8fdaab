import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectAs } from '../sql-cookbook/filled.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { askPanel, momentOf } from './ask.ts'
import { panelsOf, readDashboards } from './files.ts'

const dashboard = readDashboards().class!
const now = '2026-03-04T12:00:00Z'

/** In both rooms are two of one name, one of whom nobody saw leaving, and one who came and went at once. */
const rows = `
  insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at) values
    ('school', 'goes on', 1, 1, '2026-03-04 10:00Z', null, '2026-03-04 10:00Z', '2026-03-04 10:40Z'),
    ('school', 'over', 1, 2, '2026-03-04 10:00Z', '2026-03-04 11:00Z', '2026-03-04 10:00Z', '2026-03-04 11:30Z');
  insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
  select 'school', r.room_uuid, 1, a.n, 0, a.who, a.name, '2', a.action, ('2026-03-04 ' || a.at || 'Z')::timestamptz
  from classroom.room r
  cross join (values (1, 'u1', 'Ann', 'enter', '10:00'), (2, 'u2', 'Ann', 'enter', '10:05'), (3, 'u2', 'Ann', 'leave', '10:20'),
                     (4, 'u3', 'Bob', 'enter', '10:30'), (5, 'u3', 'Bob', 'leave', '10:30'), (6, 'u4', 'Eve', 'enter', '11:10')) a(n, who, name, action, at);
  insert into classroom.stage_change (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
  select 'school', room_uuid, 1, 7, 0, 'u1', 'add', '2026-03-04 10:15Z' from classroom.room;
  insert into classroom.hand_wave (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
  select 'school', room_uuid, 1, 8, 0, 'u1', 'add', '2026-03-04 10:16Z' from classroom.room;
  insert into classroom.quiz (app_id, room_uuid, incarnation, quiz_id, state, started_at, correct_items)
  select 'school', room_uuid, 1, 'q' || n, 'running', '2026-03-04 10:00Z'::timestamptz + n * interval '1 minute', items::jsonb
  from classroom.room cross join unnest(array['["A", "C"]', '"B"', '{"0": "D"}', 'null']) with ordinality q(items, n)`

describe('the dashboard of a class', () => {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await cloneDatabase()
    client = await connectAs(database.url)
    await client.query(rows)
  })
  afterAll(async () => {
    await client?.end()
    await database?.drop()
  })

  async function ask(title: string, room: string) {
    const panel = panelsOf(dashboard).find(one => one.title === title)!
    const values = { app: ['school'], room, incarnation: '1' }
    const [asked] = await askPanel(client, panel, values, momentOf(dashboard, Date.parse(now)))
    return asked![1]
  }

  async function linesOf(title: string, room: string): Promise<readonly string[]> {
    const { rows: told } = await ask(title, room)
    const lines = told.map(
      ([at, who, value]) => `${new Date(Number(at)).toISOString().slice(11, 16)} ${who} ${value}`,
    )
    return lines.sort()
  }

  it('ends the bars of whoever left, or stayed to the end of the class', async () => {
    expect(await linesOf('Attendance', 'over')).toEqual([
      ...['10:00 Ann (u1) 1', '10:05 Ann (u2) 1', '10:20 Ann (u2) 0', '11:00 Ann (u1) 0', '11:10 Eve 1'],
    ])
    expect(await linesOf('On the stage', 'over')).toEqual(['10:15 Ann (u1) 1', '11:00 Ann (u1) 0'])
    expect(await linesOf('Hands up', 'over')).toEqual(['10:16 Ann (u1) 1', '11:00 Ann (u1) 0'])
  })

  it('ends no bar of one who is still there', async () => {
    expect(await linesOf('Attendance', 'goes on')).toEqual([
      ...['10:00 Ann (u1) 1', '10:05 Ann (u2) 1', '10:20 Ann (u2) 0', '11:10 Eve 1'],
    ])
    expect(await linesOf('On the stage', 'goes on')).toEqual(['10:15 Ann (u1) 1'])
    expect(await linesOf('Hands up', 'goes on')).toEqual(['10:16 Ann (u1) 1'])
  })
  it('tells of a quiz that is over with its class, and of right answers in whatever shape they came', async () => {
    const answersOf = async (room: string) => {
      const { columns, rows: told } = await ask('Quizzes', room)
      const [state, answer] = ['State', 'Right answer'].map(name =>
        columns.findIndex(one => one.name === name),
      )
      return told.map(row => [row[state!], row[answer!]])
    }
    const answers = ['A, C', 'B', '{"0": "D"}', null]
    expect(await answersOf('over')).toEqual(answers.map(answer => ['ended', answer]))
    expect(await answersOf('goes on')).toEqual(answers.map(answer => ['running', answer]))
  })
})
