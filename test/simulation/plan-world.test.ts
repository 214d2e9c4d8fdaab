import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { drawWorld } from './plan-draw.ts'
import { openMinutes, type Played } from './plan-world.ts'

const minute = 60_000
const hour = 60 * minute
const plan = { rates: [], availableData: 2_400, timeFrame: 2_400, dataDelay: 40 }
const whole = { availableData: 2_400, dataDelay: 40 }

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

describe('what could be asked for', () => {
  const played = (parts: Partial<Played>, tightHours: readonly number[] = []): Played => {
    const analytics = () => ({ isTightHour: (_: string, at: number) => tightHours.includes(at / hour) })
    return {
      ...{ sandbox: { analytics } as unknown as Sandbox, switches: {}, faults: [], start: 0, end: 6 * hour },
      ...parts,
    }
  }
  const minutes = (run: Played) => openMinutes(run, 'app', 'realtimeUsage', plan)
  const window = (message?: string, operation?: string) => [
    {
      from: hour,
      to: hour + 20 * minute,
      rules: [{ kind: 'status' as const, ...(message && { message }), ...(operation && { operation }) }],
    },
  ]

  it('is nothing while answers are of no use, and all of it as soon as they are again', () => {
    const open = minutes(played({ faults: window() }))
    expect(open.map((one, n) => (one ? -1 : n)).filter(n => n >= 0)).toEqual(
      Array.from({ length: 20 }, (_, n) => 60 + n),
    )
    expect(open[59]).toEqual(whole)
    expect(minutes(played({ faults: window(undefined, 'callSearch') })).every(Boolean)).toBe(true)
  })

  it('is less until what a refusal taught is tried again: as long as it lasted, and ten minutes', () => {
    const open = minutes(played({ faults: window('query time range limit error') }))
    expect(open[80]).toEqual({ availableData: 1_200, dataDelay: 40 })
    expect([open[109], open[110]]).toEqual([{ availableData: 1_200, dataDelay: 40 }, whole])
  })

  it('is less where another operation of the same limits was refused, and of others is not', () => {
    const refused = (operation: string) => {
      return minutes(played({ faults: window('query time range limit error', operation) }))
    }
    const open = refused('realtimeQuality')
    expect([open[59], open[60], open[109], open[110]]).toEqual([
      ...[whole, { availableData: 1_200, dataDelay: 40 }],
      ...[{ availableData: 1_200, dataDelay: 40 }, whole],
    ])
    expect(refused('callSearch')).toEqual(minutes(played({})))
    // An answer that says nothing of limits is of one operation alone.
    expect(minutes(played({ faults: window(undefined, 'realtimeQuality') }))).toEqual(minutes(played({})))
  })

  it('is what an hour serves in which less is served, or nothing where it does not say so', () => {
    const tight = { availableData: 1_200, dataDelay: 80 }
    const said = minutes(played({}, [2]))
    expect([said[119], said[120], said[249], said[250]]).toEqual([whole, tight, tight, whole])
    const unsaid = minutes(played({ switches: { limitsOutsideSearch: '429' } }, [2]))
    expect([unsaid[119], unsaid[120], unsaid[194], unsaid[195]]).toEqual([whole, undefined, undefined, whole])
  })
})
