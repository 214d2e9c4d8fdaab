import { expect, it } from 'vitest'
import type { Row, StoredTable } from './rows.ts'
import { examineStays } from './stays.ts'

const room = { app_id: 'alpha', room_uuid: 'algebra', incarnation: 1 }
const standing = {
  ...{ ...room, started_at: 0, ended_at: 90_000 },
  ...{ forgotten_at: null, valid_to: null, last_event_at: 95_000 },
}

function table(name: string, rows: readonly Row[]): [string, StoredTable] {
  return [name, { name, key: [], columns: [], rows }]
}

/** One who enters, is lost for ten seconds, and is there when the class ends. */
const steps = (['enter', 'enter', 'leave', 'enter'] as const).map((action, n) => ({
  ...{ ...room, user_uuid: 'ada', user_name: 'Ada', role: '2', action },
  ...{ at: n * 20_000, sequence: `${n + 1}`, ordinal: 0 },
}))

/** What is found where the view of who was there says this. */
async function judge(...said: readonly string[]): Promise<readonly string[]> {
  const stored = new Map([
    ...[table('room', [standing]), table('attendance', steps)],
    ...[table('stage_change', []), table('hand_wave', [])],
  ])
  const rows = (text: string) =>
    Promise.resolve(text.endsWith('attendance_interval') ? said.map(one => ({ said: one })) : [])
  const found = await examineStays({ rows: rows as never }, stored)
  return found.map(({ kind, text }) => `${kind}: ${text}`)
}

const first = 'alpha algebra 1 ada 0 40000 40000 Ada 2'
const second = 'alpha algebra 1 ada 60000 - 30000 Ada 2'

it('who comes back has two stays, and whom nobody saw leaving stayed to the end of the class', async () => {
  expect(await judge(first, second)).toEqual([])
})

it('one that is left out, and one that never was, are told', async () => {
  expect(await judge(first)).toEqual([`lost: classroom.attendance_interval: ${second}`])
  expect(await judge(first, second, second)).toEqual([`duplicate: classroom.attendance_interval: ${second}`])
  const long = first.replace('40000 40000', '40000 50000')
  expect(await judge(long, second)).toEqual([
    `duplicate: classroom.attendance_interval: ${long}`,
    `lost: classroom.attendance_interval: ${first}`,
  ])
})

it('who is told to have come and gone at once did so by the times of the two, or left and came back if there before', async () => {
  const event = (sequence: number, action: string, updateTime?: number) => ({
    ...{
      ...room,
      user_uuid: 'ada',
      user_name: 'Ada',
      role: '2',
      action,
      extra: updateTime ? { updateTime } : null,
    },
    ...{ at: sequence * 10_000, sequence: `${sequence}`, ordinal: action === 'enter' ? 0 : 1 },
  })
  const stored = new Map([
    ...[table('room', [standing]), table('stage_change', []), table('hand_wave', [])],
    table('attendance', [
      ...[event(1, 'enter'), event(2, 'enter'), event(2, 'leave')],
      ...[event(3, 'enter', 5), event(3, 'leave', 6), event(4, 'enter', 8), event(4, 'leave', 7)],
    ]),
  ])
  const said: string[] = []
  const found = await examineStays({ rows: () => Promise.resolve(said) as never }, stored)
  const stay = (from: number, to: number | '-', lasted: number) =>
    `lost: classroom.attendance_interval: alpha algebra 1 ada ${from} ${to} ${lasted} Ada 2`
  expect(found.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    stay(10_000, 20_000, 10_000),
    stay(20_000, 30_000, 10_000),
    stay(40_000, '-', 50_000),
  ])
})
