import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perDay, perMinute } from '../../../src/provider/limits.ts'
import type { WindowSettings, WindowStream } from '../../../src/streams/stream.ts'
import { DayLedger } from '../day-ledger.ts'
import { FakeStore } from '../fake-store.ts'
import { calls } from '../fake-windows.ts'
import { appOf, createHarness, fence, hour, minute, settingsOf } from '../harness.ts'

const range = { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 }
const values: WindowStream = {
  ...calls,
  name: 'realtime-usage',
  operation: { ...calls.operation, limitGroup: 'realtime' },
  request: (app, { key }, { start, end }, page) => {
    return { appid: app, start_ts: start, end_ts: end, cname: key, page_no: page, page_size: 3 }
  },
}

/** Apps with so many series each, which share one credential; answers what each of them lost. */
async function drain(series: Readonly<Record<string, number>>, requests: number, ms: number) {
  const harness = createHarness([])
  const { clock } = harness
  const ledger = new DayLedger(clock)
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async () => {
    const timing = { receivedAt: clock.now(), elapsed: 0 }
    return { ok: true, answer: { body: { items: [] }, answeredAt: undefined, size: 0 }, timing }
  }
  const admission = new Admission({ ...harness, ledger }, 30_000)
  const pacers = createPacers({ ...harness, ledger })
  const controller = new AbortController()
  const stores: FakeStore[] = []
  const running = Object.entries(series).map(([id, count]) => {
    const blank = appOf(id, [])
    const limit = { scope: 'key', range, rates: [perMinute(3), perDay(requests)], concurrency: 2 } as const
    const windows: WindowSettings = {
      ...{ every: 5 * minute, allowedLateness: 0, frame: 'full' },
      series: Array.from({ length: count }, (_, n) => ({ key: `s${n}`, ask: {}, step: 20 })),
    }
    const app = {
      ...blank,
      windows: { 'realtime-usage': windows },
      limits: { ...blank.limits, realtime: { ...limit, counted: 'ledger' } },
    } as typeof blank
    const store = new FakeStore([])
    stores.push(store)
    return new RunningApp({
      context: {
        ...{ ...harness, store, app, settings: settingsOf([app]), fence: () => fence },
        ...{ signal: controller.signal, admission, onFenced: () => {} },
        health: createStoreHealth(harness, () => {}),
      },
      streams: [values],
      pacers,
      clockOffset: harness.transport.clockOffset.bind(null, 'analytics'),
    })
  })
  for (let at = 0; at < ms; at += minute) await clock.advance(minute)
  controller.abort()
  await clock.advance(minute)
  await Promise.all(running.map(({ done }) => done))
  return { gaps: stores.map(store => store.gaps.length) }
}

it.each([
  { few: 1, many: 10 },
  { few: 3, many: 8 },
  { few: 5, many: 6 },
])('apps of %o series lose nothing where the budget has room for all of them', async series => {
  // Each series must be asked once in forty minutes.
  const { gaps } = await drain(series, 480, 12 * hour)
  expect(gaps).toEqual([0, 0])
})

it('an app that asks for more than there is takes nothing from one that needs little', async () => {
  const { gaps } = await drain({ few: 1, many: 40 }, 480, 12 * hour)
  expect(gaps[0]).toBe(0)
  expect(gaps[1]).toBeGreaterThan(100)
})
