import { describe, expect, it } from 'vitest'
import { createCommonMoments } from '../../src/engine/waiting.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { minute, second } from './harness.ts'
import { startEngine } from './start-engine.ts'

describe('who pauses for long wakes with others', () => {
  const moments = () => {
    const clock = new VirtualClock()
    return { clock, ...createCommonMoments(clock) }
  }

  it('up to half of its pause before it would have, and never after', async () => {
    const { clock, join } = moments()
    expect(join(30_000)).toBe(30_000)
    await clock.advance(15_000)
    expect(join(30_000)).toBe(15_000)
    await clock.advance(1_000)
    expect(join(30_000)).toBe(30_000)
    expect(join(29_999)).toBe(29_999)
  })

  it('that come last before it, where there are several', async () => {
    const { clock, join } = moments()
    join(10_000)
    await clock.advance(6_000)
    join(10_000)
    expect(join(12_000)).toBe(10_000)
    expect(join(8_000)).toBe(4_000)
  })

  it('as long as they are not too many for one moment', async () => {
    const { clock, join } = moments()
    for (let n = 0; n < 32; n += 1) expect(join(10_000)).toBe(10_000)
    await clock.advance(1_000)
    expect(join(10_000)).toBe(10_000)
    expect(join(10_000)).toBe(10_000)
  })

  it('and not with those who are awake by then', async () => {
    const { clock, join } = moments()
    join(1_000)
    await clock.advance(1_000)
    expect(join(1_200)).toBe(1_200)
  })
})

it('feeds of apps in which nothing happens are asked at one time, however far apart they began', async () => {
  const { clock, engine, settings, transport, stop } = startEngine(['a1'], { idleEvery: 40 * second })
  await clock.advance(33 * second)
  const [first] = settings.apps
  // In a region of its own, so that the store, which knows of no apps, tells the two feeds apart.
  await engine.configure([first!, { ...first!, id: 'a2', regions: [{ name: 'eu', limits: {} }] }], [])
  await clock.advance(5 * minute + second)
  const from = clock.monotonic()
  await clock.advance(4 * minute)
  const timesOf = (id: string) =>
    transport.of('appEvents').flatMap(({ app, at }) => (app === id && at >= from ? [at] : []))
  expect(timesOf('a1')).toHaveLength(6)
  expect(timesOf('a2')).toEqual(timesOf('a1'))
  await stop()
})
