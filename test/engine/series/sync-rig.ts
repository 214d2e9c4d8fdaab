import { Admission } from '../../../src/engine/admission/admission.ts'
import type { Progress } from '../../../src/engine/ports.ts'
import { createHeard } from '../../../src/engine/series/feed.ts'
import { type SyncOptions, syncSeries } from '../../../src/engine/series/sync.ts'
import type { CursorStream } from '../../../src/streams/stream.ts'
import { roomLog } from '../fake-streams.ts'
import { appOf, createRig, fence, minute, settingsOf } from '../rig.ts'

/** One series between a store and a provider that a test plays; `go` runs one sync of it. */
export function rigged(stream: CursorStream = roomLog, progress?: Partial<Progress>) {
  const rig = createRig(['room-events', 'popup-quiz'])
  const app = appOf('a1', ['app-events', 'room-events', 'popup-quiz'])
  const settings = settingsOf([app])
  const controller = new AbortController()
  const series = stream.scope === 'app' ? '' : 'algebra'
  if (progress) rig.store.put(stream.name, series, progress)
  const heard = createHeard()
  const tailMemory = { refusedTails: 0, heard: () => heard }
  const context = {
    ...rig,
    ...{ app, settings, stream, series, fence },
    purpose: 'live' as const,
    signal: controller.signal,
    admission: new Admission(rig, settings.deadline),
  }
  const go = async (options: Partial<SyncOptions> = {}) => {
    const result = syncSeries(context, {
      tailMemory: tailMemory,
      room: 'known',
      asked: new Set(),
      ...options,
    })
    result.catch(() => {})
    await rig.clock.advance(minute)
    return result
  }
  const asked = () => rig.transport.asked.map(({ nextId }) => nextId)
  return { ...rig, go, learnt: tailMemory, controller, asked }
}
