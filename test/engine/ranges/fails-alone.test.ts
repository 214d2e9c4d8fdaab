import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import type { Substream } from '../../../src/streams/stream.ts'
import { sessions } from '../fake-windows.ts'
import { appOf, createHarness, fence, minute, second, settingsOf } from '../harness.ts'
import { limits } from './item-harness.ts'

/** What ends what was begun goes before everything else, so that its failing could keep all places. */
const metrics: Substream = {
  ...sessions,
  name: 'call-metrics',
  part: 'completes',
  operation: { ...sessions.operation, name: 'callMetrics' },
}
const streams = [sessions, metrics]
const calls = Array.from({ length: 60 }, (_, n) => `c${n}`)

it('an operation of which each request fails is tried seldom and keeps no place from the others of its group', async () => {
  const harness = createHarness([])
  const blank = appOf('a1', [])
  const limit: GroupLimit = {
    ...{ scope: 'key', range: limits, rates: [perSecond(100)], concurrency: 2, counted: 'ledger' },
  }
  const details = Object.fromEntries(streams.map(({ name }) => [name, { every: 0, concurrency: 2 }]))
  const app = { ...blank, details, limits: { ...blank.limits, 'call-details': limit } }
  const engine = settingsOf([app])
  const now = harness.clock.now() / 1_000
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  const asked: { readonly operation: string; readonly at: number }[] = []
  harness.transport.send = async (_app, { operation }) => {
    await harness.clock.sleep(second)
    asked.push({ operation: operation.name, at: harness.clock.monotonic() })
    const timing = { receivedAt: harness.clock.now(), elapsed: second }
    if (operation.name === 'callMetrics')
      return { ok: false, failure: { kind: 'server_error', text: '' }, timing }
    return { ok: true, answer: { body: { items: [] }, answeredAt: undefined, size: 0 }, timing }
  }
  const put = (stream: string, key: string) => {
    const item = { stream, key, part: '', from: now - 3_600, to: now - 3_000, ask: null }
    harness.store.putItem(item)
  }
  for (const { name } of streams) for (const call of calls) put(name, call)
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
  await harness.clock.advance(10 * minute)
  controller.abort()
  await harness.clock.advance(minute)
  await running.done
  const of = (name: string) => asked.filter(({ operation }) => operation === name)
  expect(of('callSessions')).toHaveLength(calls.length)
  expect(of('callSessions').at(-1)!.at).toBeLessThan(3 * minute)
  expect(of('callMetrics').length).toBeLessThanOrEqual(24)
})
