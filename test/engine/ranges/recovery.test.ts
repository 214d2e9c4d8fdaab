import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perDay, perSecond, type Rate } from '../../../src/provider/limits.ts'
import type { WindowSettings, WindowStream } from '../../../src/streams/stream.ts'
import { calls } from '../fake-windows.ts'
import { appOf, createHarness, fence, hour, minute, settingsOf } from '../harness.ts'

/** What is available for a week may wait for hours when it failed, what is for forty minutes may not. */
const ranges = {
  'call-search': { availableData: 7 * 86_400, timeFrame: 57_600, dataDelay: 60 },
  realtime: { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 },
}
const values: WindowStream = {
  ...calls,
  name: 'realtime-usage',
  operation: { ...calls.operation, limitGroup: 'realtime' },
}
const settings: WindowSettings = {
  series: [{ key: '', ask: {}, step: 1 }],
  every: minute,
  allowedLateness: 0,
  revisitEvery: 10 * minute,
  frame: 'needed',
}

/** Drains a search and values for `during`; answers when each group was served after that, ms after it ended. */
async function servedAfter(
  during: number,
  fails: (group: string) => boolean,
  rates: readonly Rate[] = [perSecond(100)],
): Promise<Readonly<Record<string, { readonly first: number | undefined; readonly asked: number }>>> {
  const harness = createHarness([])
  const blank = appOf('a1', [])
  const limits = Object.fromEntries(
    Object.entries(ranges).map(([group, range]) => {
      return [group, { scope: 'a1', range, rates, concurrency: 2, counted: 'ledger' }]
    }),
  ) as typeof blank.limits
  const windows = { calls: settings, 'realtime-usage': settings }
  const app = { ...blank, windows, limits: { ...blank.limits, ...limits } }
  const engine = settingsOf([app])
  let isWell = false
  const served: { readonly group: string; readonly at: number }[] = []
  const refused: string[] = []
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async (_app, { operation }) => {
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    const group = operation.limitGroup
    if (!isWell && fails(group)) {
      refused.push(group)
      return { ok: false, failure: { kind: 'bad_request', text: 'refused' }, timing }
    }
    if (isWell) served.push({ group, at: harness.clock.monotonic() })
    return { ok: true, answer: { body: { items: [] }, status: 200, answeredAt: undefined, size: 0 }, timing }
  }
  const controller = new AbortController()
  const running = new RunningApp({
    context: {
      ...{ ...harness, app, settings: engine, fence: () => fence, signal: controller.signal },
      admission: new Admission(harness, engine.deadline),
      health: createStoreHealth(harness.log, () => {}),
      onFenced: () => {},
    },
    streams: [calls, values],
    pacers: createPacers(harness),
    clockOffset: harness.transport.clockOffset.bind(null, 'analytics'),
  })
  for (let at = 0; at < during; at += minute) await harness.clock.advance(minute)
  isWell = true
  const since = harness.clock.monotonic()
  for (let n = 0; n < 30; n++) await harness.clock.advance(minute)
  controller.abort()
  await harness.clock.advance(minute)
  await running.done
  return Object.fromEntries(
    Object.keys(ranges).map(group => {
      const found = served.find(one => one.group === group)
      const asked = refused.filter(one => one === group).length
      return [group, { first: found && found.at - since, asked }]
    }),
  )
}

it('what fails in every stream of an app is asked again in all of them as soon as one is answered', async () => {
  for (const { first } of Object.values(await servedAfter(hour, () => true))) {
    expect(first).toBeLessThan(5 * minute)
  }
})

it('what alone fails is asked again within minutes of being answered', async () => {
  const { 'call-search': search } = await servedAfter(40 * minute, group => group === 'call-search')
  expect(search!.first).toBeLessThan(5 * minute)
})

it('what fails for a day costs no more than a part of what the budget allows', async () => {
  const perDayOf = async (requests: number) => {
    const found = await servedAfter(24 * hour, group => group === 'call-search', [perDay(requests)])
    return found['call-search']!.asked
  }
  expect(await perDayOf(1_000)).toBeLessThan(1_000 / 4)
  expect(await perDayOf(40)).toBeLessThan(40 / 4)
})
