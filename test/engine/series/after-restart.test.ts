import { describe, expect, it } from 'vitest'
import type { OpenSeries } from '../../../src/engine/ports.ts'
import { news } from '../fake-streams.ts'
import { hour, minute, second } from '../harness.ts'
import { startApp } from '../start-app.ts'

/** A room of which nothing was heard for hours, and all of which was read three minutes before this process began. */
const idle = { lastEventAt: -5 * hour, besideReadAgo: 3 * minute }

/** When the quizzes of rooms are asked that processes before this one read; times of last events are told from now. */
async function quizTimes(
  rooms: Readonly<Record<string, Pick<OpenSeries, 'lastEventAt' | 'besideReadAgo'>>>,
  lasts: number,
  act: (app: ReturnType<typeof startApp>) => void = () => {},
): Promise<ReadonlyMap<string, readonly number[]>> {
  const app = startApp()
  const { clock, store, transport, stop } = app
  for (const [room, { lastEventAt, ...more }] of Object.entries(rooms)) {
    for (const stream of ['room-events', 'popup-quiz']) store.put(stream, room, { version: 1 })
    store.known.set(room, { ...more, lastEventAt: clock.now() + lastEventAt! })
  }
  act(app)
  await clock.advance(lasts)
  const logs = new Set(transport.of('roomEvents').map(({ room }) => room))
  expect([...logs].sort()).toEqual(Object.keys(rooms).sort())
  const asked = Map.groupBy(transport.of('popupQuiz'), ({ room }) => room)
  await stop()
  return new Map([...asked].map(([room, times]) => [room, times.map(({ at }) => at)]))
}

describe('after a restart', () => {
  it('what is beside the log of an idle room is asked when it would have been', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `r${n}`)
    const asked = await quizTimes(Object.fromEntries(names.map(name => [name, idle])), 8 * minute)
    expect(asked.size).toBe(names.length)
    const times = [...asked.values()].flat()
    expect(times).toHaveLength(names.length)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(6.5 * minute)
    expect(Math.max(...times)).toBeLessThanOrEqual(7.6 * minute)
  })

  it('it is asked soon where the log tells that something happened meanwhile', async () => {
    const asked = await quizTimes({ r1: idle, r2: idle }, minute, ({ transport, clock }) => {
      transport.answers = ({ operation, room }) =>
        operation === 'roomEvents' && room === 'r1'
          ? { items: [{ id: 1, hint: news('r1', 'news', clock.now()) }] }
          : { items: [] }
    })
    expect([...asked.keys()]).toEqual(['r1'])
    expect(asked.get('r1')![0]).toBeLessThan(5 * second)
  })

  it('it is asked soon where the feed tells of the room', async () => {
    const asked = await quizTimes({ r1: idle, r2: idle }, minute, ({ transport, clock }) => {
      transport.answers = ({ operation, at }) =>
        operation === 'appEvents' && at < second
          ? { items: [{ id: 1, hint: news('r1', 'news', clock.now()) }] }
          : { items: [] }
    })
    expect([...asked.keys()]).toEqual(['r1'])
  })

  it.each([
    ['not read to its end since the last event', { ...idle, besideReadAgo: null }],
    ['read longer ago than idle rooms are', { ...idle, besideReadAgo: 11 * minute }],
    ['in class lately', { ...idle, lastEventAt: -2 * minute }],
    ['read in the future, as a clock that was set back has it', { ...idle, besideReadAgo: -minute }],
  ])('it is asked at once of a room that was %s', async (_, room) => {
    const asked = await quizTimes({ r1: room }, minute)
    expect(asked.get('r1')![0]).toBeLessThan(5 * second)
  })

  it('it is asked at once where the log cannot be read', async () => {
    const asked = await quizTimes({ r1: idle }, minute, ({ transport }) => {
      transport.answers = ({ operation }) => (operation === 'roomEvents' ? 'malformed' : { items: [] })
    })
    expect(asked.get('r1')![0]).toBeLessThan(5 * second)
  })
})
