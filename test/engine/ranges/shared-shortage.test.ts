import { expect, it } from 'vitest'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { createShortage } from '../../../src/engine/ranges/shortage.ts'
import { perDay } from '../../../src/provider/limits.ts'
import { appOf, createHarness, minute } from '../harness.ts'

/** Apps with so many calls a day each, of two requests, which share a thousand requests; answers what each is said to lose. */
async function expectedOf(calls: Readonly<Record<string, number>>) {
  const harness = createHarness([])
  const pacers = createPacers(harness)
  const limit = { scope: 'key', rates: [perDay(1_000)], concurrency: 4, counted: 'ledger' } as const
  const told = new Map<string, number>()
  const meter = {
    ...harness.meter,
    lossAhead: (app: string, _group: string, share: number) => void told.set(app, share),
  }
  const apps = Object.entries(calls).map(([id, count]) => {
    const pacer = pacers.of(id, 'call-details', limit, 0)
    const store = { substreamDemand: async () => ({ calls: count, cost: undefined, backlog: [] }) }
    return createShortage({
      context: { ...harness, app: appOf(id, []), meter, store: { ...harness.store, ...store } as never },
      ...{ group: 'call-details', parts: ['begins', 'completes'], availableData: 86_400 },
      ...{ capacity: pacer.share, now: () => harness.clock.now() / 1_000 },
    })
  })
  for (let look = 0; look < 2; look++) {
    for (const shortage of apps) await shortage.look()
    await harness.clock.advance(6 * minute)
  }
  return told
}

it('an app beside others that have no calls has what they leave of the budget they share', async () => {
  const told = await expectedOf({ busy: 400, quiet: 0, test: 10 })
  expect([...told]).toEqual([
    ['busy', 0],
    ['quiet', 0],
    ['test', 0],
  ])
})

it('what none of several apps leaves is lost to each that asks for more than its part', async () => {
  const told = await expectedOf({ one: 400, other: 400, small: 50 })
  expect(told.get('one')).toBeGreaterThan(0.4)
  expect(told.get('other')).toBeGreaterThan(0.4)
  expect(told.get('small')).toBe(0)
})
