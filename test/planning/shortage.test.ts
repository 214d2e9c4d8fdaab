import { describe, expect, it } from 'vitest'
import { shortfall } from '../../src/planning/shortage.ts'

const hour = 3_600
const now = 1_000_000
/** Sixty requests an hour. */
const capacity = 60 / hour
const waiting = (requests: number, hours: number) => ({ expiresAt: now + hours * hour, requests })

describe('what cannot be had of the details of calls', () => {
  it('is nothing where what expires first can go first', () => {
    expect(shortfall({ inflow: capacity, capacity, owed: [] }, now)).toBe(0)
    expect(shortfall({ inflow: 0, capacity, owed: [waiting(60, 1), waiting(60, 2)] }, now)).toBe(0)
  })

  it('is the share by which more comes than goes', () => {
    expect(shortfall({ inflow: 1.25 * capacity, capacity, owed: [] }, now)).toBeCloseTo(0.2)
  })

  it('is what waits behind others until it expires, though there is time for all later', () => {
    expect(shortfall({ inflow: 0, capacity, owed: [waiting(121, 1), waiting(79, 100)] }, now)).toBeCloseTo(
      0.3,
    )
    expect(shortfall({ inflow: 0, capacity, owed: [waiting(11, -1)] }, now)).toBeGreaterThan(0.9)
  })
})
