import { expect, it, onTestFinished } from 'vitest'
import { shardOf } from '../../src/engine/ports/ledger.ts'
import { Engine } from '../../src/engine/supervisor.ts'
import { PrometheusMeter } from '../../src/telemetry/metrics.ts'
import { feed, roomLog } from './fake-streams.ts'
import { appOf, createHarness, minute, second, settingsOf } from './harness.ts'
import { allShards, FakeOwnership, shardCount } from './start-engine.ts'

/** An engine whose figures are told as the daemon tells them. */
function startMeasured() {
  const harness = createHarness(['room-events'])
  const apps = [appOf('a1', ['app-events', 'room-events']), appOf('a2', ['app-events', 'room-events'])]
  const settings = settingsOf(apps)
  const meter = new PrometheusMeter({
    ...{ clock: harness.clock, version: '', perApp: 200, operations: [], rejectReasons: [] },
    apps: apps.map(({ id }) => id),
    streams: ['app-events', 'room-events'],
    storeGauges: async () => ({ gaps: [], rooms: [] }),
  })
  onTestFinished(() => meter.close())
  const ownership = new FakeOwnership(allShards(1))
  const engine = new Engine({ ...harness, meter, ownership, settings, streams: [feed, roomLog] })
  const told = async (app: string) => {
    const text = await meter.scrape()
    return text.split('\n').filter(line => line.includes(`app="${app}"`) && line.includes('stream='))
  }
  const stop = async () => {
    const stopped = engine.stop()
    await harness.clock.advance(settings.drainDeadline)
    await stopped
  }
  return { ...harness, apps, meter, ownership, engine, told, stop }
}

it('what an app owes is told no more by a process that handed it over', async () => {
  const { clock, meter, ownership, told, stop } = startMeasured()
  await clock.advance(minute)
  meter.backlog({ app: 'a1', stream: 'room-events' }, { seconds: 60, expiresIn: 40 * minute })
  expect(await told('a1')).not.toEqual([])
  const lost = shardOf('a1', shardCount)
  expect(shardOf('a2', shardCount)).not.toBe(lost)
  ownership.fences = allShards(1).filter(({ shard }) => shard !== lost)
  await clock.advance(60 * minute)
  expect(await told('a1')).toEqual([])
  expect(await told('a2')).not.toEqual([])
  await stop()
})

it('a stream that was failing and is switched off while the daemon runs is told no more', async () => {
  const { clock, apps, meter, engine, told, stop } = startMeasured()
  await clock.advance(minute)
  meter.page({ app: 'a1', stream: 'room-events' }, 'malformed')
  const [first, ...others] = apps
  const { 'app-events': kept } = first!.streams
  const configured = engine.configure([{ ...first!, streams: { 'app-events': kept! } }, ...others], ['a1'])
  await clock.advance(minute)
  await configured
  await clock.advance(10 * second)
  const reading = meter.reading(['a1']).reading.filter(({ stream }) => stream === 'room-events')
  expect(reading).toEqual([])
  expect((await told('a1')).filter(line => line.includes('room-events'))).toEqual([])
  await stop()
})
