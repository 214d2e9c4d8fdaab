import { expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import type { WindowSettings, WindowStream } from '../../../src/streams/stream.ts'
import { calls } from '../fake-windows.ts'
import { appOf, createRig, fence, hour, minute, settingsOf } from '../rig.ts'

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

it('what fails in every stream of an app is asked again in all of them as soon as one is answered', async () => {
  const rig = createRig([])
  const blank = appOf('a1', [])
  const limits = Object.fromEntries(
    Object.entries(ranges).map(([group, range]) => {
      return [group, { scope: 'a1', range, rates: [perSecond(100)], concurrency: 2, counted: 'ledger' }]
    }),
  ) as typeof blank.limits
  const windows = { calls: settings, 'realtime-usage': settings }
  const app = { ...blank, windows, limits: { ...blank.limits, ...limits } }
  const engine = settingsOf([app])
  let isWell = false
  const served: { readonly group: string; readonly at: number }[] = []
  rig.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  rig.transport.send = async (_app, { operation }) => {
    const timing = { receivedAt: rig.clock.now(), elapsed: 0 }
    if (!isWell) return { ok: false, failure: { kind: 'bad_request', text: 'refused' }, timing }
    served.push({ group: operation.limitGroup, at: rig.clock.monotonic() })
    return { ok: true, answer: { body: { items: [] }, status: 200, answeredAt: undefined, size: 0 }, timing }
  }
  const controller = new AbortController()
  const running = new RunningApp({
    context: {
      ...{ ...rig, app, settings: engine, fence: () => fence, signal: controller.signal },
      admission: new Admission(rig, engine.deadline),
      health: createStoreHealth(rig.log, () => {}),
      onFenced: () => {},
    },
    streams: [calls, values],
    pacers: createPacers(rig),
    clockOffset: rig.transport.clockOffset.bind(null, 'analytics'),
  })
  await rig.clock.advance(hour)
  isWell = true
  const since = rig.clock.monotonic()
  for (let n = 0; n < 30; n++) await rig.clock.advance(minute)
  controller.abort()
  await rig.clock.advance(minute)
  await running.done
  for (const group of Object.keys(ranges)) {
    expect(served.find(one => one.group === group)?.at, group).toBeLessThan(since + 5 * minute)
  }
})
