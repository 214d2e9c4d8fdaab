import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import type { WindowSettings, WindowStream } from '../../../src/streams/stream.ts'
import { calls } from '../fake-windows.ts'
import { appOf, createHarness, fence, minute, settingsOf } from '../harness.ts'

/** Two endpoints of one table of limits, each with a counter of its own. */
const endpoints: readonly WindowStream[] = ['realtime-usage', 'realtime-quality'].map(name => ({
  ...calls,
  name,
  operation: { ...calls.operation, limitGroup: name },
}))
const range = { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 }
const settings: WindowSettings = {
  series: [{ key: '', ask: {}, step: 1 }],
  every: minute,
  allowedLateness: 0,
  revisitEvery: 10 * minute,
  frame: 'needed',
}

/** Refusals within two minutes by a provider that serves half of what is documented, of each of the streams. */
async function refusals(streams: readonly WindowStream[]): Promise<readonly number[]> {
  const harness = createHarness([])
  const blank = appOf('a1', [])
  const limit = { scope: 'a1', range, rates: [perSecond(100)], concurrency: 1, counted: 'ledger' } as const
  const limits = Object.fromEntries(streams.map(({ name }) => [name, limit]))
  const windows = Object.fromEntries(streams.map(({ name }) => [name, settings]))
  const app = { ...blank, windows, limits: { ...blank.limits, ...limits } }
  const engine = settingsOf([app])
  const refused = new Map(streams.map(({ name }) => [name, 0]))
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async (_app, { operation, target }) => {
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    const start = Number(new URL(target, 'http://provider').searchParams.get('start_ts'))
    if (start <= harness.clock.now() / 1_000 - range.availableData / 2) {
      refused.set(operation.limitGroup, refused.get(operation.limitGroup)! + 1)
      return { ok: false, failure: { kind: 'time_range_limit', text: 'too far back' }, timing }
    }
    return { ok: true, answer: { body: { items: [] }, answeredAt: undefined, size: 0 }, timing }
  }
  const controller = new AbortController()
  const running = new RunningApp({
    context: {
      ...{ ...harness, app, settings: engine, fence: () => fence, signal: controller.signal },
      admission: new Admission(harness, engine.deadline),
      health: createStoreHealth(harness, () => {}),
      onFenced: () => {},
    },
    streams,
    pacers: createPacers(harness),
    clockOffset: harness.transport.clockOffset.bind(null, 'analytics'),
  })
  await harness.clock.advance(2 * minute)
  controller.abort()
  await harness.clock.advance(minute)
  await running.done
  return [...refused.values()]
}

it('what one endpoint was refused for its range, the other of its table does not ask', async () => {
  const [alone] = await refusals(endpoints.slice(0, 1))
  expect(alone).toBeGreaterThan(3)
  const both = await refusals(endpoints)
  expect(both[0]! + both[1]!).toBeLessThan(1.5 * alone!)
})
