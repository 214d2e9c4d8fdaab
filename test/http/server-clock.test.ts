import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/clock/clock.ts'
import { createServerClock, type ServerClockOptions } from '../../src/http/server-clock.ts'

/** Our wall clock and our monotonic clock, each set by hand. */
function rigged(options: Partial<ServerClockOptions> = {}) {
  const time = { wall: 1_000_000_000, monotonic: 500 }
  const clock: Clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    sleep: () => Promise.reject(new Error('nobody sleeps here')),
  }
  const server = createServerClock({ clock, ...options })
  /** An answer of a provider whose clock is `ahead` ms ahead of ours. */
  const answer = (ahead: number) => server.observe(time.wall + ahead, time.monotonic)
  const pass = (ms: number) => {
    time.wall += ms
    time.monotonic += ms
  }
  return { time, server, answer, pass }
}

describe('the estimate of a provider clock', () => {
  it('is unknown before the first answer', () => {
    expect(rigged().server.offset()).toBeUndefined()
  })

  it('is the median, so one wild answer moves nothing', () => {
    const { server, answer } = rigged()
    for (const ahead of [100, 110, 90, 86_400_000, 105]) answer(ahead)
    expect(server.offset()).toBe(105)
  })

  it('lies between the two middle answers of an even number', () => {
    const { server, answer } = rigged()
    for (const ahead of [10, 20, 40, 50]) answer(ahead)
    expect(server.offset()).toBe(30)
  })

  it('forgets all but the latest answers', () => {
    const { server, answer } = rigged({ samples: 3 })
    for (const ahead of [900, 900, 900, 20, 20]) answer(ahead)
    expect(server.offset()).toBe(20)
  })

  it('is never believed beyond its bound', () => {
    const { server, answer } = rigged({ bound: 60_000 })
    answer(-172_800_000)
    expect(server.offset()).toBe(-60_000)
  })

  it('stays the provider’s time when our own wall clock is set', () => {
    const { server, answer, pass, time } = rigged()
    for (let n = 0; n < 10; n++) {
      answer(200)
      pass(1_000)
    }
    time.wall += 600_000
    expect(time.wall + server.offset()!).toBe(time.wall - 600_000 + 200)
  })

  it('follows a provider whose clock was set, from its second answer on', () => {
    const { server, answer, pass } = rigged()
    for (let n = 0; n < 31; n++) {
      answer(0)
      pass(1_000)
    }
    answer(120_000)
    expect(server.offset()).toBe(0)
    pass(1_000)
    answer(120_300)
    expect(server.offset()).toBe(120_150)
  })
})
