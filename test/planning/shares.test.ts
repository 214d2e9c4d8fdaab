import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  chooseRequest,
  newTally,
  type Purpose,
  shortfall,
  type Tally,
  type Work,
} from '../../src/planning/shares.ts'

const purposes: readonly Purpose[] = ['live', 'repair', 'revisit', 'backfill']
const now = 1_000_000
const later = (purpose: Purpose, expiresAt = now + 86_400): Work => ({ purpose, expiresAt })
const purpose = fc.constantFrom(...purposes)
const work = fc.tuple(purpose, fc.nat(100_000)).map(([p, after]): Work => later(p, now + after))

/** Chooses `rounds` times among the work that each round has, and counts. */
function rounds(
  count: number,
  workOf: (round: number) => readonly Purpose[],
  start: Tally = newTally,
): { readonly given: Record<Purpose, number>; readonly tally: Tally } {
  const given = { live: 0, repair: 0, revisit: 0, backfill: 0 }
  let tally = start
  for (let i = 0; i < count; i++) {
    const choice = chooseRequest(
      workOf(i).map(p => later(p)),
      { tally, now, soon: 60 },
    )
    if (!choice) continue
    tally = choice.tally
    given[choice.request.purpose] += 1
  }
  return { given, tally }
}

describe('while every purpose has work', () => {
  it('each gets its share', () => {
    expect(rounds(1_000, () => purposes).given).toEqual({
      live: 600,
      repair: 100,
      revisit: 100,
      backfill: 200,
    })
  })

  it('new data go first', () => {
    expect(rounds(1, () => purposes.toReversed()).given).toMatchObject({ live: 1 })
  })
})

describe('what a purpose does not use', () => {
  it('flows to the others by their shares', () => {
    expect(rounds(800, () => ['live', 'backfill']).given).toEqual({
      live: 600,
      repair: 0,
      revisit: 0,
      backfill: 200,
    })
    expect(rounds(100, () => ['backfill']).given).toMatchObject({ backfill: 100 })
    expect(rounds(0, () => []).given).toMatchObject({ live: 0 })
    expect(chooseRequest([], { tally: newTally, now, soon: 60 })).toBeUndefined()
  })

  it('of what expires at the same time is what nobody has asked for longest', () => {
    const alike = { purpose: 'live', expiresAt: now + 10 } as const
    const requests = [
      { ...alike, askedAt: 5 },
      { ...alike, askedAt: 2 },
      { ...alike, askedAt: 9 },
    ]
    expect(chooseRequest(requests, { tally: newTally, now, soon: 60 })?.request.askedAt).toBe(2)
    expect(chooseRequest([requests[0]!, alike], { tally: newTally, now, soon: 60 })?.request).toBe(alike)
  })

  it('is not saved up: after a long time of new data alone a backfill gets its share and no more', () => {
    const { tally } = rounds(10_000, () => ['live'])
    const { live, backfill } = rounds(80, () => ['live', 'backfill'], tally).given
    expect(live).toBeGreaterThanOrEqual(59)
    expect(backfill).toBeGreaterThanOrEqual(19)
  })

  it('is no debt either: after a long backfill new data get their share and no more', () => {
    const { tally } = rounds(10_000, () => ['backfill'])
    const { live, backfill } = rounds(80, () => ['live', 'backfill'], tally).given
    expect(live).toBeGreaterThanOrEqual(59)
    expect(backfill).toBeGreaterThanOrEqual(18)
  })
})

describe('what expires', () => {
  it('within a purpose the first to expire goes first', () => {
    const jobs = [later('backfill', now + 900), later('backfill', now + 700), later('backfill', now + 800)]
    expect(chooseRequest(jobs, { tally: newTally, now, soon: 60 })?.request).toBe(jobs[1])
  })

  it('soon goes before everything else, and costs its purpose nothing', () => {
    const jobs = [later('live'), later('backfill', now + 60), later('revisit', now + 59)]
    const choice = chooseRequest(jobs, { tally: newTally, now, soon: 60 })
    expect(choice?.request).toBe(jobs[2])
    expect(choice?.tally).toEqual(newTally)
    expect(
      chooseRequest([later('live'), later('backfill', now + 61)], { tally: newTally, now, soon: 60 })
        ?.request,
    ).toEqual(later('live'))
  })

  it('is always one of what there is, and nothing of its purpose expires earlier', () => {
    fc.assert(
      fc.property(fc.array(work, { minLength: 1 }), fc.nat(3_600), (jobs, soon) => {
        const { request: job } = chooseRequest(jobs, { tally: newTally, now, soon })!
        expect(jobs).toContain(job)
        const rivals = jobs.filter(each => each.purpose === job.purpose || each.expiresAt <= now + soon)
        expect(Math.min(...rivals.map(each => each.expiresAt))).toBe(job.expiresAt)
      }),
    )
  })
})

it('no purpose with work waits for more than its share of turns, whatever comes and goes', () => {
  const shares = { live: 60, repair: 10, revisit: 10, backfill: 20 }
  const presence = fc.array(fc.subarray([...purposes]), { minLength: 50, maxLength: 200 })
  fc.assert(
    fc.property(purpose, presence, (one, others) => {
      let waited = 0
      let tally = newTally
      for (const there of others) {
        const jobs = [...new Set([one, ...there])].map(p => later(p))
        const choice = chooseRequest(jobs, { tally, now, soon: 60 })!
        tally = choice.tally
        waited = choice.request.purpose === one ? 0 : waited + 1
        // Others of a share of 100 in all pass by before a turn of one is over, each of them once more at most.
        expect(waited).toBeLessThanOrEqual(100 / shares[one] + purposes.length)
      }
    }),
  )
})

const hour = 3_600
/** Sixty requests an hour. */
const capacity = 60 / hour
const waiting = (requests: number, hours: number) => ({ expiresAt: now + hours * hour, requests })

describe('what cannot be had of the details of calls', () => {
  it('is nothing where what expires first can go first', () => {
    expect(shortfall({ inflow: capacity, capacity, backlog: [] }, now)).toBe(0)
    expect(shortfall({ inflow: 0, capacity, backlog: [waiting(60, 1), waiting(60, 2)] }, now)).toBe(0)
  })

  it('is the share by which more comes than goes', () => {
    expect(shortfall({ inflow: 1.25 * capacity, capacity, backlog: [] }, now)).toBeCloseTo(0.2)
  })

  it('is what waits behind others until it expires, though there is time for all later', () => {
    expect(shortfall({ inflow: 0, capacity, backlog: [waiting(121, 1), waiting(79, 100)] }, now)).toBeCloseTo(
      0.3,
    )
    expect(shortfall({ inflow: 0, capacity, backlog: [waiting(11, -1)] }, now)).toBeGreaterThan(0.9)
  })
})
