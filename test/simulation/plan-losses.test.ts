import { expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/src/index.ts'
import type { VirtualDatabase } from './database.ts'
import { unavoidableLosses } from './plan-losses.ts'
import type { Examination } from './plan-oracle.ts'

const hour = 3_600
const day = 24 * hour

/** Six hours that begin at 0, with one loss. Times in seconds. */
function lost(
  loss: { readonly stream: string; readonly from: number; readonly to: number },
  {
    tightHours = [],
    said = '300',
  }: { readonly tightHours?: readonly number[]; readonly said?: '300' | '429' },
) {
  const analytics = () => ({
    isTightHour: (_: string, at: number) => tightHours.includes(at / 1_000 / hour),
  })
  const sandbox = { analytics, settings: { switches: { limitsOutsideSearch: said } } }
  const rows = async () => [{ what: `${loss.stream} expired lost`, app: 'app', ...loss }]
  return unavoidableLosses({
    ...{ sandbox: sandbox as unknown as Sandbox, database: { rows } as unknown as VirtualDatabase },
    ...{ faults: [], start: 0, end: 6 * hour * 1_000 },
    plans: { app: 'standard' },
  } as unknown as Examination)
}

it('what leaves the reach while less is served could not be had, and nothing else', async () => {
  const item = { stream: 'call-sessions', from: 0.5 * hour - day, to: hour - day }
  const unavoidable = { 'call-sessions expired lost': 1 }
  expect(await lost(item, {})).toEqual({})
  expect(await lost(item, { tightHours: [0] })).toEqual(unavoidable)
  expect(await lost(item, { tightHours: [0], said: '429' })).toEqual(unavoidable)
  expect(await lost(item, { tightHours: [1] })).toEqual({})
  // Half an hour between what refusals taught and the end is enough.
  expect(await lost({ ...item, from: 3 * hour - day, to: 3.2 * hour - day }, { tightHours: [0] })).toEqual({})
})

it('a range of calls is avoidable when any part of it is', async () => {
  const edge = { stream: 'calls', from: -3 * day, to: 1.5 * hour - 3 * day }
  const unavoidable = { 'calls expired lost': 1 }
  expect(await lost(edge, { tightHours: [0] })).toEqual(unavoidable)
  // A search says that its range is refused, whatever other operations say.
  expect(await lost(edge, { tightHours: [0], said: '429' })).toEqual(unavoidable)
  expect(await lost(edge, {})).toEqual({})
  expect(await lost({ ...edge, to: 3 * hour - 3 * day }, { tightHours: [0] })).toEqual({})
})
