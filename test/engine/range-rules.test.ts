import { describe, expect, it } from 'vitest'
import type { ClockOffset } from '../../src/engine/ports.ts'
import { createRangeRules } from '../../src/engine/range-rules.ts'

const second = 1_000
const now = 1_800_000_000
const limits = { reach: 7_200, span: 3_600, delay: 300 }
const clock = {
  now: () => now * second,
  monotonic: () => 0,
  sleep: () => Promise.reject(new Error('no sleep')),
}

const rulesAt = (offset: ClockOffset | undefined) => createRangeRules(limits, clock, () => offset)
const bounds = (offset: ClockOffset | undefined) => rulesAt(offset).bounds()

describe('what may be asked for', () => {
  it('goes by the provider’s clock', () => {
    const right = bounds({ ahead: 0, doubt: 0 })
    const ahead = bounds({ ahead: 90 * second, doubt: 0 })
    expect(ahead).toEqual({ after: right.after + 90, before: right.before + 90 })
  })

  it('keeps away from both bounds by what the provider’s clock may be wrong, above the second it is told to', () => {
    const right = bounds({ ahead: 0, doubt: 500 })
    expect(bounds({ ahead: 0, doubt: second })).toEqual(right)
    expect(bounds({ ahead: 0, doubt: 20.5 * second })).toEqual({
      after: right.after + 20,
      before: right.before - 20,
    })
    expect(rulesAt({ ahead: 0, doubt: 21 * second }).slack()).toBe(
      rulesAt({ ahead: 0, doubt: 0 }).slack() + 20,
    )
  })

  it('is never less for a doubtful clock than for one that is not known', () => {
    expect(bounds({ ahead: 0, doubt: 86_400 * second })).toEqual(bounds(undefined))
  })

  it('is lost only when it is so by the latest the provider’s clock can be', () => {
    expect(rulesAt({ ahead: 0, doubt: 0 }).gone(1)).toBe(now - limits.reach)
    expect(rulesAt({ ahead: 0, doubt: 31 * second }).gone(1)).toBe(now - limits.reach - 30)
  })
})
