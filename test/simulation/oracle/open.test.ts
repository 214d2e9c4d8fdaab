import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../sandbox/src/index.ts'
import { openMinutes, type Played } from './open.ts'

const minute = 60_000
const hour = 60 * minute
const plan = { availableData: 2_400, dataDelay: 40 }
const whole = { availableData: 2_400, dataDelay: 40 }

describe('what could be asked for', () => {
  const played = (parts: Partial<Played>, tightHours: readonly number[] = [], said = '300'): Played => {
    const analytics = () => ({ isTightHour: (_: string, at: number) => tightHours.includes(at / hour) })
    const sandbox = { analytics, settings: { switches: { limitsOutsideSearch: said } } }
    return { ...{ sandbox: sandbox as unknown as Sandbox, faults: [], start: 0, end: 6 * hour }, ...parts }
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
    const unsaid = minutes(played({}, [2], '429'))
    expect([unsaid[119], unsaid[120], unsaid[194], unsaid[195]]).toEqual([whole, undefined, undefined, whole])
  })
})
