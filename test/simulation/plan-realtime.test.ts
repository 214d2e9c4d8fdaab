import { expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Plan } from '../../src/provider/limits.ts'
import type { VirtualDatabase } from './database.ts'
import type { Examination } from './plan-oracle.ts'
import { lostInVain } from './plan-realtime.ts'

const hour = 3_600

/** Six hours that begin at 0, of which 20 seconds at the half of the third are lost to one of the apps. */
function lost(plans: Readonly<Record<string, Plan>>, tightHours: readonly number[]) {
  const analytics = () => ({
    isTightHour: (_: string, at: number) => tightHours.includes(at / 1_000 / hour),
    servedFrom: (_: string, at: number) => at + 20,
  })
  const from = 2.5 * hour
  const rows = async () => [{ key: 'a realtime-usage Native/userCount', from, to: from + 20, state: 'lost' }]
  return lostInVain({
    ...{
      sandbox: { analytics, settings: { switches: {} } } as unknown as Sandbox,
      database: { rows } as unknown as VirtualDatabase,
    },
    ...{ switches: {}, faults: [], start: 0, end: 6 * hour * 1_000, plans, reading: 'split' },
    realtimeSeries: { 'realtime-usage': 2 * Object.keys(plans).length },
  } as unknown as Examination)
}

it('what could be had for longer than a round of all questions takes was lost in vain', async () => {
  const inVain = { 'a realtime-usage Native/userCount': 1 }
  expect(await lost({ a: 'premium', b: 'enterprise' }, [])).toEqual(inVain)
  expect(await lost({ a: 'enterprise' }, [])).toEqual(inVain)
  // Where little may be asked, it takes longer to find out what an hour serves than it is had.
  expect(await lost({ a: 'premium', b: 'enterprise' }, [2])).toEqual({})
  expect(await lost({ a: 'enterprise' }, [2])).toEqual(inVain)
})
