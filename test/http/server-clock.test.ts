import { describe, expect, it } from 'vitest'
import { createServerClock } from '../../src/http/server-clock.ts'

describe('the estimate of a provider clock', () => {
  it('is unknown before the first answer', () => {
    expect(createServerClock().offset()).toBeUndefined()
  })

  it('is the median, so one wild answer moves nothing', () => {
    const clock = createServerClock()
    for (const offset of [100, 110, 90, 86_400_000, 105]) clock.observe(1_000_000 + offset, 1_000_000)
    expect(clock.offset()).toBe(105)
  })

  it('lies between the two middle answers of an even number', () => {
    const clock = createServerClock()
    for (const offset of [10, 20, 40, 50]) clock.observe(offset, 0)
    expect(clock.offset()).toBe(30)
  })

  it('forgets all but the latest answers', () => {
    const clock = createServerClock({ samples: 3 })
    for (const offset of [5_000, 5_000, 5_000, 20, 20]) clock.observe(offset, 0)
    expect(clock.offset()).toBe(20)
  })

  it('is never believed beyond its bound', () => {
    const clock = createServerClock({ bound: 60_000 })
    clock.observe(0, 172_800_000)
    expect(clock.offset()).toBe(-60_000)
  })
})
