import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { ItemSource } from '../../../src/engine/ranges/item-source.ts'
import { createRangeRules } from '../../../src/engine/ranges/range-rules.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { callMetrics } from '../../../src/streams/call-metrics.ts'
import { appOf, createHarness, enough, fence, second, settingsOf } from '../harness.ts'

const range = { availableData: 86_400, timeFrame: 3_600, dataDelay: 300 }

/** A worklist of metrics whose provider answers `each` of its cap for a session; tells how many each question held. */
function makeHarness() {
  const harness = createHarness([])
  const blank = appOf('a1', [])
  const group = { scope: 'a1', rates: [perSecond(100)], concurrency: 1, counted: 'ledger', range } as const
  const app = { ...blank, limits: { ...blank.limits, 'call-details': group } }
  const settings = settingsOf([app])
  const each = { now: 0 }
  const asked: number[] = []
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async (_app, { target }) => {
    const count = new URL(target, 'http://provider').searchParams.get('sids')!.split(',').length
    asked.push(count)
    const fill = count * each.now
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    if (fill > 1) return { ok: false, failure: { kind: 'too_large', text: '' }, timing }
    const body = { code: 200, metrics: [] }
    return { ok: true, answer: { body, answeredAt: undefined, size: 0, fill }, timing }
  }
  const context = {
    ...harness,
    ...{ app, settings, fence: () => fence, signal: new AbortController().signal },
    admission: new Admission(harness, settings.deadline),
    health: createStoreHealth(harness, () => {}),
    ...{ onFenced: () => {}, onRooms: () => {}, onWork: () => {}, onRecovered: () => {} },
  }
  const rules = createRangeRules(range, harness.clock, harness.transport.clockOffset.bind(null, 'analytics'))
  const source = new ItemSource({
    context,
    rules,
    ...{
      stream: callMetrics,
      availableData: range.availableData,
      answered: { count: 0 },
      settings: { every: 0, concurrency: 1 },
      shortage: enough,
    },
  })
  let calls = 0
  /** Fetches twenty sessions of a call more; answers how many sids the questions held. */
  const fetchCall = async () => {
    const from = harness.clock.now() / 1_000 - 7_200
    const sids = Array.from({ length: 20 }, (_, n) => `S${n}`)
    const part = { part: '', from, to: from + 600, ask: { sids } }
    harness.store.putItem({ stream: 'call-metrics', key: `call ${++calls}`, ...part })
    asked.length = 0
    for (;;) {
      const { requests: jobs } = await source.find()
      const [job] = jobs
      if (!job) return [...asked]
      const run = job.run()
      await harness.clock.advance(second)
      await run
    }
  }
  return { each, fetchCall }
}

it('a question holds as many sids as fit by what the last answers weighed, and never fewer', async () => {
  const { each, fetchCall } = makeHarness()
  each.now = 1 / 10
  expect(await fetchCall()).toEqual([20, 10, 10])
  for (let i = 0; i < 10; i++) expect(await fetchCall()).toEqual([10, 10])
  each.now = 1 / 20
  expect(await fetchCall()).toEqual([10, 10])
  expect(await fetchCall()).toEqual([20])
})

it('sids that weigh little are asked for all at once, heavy ones beside them or not', async () => {
  const { each, fetchCall } = makeHarness()
  each.now = 1 / 100
  for (let i = 0; i < 3; i++) expect(await fetchCall()).toEqual([20])
  each.now = 1 / 7
  expect((await fetchCall())[0]).toBe(20)
  each.now = 1 / 100
  expect(await fetchCall()).toEqual([20])
})

it('one that weighs nearly an answer by itself is asked for alone', async () => {
  const { each, fetchCall } = makeHarness()
  each.now = 0.9
  await fetchCall()
  expect(await fetchCall()).toEqual(Array.from({ length: 20 }, () => 1))
})
