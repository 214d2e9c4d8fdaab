import { describe, expect, it } from 'vitest'
import { drawWorld } from './plan-draw.ts'

const minute = 60_000
const hour = 60 * minute

function draw(seed: number, length: number) {
  return drawWorld({ seed, plan: 'premium', length })
}

describe('worlds that are drawn by the seed', () => {
  const worlds = Array.from({ length: 60 }, (_, seed) => draw(seed, 8 * hour))

  it('have each trouble in about half of them', () => {
    const shares = [
      ...(['missingValues', 'lateValueSeconds', 'tightHours'] as const).map(
        name => worlds.filter(({ switches }) => switches[name] !== 0).length,
      ),
      ...['empty', 'malformed', 'html', 'status'].map(
        kind =>
          worlds
            .flatMap(({ faults }) => faults)
            .flatMap(({ rules }) => rules)
            .filter(rule => rule.kind === kind).length / (kind === 'status' ? 2 : 1),
      ),
    ]
    for (const share of shares) expect(Math.abs(share - 30)).toBeLessThan(14)
  })

  it('have a project of each other plan on the credential in some, and endpoints counted apart where they are', () => {
    const others = worlds.map(({ otherPlan }) => otherPlan)
    expect(Math.abs(others.filter(Boolean).length - 30)).toBeLessThan(14)
    expect(new Set(others)).toEqual(new Set([undefined, 'starter', 'standard', 'enterprise']))
    const split = worlds.filter(({ reading }) => reading === 'split')
    expect(split.length).toBeGreaterThan(5)
    expect(split.every(({ switches }) => switches.counters === 'separate')).toBe(true)
    const said = { counters: 'shared' } as const
    const seeds = Array.from({ length: 60 }, (_, seed) => seed)
    expect(seeds.map(seed => drawWorld({ seed, plan: 'premium', length: hour, said }).reading)).not.toContain(
      'split',
    )
  })

  it('leave time to recover in, and have no faults where there is none', () => {
    for (const { from, to } of worlds.flatMap(({ faults }) => faults)) {
      expect(from).toBeGreaterThanOrEqual(hour)
      expect(to).toBeLessThanOrEqual(5.5 * hour)
    }
    expect(draw(1, hour).faults).toEqual([])
  })
})
