import { expect, it } from 'vitest'
import { minute, second } from './harness.ts'
import { startEngine } from './start-engine.ts'

/* What the engine does beside draining. */

it('room is made for rows before the first page, once, and for no longer than what is owned may wait', async () => {
  const { clock, store, transport, stop } = startEngine()
  store.prepare = async () => {
    store.calls.push('prepare')
    await new Promise(() => {})
  }
  await clock.advance(4 * second)
  expect(store.calls).toEqual(['prepare'])
  expect(transport.asked).toEqual([])
  await clock.advance(30 * second)
  expect(transport.asked).not.toEqual([])
  expect(store.calls.filter(call => call === 'prepare')).toHaveLength(1)
  await stop()
})

it('the housekeeping is told the time of the provider, and says so where it does not suffice', async () => {
  const { clock, store, transport, said, stop } = startEngine()
  await clock.advance(6 * minute)
  expect(said).toContain(
    'nothing that is too old was taken away: the provider does not confirm the time of the database',
  )
  transport.clockOffset = family => (family === 'classroom' ? { ahead: 5_000, doubt: 500 } : undefined)
  await clock.advance(5 * minute)
  expect(store.confirmed! % minute).toBe(4_500)
  await stop()
})

it('the housekeeping runs every five minutes, but not where nothing is owned', async () => {
  const { clock, store, ownership, stop } = startEngine()
  await clock.advance(11 * minute)
  expect(store.calls.filter(call => call === 'housekeeping')).toHaveLength(2)
  ownership.fences = []
  await clock.advance(10 * minute)
  expect(store.calls.filter(call => call === 'housekeeping')).toHaveLength(2)
  await stop()
})

it('a silent app is asked at its usual pace in the hours of the week in which it had classes, and ever later in others', async () => {
  const { clock, store, transport, stop } = startEngine(['a1'], { idleEvery: 40 * second })
  // The clock starts on a Monday at eight, which is one of them; nine is one on Tuesdays alone.
  store.hours.set('a1', new Set([8, 33]))
  const timesIn = async (ms: number) => {
    const before = transport.of('appEvents').length
    await clock.advance(ms)
    return transport.of('appEvents').length - before
  }
  await clock.advance(40 * minute)
  expect(await timesIn(10 * minute)).toBe(60)
  await clock.advance(20 * minute)
  expect(await timesIn(10 * minute)).toBe(15)
  await stop()
})

it('in which hours there were classes is read at the start, and every six hours', async () => {
  const { clock, store, stop } = startEngine()
  const reads = () => store.calls.filter(call => call === 'busyHours').length
  await clock.advance(6 * 60 * minute - minute)
  expect(reads()).toBe(1)
  await clock.advance(2 * minute)
  expect(reads()).toBe(2)
  await stop()
})

it('hours that could not be read are read soon after', async () => {
  const { clock, store, transport, stop } = startEngine(['a1'], { idleEvery: 40 * second })
  store.hours.set('a1', new Set([8]))
  const read = store.busyHours.bind(store)
  const failures = [new Error('the database is away')]
  store.busyHours = async () => {
    const failure = failures.pop()
    if (failure) throw failure
    return read()
  }
  await clock.advance(20 * minute)
  const before = transport.of('appEvents').length
  await clock.advance(10 * minute)
  expect(transport.of('appEvents').length - before).toBe(60)
  await stop()
})

it('a room that someone wants read again, and that cannot be read, is asked ever later all the same', async () => {
  const { clock, store, transport, stop } = startEngine()
  transport.answers = ({ operation }) => (operation === 'roomEvents' ? 'malformed' : { items: [] })
  store.wantedRooms = async () => [{ app: 'a1', room: 'r1', region: null, streams: ['room-events'] }]
  for (let n = 0; n < 60; n++) await clock.advance(minute)
  const asked = transport.of('roomEvents').length
  expect(asked).toBeGreaterThan(5)
  expect(asked).toBeLessThan(30)
  await stop()
})

it('a room that is wanted by a stream which is off is not read for that by the others', async () => {
  const { clock, store, transport, stop } = startEngine()
  store.wantedRooms = async () => [{ app: 'a1', room: 'r1', region: null, streams: ['poll'] }]
  for (let n = 0; n < 10; n++) await clock.advance(minute)
  expect(transport.of('roomEvents')).toEqual([])
  await stop()
})
