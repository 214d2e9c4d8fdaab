import { expect, it } from 'vitest'
import { Engine } from '../../src/engine/supervisor.ts'
import { feed, roomLog } from './fake-streams.ts'
import { calls } from './fake-windows.ts'
import { appCounted, appOf, createHarness, minute, second, settingsOf } from './harness.ts'
import { allShards, FakeOwnership } from './start-engine.ts'

/** An app with a poller and a limit group, of which the poller has a fault when it is told to. */
function startFaulty() {
  const harness = createHarness(['room-events'])
  const polled = appOf('a1', ['app-events', 'room-events'])
  const ranges = { availableData: 3 * 86_400, timeFrame: 8 * 3_600, dataDelay: 60 }
  const followed = { series: [{ key: '', ask: {}, step: 1 }], every: minute, revisitEvery: 10 * minute }
  const app = {
    ...polled,
    limits: { ...polled.limits, ...appCounted('call-search', ranges).limits },
    windows: { calls: { ...followed, allowedLateness: 0, frame: 'needed' } },
  } as const
  harness.transport.answers = ({ operation }) =>
    (operation === 'callSearch' ? { items: [], hasMore: false } : { items: [] }) as never
  const fault = { isNear: false }
  const meter = {
    ...harness.meter,
    schedule: ({ stream }: { readonly stream: string }) => {
      if (stream !== 'app-events' || !fault.isNear) return
      fault.isNear = false
      throw new TypeError('a fault')
    },
  }
  const begun: number[] = []
  harness.store.beginWindows = async () => void begun.push(harness.clock.monotonic())
  const settings = settingsOf([app])
  const ownership = new FakeOwnership(allShards(1))
  const engine = new Engine({ ...harness, meter, ownership, settings, streams: [feed, roomLog, calls] })
  const stop = async () => {
    const stopped = engine.stop()
    await harness.clock.advance(settings.drainDeadline)
    await stopped
  }
  return { ...harness, begun, fault, stop }
}

it('an app of which one part stopped by a fault begins anew as a whole, once no part of it goes on', async () => {
  const { clock, store, transport, begun, fault, said, stop } = startFaulty()
  let looks = 0
  store.windows = async () => {
    looks += 1
    return []
  }
  await clock.advance(minute)
  const looksIn = async (ms: number) => {
    const before = looks
    await clock.advance(ms)
    return looks - before
  }
  const usual = await looksIn(10 * minute)
  fault.isNear = true
  await clock.advance(minute)
  expect(said).toContain('an app stopped by a fault of this program; it is started again')
  expect(begun).toHaveLength(2)
  expect(await looksIn(10 * minute)).toBe(usual)
  const asked = transport.asked.length
  await clock.advance(30 * second)
  expect(transport.asked.length).toBeGreaterThan(asked)
  await stop()
  // Neither a request nor a timer is left of any part.
  expect(await looksIn(10 * minute)).toBe(0)
  expect(clock.sleeping).toBe(0)
})
