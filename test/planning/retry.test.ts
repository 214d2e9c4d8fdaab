import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { askedDelay, retryDelay } from '../../src/planning/retry.ts'

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const failures = fc.integer({ min: 1, max: 1_000_000 })
const backoff = { first: 1_000, cap: 60_000 }

describe('the wait after a failure', () => {
  it('doubles from failure to failure up to its cap', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(n => retryDelay(backoff, n, 0))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ])
  })

  it('may grow by another factor', () => {
    expect([1, 2, 3].map(n => retryDelay({ ...backoff, factor: 60 }, n, 0))).toEqual([1_000, 60_000, 60_000])
  })

  it('is never shorter than the first wait nor longer than one and a half caps', () => {
    fc.assert(
      fc.property(failures, chance, (n, chance) => {
        const wait = retryDelay(backoff, n, chance)
        return wait >= 1_000 && wait <= 90_000
      }),
    )
  })

  it('is spread, so that many waiters do not come back together', () => {
    const waits = new Set([0, 0.2, 0.4, 0.6, 0.8].map(chance => retryDelay(backoff, 10, chance)))
    expect(waits.size).toBe(5)
  })

  it('is never shorter than what the provider asked for', () => {
    fc.assert(
      fc.property(failures, chance, fc.nat(3_600), (n, chance, retryAfter) => {
        const asked = retryAfter * 1_000
        return retryDelay(backoff, n, chance, retryAfter) >= asked && askedDelay(retryAfter, chance) >= asked
      }),
    )
  })
})
