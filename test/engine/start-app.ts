import { Admission } from '../../src/engine/admission/admission.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import { Poller } from '../../src/engine/series/poller.ts'
import type { EngineSettings, StreamSettings } from '../../src/engine/settings.ts'
import type { CursorStream } from '../../src/streams/stream.ts'
import { feed, quiz, roomLog } from './fake-streams.ts'
import { appOf, createHarness, feedCadence, fence, settingsOf } from './harness.ts'

const everything = [feed, roomLog, quiz]

/** One app with its poller, on fakes and a virtual clock. */
export function startApp(
  rooms: readonly string[] = [],
  streams: readonly CursorStream[] = everything,
  more: Partial<EngineSettings> = {},
  regions: readonly string[] = [],
  feedEvery: Partial<StreamSettings> = {},
) {
  const harness = createHarness(['room-events', 'popup-quiz'])
  const blank = appOf(
    'a1',
    streams.map(({ name }) => name),
    rooms,
    regions,
  )
  const app = {
    ...blank,
    streams: {
      ...blank.streams,
      ...(blank.streams['app-events'] && { 'app-events': { ...feedCadence, ...feedEvery } }),
    },
  }
  const settings = { ...settingsOf([app]), ...more }
  const controller = new AbortController()
  const outages: string[] = []
  const fenced: string[] = []
  const health = createStoreHealth(harness, () => outages.push('down'))
  const poller = new Poller({
    ...harness,
    app,
    settings,
    streams,
    names: streams.map(({ name }) => name),
    health,
    admission: new Admission(harness, settings.deadline),
    fence: () => fence,
    signal: controller.signal,
    onFenced: () => fenced.push('fenced'),
  })
  const stop = async () => {
    controller.abort()
    await harness.clock.advance(0)
    await poller.done
  }
  return { ...harness, poller, health, outages, fenced, controller, stop }
}
