import { describe, expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import type { Meter } from '../../../src/engine/ports.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perDay, perSecond } from '../../../src/provider/limits.ts'
import { callMetrics } from '../../../src/streams/call-metrics.ts'
import { callSessions } from '../../../src/streams/call-sessions.ts'
import { DayLedger } from '../day-ledger.ts'
import { appOf, createHarness, fence, hour, minute, second, settingsOf } from '../harness.ts'

const day = 24 * hour
/** The plan standard; a call of twelve users costs two requests, so that 500 calls a day can be measured. */
const limits = { availableData: 86_400, timeFrame: 3_600, dataDelay: 300 }
const measurable = 500
const callSeconds = 1_800

/** Two days of calls at `load` times what can be measured, those of `backlog` hours before waiting at the start. */
async function drained(load: number, backlog: number) {
  const harness = createHarness([])
  const ledger = new DayLedger(harness.clock)
  const blank = appOf('a1', [])
  const rates = [perSecond(1), perDay(1_000)]
  const group = { scope: 'a1', range: limits, rates, concurrency: 4, counted: 'ledger' } as const
  const details = {
    'call-sessions': { every: 0, concurrency: 4 },
    'call-metrics': { every: 0, concurrency: 4 },
  }
  const app = { ...blank, details, limits: { ...blank.limits, 'call-details': group } }
  const settings = settingsOf([app])
  /** Ages of calls in seconds, when they were measured: on the first day, and on the second. */
  const ages: [number[], number[]] = [[], []]
  const asked = [0, 0]
  const began = harness.clock.now()
  const ended = new Map<string, number>()
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async (_app, { target, operation }) => {
    const call = new URL(target, 'http://provider').searchParams.get('call_id')!
    const today = harness.clock.now() < began + day ? 0 : 1
    asked[today]! += 1
    if (operation.name === 'callMetrics') ages[today]!.push(harness.clock.now() / 1_000 - ended.get(call)!)
    const sessions = Array.from({ length: 12 }, (_, n) => ({ sid: `${call}-${n}`, uid: n }))
    const body = operation.name === 'callMetrics' ? { metrics: [] } : { call_info: sessions }
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    return {
      ok: true,
      answer: { body: { code: 200, ...body }, answeredAt: undefined, size: 0 },
      timing,
    }
  }
  /** What was told of losses before anything was lost, and at the end. */
  const told: number[] = []
  const meter: Meter = {
    ...harness.meter,
    lossAhead: (_app, _group, share) => {
      told.push(share)
    },
  }
  const controller = new AbortController()
  const context = {
    ...{ ...harness, meter, ledger, app, settings, fence: () => fence, signal: controller.signal },
    admission: new Admission({ ...harness, ledger }, settings.deadline),
    health: createStoreHealth(harness, () => {}),
    onFenced: () => {},
  }
  const every = day / (measurable * load)
  let next = began - backlog * hour
  const list = () => {
    for (; next + callSeconds * second <= harness.clock.now(); next += every) {
      const from = Math.floor(next / second)
      const key = `call ${from}`
      ended.set(key, from + callSeconds)
      harness.store.putItem({
        ...{ stream: 'call-sessions', key, part: String(from), from, to: from + callSeconds, ask: null },
      })
    }
  }
  list()
  const running = new RunningApp({
    context,
    streams: [callSessions, callMetrics],
    pacers: createPacers({ ...harness, ledger }),
    clockOffset: harness.transport.clockOffset.bind(null, 'analytics'),
  })
  for (let n = 0; n < (2 * day) / (5 * minute); n++) {
    await harness.clock.advance(5 * minute)
    list()
    running.wake()
  }
  controller.abort()
  await harness.clock.advance(minute)
  const median = ages[1].toSorted((a, b) => a - b)[Math.floor(ages[1].length / 2)]!
  const lost = new Set(harness.store.gaps.map(({ series }) => series)).size
  return { median, measured: ages.map(each => each.length), asked, lost, said: harness.said, ages, told }
}

describe('call details', () => {
  it('at 1.2 times what can be measured: of the newest calls most, and no request in vain', async () => {
    const { median, measured, asked, said, told } = await drained(1.2, 24)
    expect(median).toBeLessThan(3_600)
    expect(measured[1]! / (1.2 * measurable)).toBeGreaterThan(1 / 1.2 - 0.01)
    expect(asked[1]! - 2 * measured[1]!).toBeLessThan(5)
    expect(said.filter(text => text.includes('more calls')).length).toBeGreaterThan(0)
    // A sixth is more than there is room for.
    expect(told[0]).toBeGreaterThan(0)
    expect(Math.abs(told.at(-1)! - 1 / 6)).toBeLessThan(0.03)
  })

  it.each([0.5, 0.9])('at %s of it lose nothing, though a day of them waits at the start', async load => {
    const { lost, said, told } = await drained(load, 23.4)
    expect(lost).toBe(0)
    expect(said.filter(text => text.includes('more calls'))).toEqual([])
    expect(new Set(told)).toEqual(new Set([0]))
  })
})
