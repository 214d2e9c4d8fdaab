import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { PageResult } from '../../src/streams/page.ts'
import type { Stream } from '../../src/streams/stream.ts'
import { fillTwoRooms, minute, openReplayHarness, type ReplayHarness } from './replay-harness.ts'

let harness: ReplayHarness
/** The database as the streams have filled it. */
let right: readonly string[]

beforeAll(async () => {
  harness = await openReplayHarness()
  await fillTwoRooms(harness)
  right = await harness.dump()
})
afterAll(() => harness.close())

describe('after a fix in how something is read', () => {
  const withHarvest = (
    name: 'room-events' | 'poll',
    alter: (toRows: PageResult) => PageResult,
  ): readonly Stream[] =>
    Object.values({
      ...streams,
      [name]: {
        ...streams[name],
        toRows: (...args: Parameters<(typeof streams)['poll']['toRows']>) =>
          alter(streams[name].toRows(...args)),
      },
    })

  /** Words for roles, no chat of bob, and one more row for each reward. */
  const fixedEvents = withHarvest('room-events', ({ rows, ...toRows }) => ({
    ...toRows,
    rows: {
      ...rows,
      'classroom.attendance': rows['classroom.attendance']?.map(row => ({ ...row, role: 'student' })) ?? [],
      'classroom.chat_message': [],
      'classroom.reward':
        rows['classroom.reward']?.flatMap(row => [row, { ...row, ordinal: row.ordinal + 1 }]) ?? [],
    },
  }))

  it('what it changes is told, applied once, and taken back by the streams as they were', async () => {
    const { tally } = await harness.compare(fixedEvents)
    const counts = tally
      .tables()
      .map(({ table, missing, extra, different, columns }) => [table, missing, extra, different, columns])
    expect(counts).toEqual([
      ['classroom.attendance', 0, 0, 9, { role: 9 }],
      ['classroom.chat_message', 0, 3, 0, {}],
      ['classroom.reward', 3, 0, 0, {}],
    ])
    expect(await harness.dump(), 'a comparison changes nothing').toEqual(right)
    expect((await harness.write(fixedEvents)).tally.rows()).toBe(15)
    expect((await harness.write(fixedEvents)).tally.rows()).toBe(0)
    expect(await harness.db.rows('select distinct role from classroom.attendance')).toEqual([
      { role: 'student' },
    ])
    expect((await harness.write()).tally.rows()).toBe(15)
    expect(await harness.dump()).toEqual(right)
  })

  it('quizzes and polls follow it too', async () => {
    const fixedPolls = withHarvest('poll', ({ rows, ...toRows }) => ({
      ...toRows,
      rows: { ...rows, 'classroom.poll': rows['classroom.poll']?.map(row => ({ ...row, mode: 1 })) ?? [] },
    }))
    expect((await harness.write(fixedPolls)).tally.tables()).toMatchObject([
      { table: 'classroom.poll', different: 2, columns: { mode: 2 } },
    ])
    expect(await harness.db.rows('select distinct mode from classroom.poll')).toEqual([{ mode: 1 }])
    await harness.write()
    expect(await harness.dump()).toEqual(right)
  })

  it('a row that the database refuses ends the replay and names the room', async () => {
    const broken = withHarvest('room-events', ({ rows, ...toRows }) => ({
      ...toRows,
      rows: {
        ...rows,
        'classroom.chat_message':
          rows['classroom.chat_message']?.map(row => ({ ...row, type: 2 ** 40 })) ?? [],
      },
    }))
    await expect(harness.write(broken)).rejects.toThrow(
      /^room maths of app school cannot be rebuilt: .*SQLSTATE 22003/,
    )
    expect(await harness.dump()).toEqual(right)
    expect((await harness.compare()).tally.rows()).toBe(0)
  })

  it('a time that is now read from an event moves the event’s rows, and no second time', async () => {
    const timed = withHarvest('room-events', ({ rows, ...toRows }) => {
      const at = new Date(minute(13)).toISOString()
      const change = <Row extends object>(list: readonly Row[] | undefined) =>
        list?.map(row => ({ ...row, at })) ?? []
      return {
        ...toRows,
        rows: {
          ...rows,
          'classroom.room_event':
            rows['classroom.room_event']?.map(row => ({
              ...row,
              event_time: row.cmd === 3 ? at : row.event_time,
            })) ?? [],
          'classroom.chat_message': change(rows['classroom.chat_message']),
        },
      }
    })
    expect((await harness.write(timed)).tally.tables()).toMatchObject([
      { table: 'classroom.chat_message', different: 3, columns: { at: 3 } },
    ])
    expect((await harness.write(timed)).tally.rows()).toBe(0)
    await harness.write()
    expect(await harness.dump()).toEqual(right)
  })
})
