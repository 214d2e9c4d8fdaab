import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/clock/clock.ts'
import { createServerClock } from '../../src/http/server-clock.ts'

/** Half a millisecond: a time that is told in ms may be up to one ms old. */
const half = 0.5
const day = 86_400_000

/** Our wall clock and our monotonic clock, each set by hand; neither ever shows a whole second. */
function makeHarness() {
  const time = { wall: 1_000_000_123, monotonic: 500 }
  const clock: Clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    sleep: () => Promise.reject(new Error('nobody sleeps here')),
  }
  const server = createServerClock(clock)
  const pass = (ms: number) => {
    time.wall += ms
    time.monotonic += ms
  }
  /**
   * An answer of a provider whose clock is `ahead` ms ahead of ours, which it gave `before` ms after the request was
   * sent and `after` ms before the answer was read.
   */
  const answer = (ahead: number, { before = 0, after = 0 } = {}) => {
    const from = time.monotonic
    pass(before)
    const told = time.wall + ahead
    pass(after)
    server.observe(told, from, time.monotonic)
  }
  const ahead = () => server.offset()!.ahead
  return { time, server, answer, pass, ahead }
}

describe('what is known of a provider clock', () => {
  it('is nothing before the first answer', () => {
    expect(makeHarness().server.offset()).toBeUndefined()
  })

  it('is what an answer says, given or taken the time that it took', () => {
    const { server, answer } = makeHarness()
    answer(40, { before: 300, after: 100 })
    const { ahead, doubt } = server.offset()!
    expect(ahead - doubt).toBeCloseTo(40 - 100, 6)
    expect(ahead + doubt).toBeCloseTo(40 + 300 + 2 * half, 6)
  })

  it('is told to the second, where whole seconds are told', () => {
    const { server, time } = makeHarness()
    server.observe(time.wall - 123, time.monotonic, time.monotonic)
    expect(server.offset()).toEqual({ ahead: -123 + 500, doubt: 500 })
  })

  it('is never moved by an answer that lies, nor by several that contradict each other', () => {
    const { answer, ahead } = makeHarness()
    for (const one of [100, 100, day, 100, -day]) answer(one)
    expect(ahead()).toBeCloseTo(100 + half, 6)
  })

  it('is never wrong by an answer that a stopped process read late, nor by two', () => {
    const { server, answer } = makeHarness()
    answer(0, { before: 20, after: 60_000 })
    answer(0, { before: 20, after: 61_000 })
    expect(Math.abs(server.offset()!.ahead)).toBeLessThanOrEqual(server.offset()!.doubt)
    expect(server.offset()!.doubt).toBeGreaterThan(25_000)
    answer(0, { before: 20, after: 20 })
    expect(server.offset()!.doubt).toBeLessThan(30)
    for (let n = 0; n < 40; n++) answer(0, { after: 45_000 })
    expect(Math.abs(server.offset()!.ahead)).toBeLessThanOrEqual(server.offset()!.doubt)
  })

  it('is narrowed down by answers that were slow in different ways', () => {
    const { server, answer } = makeHarness()
    answer(10, { before: 8_000 })
    answer(10, { after: 8_000 })
    expect(server.offset()!.ahead).toBeCloseTo(10, 0)
    // What two clocks may have drifted apart in eight seconds.
    expect(server.offset()!.doubt).toBeLessThan(2)
  })

  it('is of two answers at odds what is nearer to our own clock', () => {
    const { answer, ahead } = makeHarness()
    answer(50)
    answer(-600_000)
    expect(ahead()).toBeCloseTo(50 + half, 6)
  })

  it('forgets all but the latest answers', () => {
    const { answer, ahead } = makeHarness()
    for (const one of [...Array(31).fill(900), ...Array(16).fill(20)]) answer(one)
    expect(ahead()).toBeCloseTo(20 + half, 6)
  })

  it('becomes doubtful with time', () => {
    const { server, answer, pass } = makeHarness()
    answer(0)
    pass(3_600_000)
    expect(server.offset()!.doubt).toBeCloseTo(360 + half, 6)
  })

  it('is never believed beyond its bound', () => {
    const { answer, ahead } = makeHarness()
    answer(-2 * day)
    expect(ahead()).toBe(-3_600_000)
  })

  it('stays the provider’s time when our own wall clock is set', () => {
    const { answer, pass, time, ahead } = makeHarness()
    for (let n = 0; n < 10; n++) {
      answer(200)
      pass(1_000)
    }
    time.wall += 600_000
    expect(time.wall + ahead()).toBeCloseTo(time.wall - 600_000 + 200 + half, 4)
  })

  it('stays so when our own is set by days, and when it is set right again', () => {
    const { server, answer, time, ahead } = makeHarness()
    for (let n = 0; n < 3; n++) answer(200)
    time.wall += 2 * day
    expect(ahead()).toBeCloseTo(200 + half - 2 * day, 4)
    for (let n = 0; n < 40; n++) answer(200 - 2 * day)
    expect(ahead()).toBeCloseTo(200 + half - 2 * day, 4)
    time.wall -= 2 * day
    expect(server.offset()!.ahead).toBeCloseTo(200 + half, 4)
    expect(server.offset()!.doubt).toBeLessThan(10)
  })

  it('tells how far beyond its bound an answer is', () => {
    const { server, answer } = makeHarness()
    answer(-2 * day)
    expect(server.offset()!.beyond).toBeCloseTo(2 * day - 3_600_000 - half, 4)
    answer(0)
    expect(server.offset()!.beyond).toBeUndefined()
  })

  it('follows a provider whose clock was set, from its second answer on', () => {
    const { answer, pass, ahead } = makeHarness()
    for (let n = 0; n < 31; n++) {
      answer(0)
      pass(1_000)
    }
    answer(120_000)
    expect(ahead()).toBeCloseTo(half, 4)
    pass(1_000)
    answer(120_300)
    expect(ahead()).toBeGreaterThanOrEqual(120_000)
    expect(ahead()).toBeLessThanOrEqual(120_301)
  })
})
