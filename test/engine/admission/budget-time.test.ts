import { describe, expect, it } from 'vitest'
import { createBudgetTime } from '../../../src/engine/admission/budget-time.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { hour, minute, second } from '../harness.ts'

const noon = Date.UTC(2026, 4, 4, 12)

function afterFirstContact() {
  const clock = new VirtualClock()
  const time = createBudgetTime(clock)
  time.observe(noon, clock.monotonic())
  const pass = (ms: number) => clock.advance(ms)
  const isBelieved = (now: number) => now >= time.clockBounds().floor && now <= time.clockBounds().ceiling
  return { clock, time, pass, isBelieved }
}

describe('the clock that budgets are counted by', () => {
  it('is believed before anything is known', () => {
    const { floor, ceiling } = createBudgetTime(new VirtualClock()).clockBounds()
    expect(floor).toBeLessThan(noon)
    expect(ceiling).toBeGreaterThan(noon + 1_000 * hour)
  })

  it('is believed while it goes as this process sees time pass', async () => {
    const { pass, isBelieved } = afterFirstContact()
    await pass(hour)
    expect([0, second, -second].map(by => isBelieved(noon + hour + by))).toEqual([true, true, true])
  })

  it('is not believed when it jumps by more than a clock may drift and a question may take', async () => {
    const { pass, isBelieved } = afterFirstContact()
    await pass(10 * second)
    const jumps = [48 * hour, second, 300, -100, -second, -hour]
    expect(jumps.map(by => isBelieved(noon + 10 * second + by))).toEqual(jumps.map(() => false))
  })

  it('goes on at the pace of the monotonic clock as long as nothing is heard', async () => {
    const { time, pass } = afterFirstContact()
    await pass(5 * hour)
    const { floor, ceiling } = time.clockBounds()
    expect(floor).toBeGreaterThan(noon + 5 * hour - 10 * second)
    expect(ceiling).toBeLessThan(noon + 5 * hour + 10 * second)
  })

  it('is known no worse after a slow answer', async () => {
    const { time, pass, clock } = afterFirstContact()
    const askedAt = clock.monotonic()
    await pass(20 * second)
    time.observe(noon + 5 * second, askedAt)
    expect(time.clockBounds().ceiling).toBeLessThan(noon + 20 * second + 300)
    expect(time.clockBounds().floor).toBeGreaterThan(noon + 20 * second - 100)
  })

  it('may drift a little, and is followed', async () => {
    const { time, pass, clock, isBelieved } = afterFirstContact()
    for (let minutes = 1; minutes <= 600; minutes++) {
      await pass(minute)
      const drifted = noon + minutes * minute * 1.0004
      expect(isBelieved(drifted)).toBe(true)
      time.observe(drifted, clock.monotonic())
    }
  })

  it('is what the ledger says where other processes have moved it on', async () => {
    const { time, pass, clock } = afterFirstContact()
    await pass(minute)
    time.observe(noon + 48 * hour, clock.monotonic())
    await pass(minute)
    expect(time.clockBounds().floor).toBeGreaterThan(noon + 48 * hour + minute - second)
  })
})
