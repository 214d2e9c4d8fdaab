import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock/system.ts'

const day = 86_400_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

function sleeper(ms: number, signal?: AbortSignal) {
  const state = { isAwake: false }
  void systemClock.sleep(ms, signal).then(() => {
    state.isAwake = true
  })
  return state
}

describe('a sleep', () => {
  it('lasts as long as it was asked for', async () => {
    const one = sleeper(5_000)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(one.isAwake).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(one.isAwake).toBe(true)
  })

  it('longer than a timer of Node can be does not end at once', async () => {
    const one = sleeper(60 * day)
    await vi.advanceTimersByTimeAsync(59 * day)
    expect(one.isAwake).toBe(false)
    await vi.advanceTimersByTimeAsync(day + 1)
    expect(one.isAwake).toBe(true)
  })

  it('ends when its signal aborts, and leaves no timer behind', async () => {
    const controller = new AbortController()
    const one = sleeper(60 * day, controller.signal)
    await vi.advanceTimersByTimeAsync(1_000)
    controller.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect(one.isAwake).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([0, -5, Number.NaN])('of %s ms ends at once', async ms => {
    const one = sleeper(ms)
    await vi.advanceTimersByTimeAsync(0)
    expect(one.isAwake).toBe(true)
  })

  it('under a signal that is aborted already does not begin', async () => {
    await systemClock.sleep(day, AbortSignal.abort())
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not notice when the wall clock jumps', async () => {
    const one = sleeper(10_000)
    vi.setSystemTime(Date.UTC(2036, 0, 1))
    await vi.advanceTimersByTimeAsync(9_999)
    expect(one.isAwake).toBe(false)
    expect(systemClock.now()).toBeGreaterThan(Date.UTC(2035, 11, 31))
  })
})

it('chance lies in [0, 1), and ids differ', () => {
  expect(systemRandom.next()).toBeLessThan(1)
  expect(systemRandom.uuid()).not.toBe(systemRandom.uuid())
})
