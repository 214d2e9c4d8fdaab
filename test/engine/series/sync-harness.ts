import { Admission } from '../../../src/engine/admission/admission.ts'
import type { Progress } from '../../../src/engine/ports.ts'
import { createHeard } from '../../../src/engine/series/feed.ts'
import { type SyncOptions, syncSeries } from '../../../src/engine/series/sync.ts'
import type { CursorStream } from '../../../src/streams/stream.ts'
import { roomLog } from '../fake-streams.ts'
import { appOf, createHarness, fence, minute, settingsOf } from '../harness.ts'

/** One series between a store and a provider that a test plays; `go` runs one sync of it. */
export function makeHarness(stream: CursorStream = roomLog, progress?: Partial<Progress>) {
  const harness = createHarness(['room-events', 'popup-quiz'])
  const app = appOf('a1', ['app-events', 'room-events', 'popup-quiz'])
  const settings = settingsOf([app])
  const controller = new AbortController()
  const series = stream.scope === 'app' ? '' : 'algebra'
  if (progress) harness.store.put(stream.name, series, progress)
  const heard = createHeard(harness.clock, settings.roomMemory)
  const memory = { heard: () => heard, stands: new Map<string, Progress>() }
  const tailMemory = { ...memory, refusedTails: 0, unaskedTails: 0 }
  const context = {
    ...harness,
    ...{ app, settings, stream, series, fence },
    purpose: 'live' as const,
    signal: controller.signal,
    admission: new Admission(harness, settings.deadline),
  }
  const go = async (options: Partial<SyncOptions> = {}) => {
    const result = syncSeries(context, {
      tailMemory: tailMemory,
      room: 'known',
      asked: new Set(),
      ...options,
    })
    result.catch(() => {})
    await harness.clock.advance(minute)
    return result
  }
  const asked = () => harness.transport.asked.map(({ nextId }) => nextId)
  return { ...harness, go, learnt: tailMemory, controller, asked }
}
