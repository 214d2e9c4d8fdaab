import { describe, expect, it } from 'vitest'
import { VirtualClock } from './virtual-clock.ts'

describe('the virtual clock', () => {
  it('stands still until it is moved, and moves both of its hands alike', async () => {
    const clock = new VirtualClock(1_000)
    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0])
    await clock.advance(250)
    expect([clock.now(), clock.monotonic()]).toEqual([1_250, 250])
  })

  it('wakes sleepers in the order of their time, equal ones in the order of falling asleep', async () => {
    const clock = new VirtualClock(0)
    const woken: [string, number][] = []
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b', 10],
    ] as const) {
      void clock.sleep(ms).then(() => woken.push([name, clock.monotonic()]))
    }
    await clock.advance(100)
    expect(woken).toEqual([
      ['a', 10],
      ['b', 10],
      ['c', 30],
    ])
  })

  it('lets a woken sleeper sleep again on the way', async () => {
    const clock = new VirtualClock(0)
    const beats: number[] = []
    void (async () => {
      for (;;) {
        await clock.sleep(10)
        beats.push(clock.monotonic())
      }
    })()
    await clock.advance(35)
    expect(beats).toEqual([10, 20, 30])
    expect(clock.monotonic()).toBe(35)
  })

  it('wakes at once when the signal aborts, and forgets the sleeper', async () => {
    const clock = new VirtualClock(0)
    const controller = new AbortController()
    const slept = clock.sleep(1_000, controller.signal)
    controller.abort()
    await slept
    expect([clock.monotonic(), clock.sleeping]).toEqual([0, 0])
    await clock.sleep(1_000, controller.signal)
  })

  it('runs to the next timer, and says when there is none', async () => {
    const clock = new VirtualClock(0)
    void clock.sleep(2 ** 40)
    expect(await clock.runToNextTimer()).toBe(true)
    expect(clock.monotonic()).toBe(2 ** 40)
    expect(await clock.runToNextTimer()).toBe(false)
  })

  it('lets the wall clock jump while waits go on as before', async () => {
    const clock = new VirtualClock(0)
    clock.jump(-500)
    await clock.advance(100)
    expect([clock.now(), clock.monotonic()]).toEqual([-400, 100])
  })
})
