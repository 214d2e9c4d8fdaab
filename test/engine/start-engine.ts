import type { Claim, Fence, Ownership } from '../../src/engine/ports.ts'
import type { AppSettings, StreamSettings } from '../../src/engine/settings.ts'
import { Engine } from '../../src/engine/supervisor.ts'
import { feed, roomLog } from './fake-streams.ts'
import { appOf, cadence, createHarness, feedCadence, settingsOf } from './harness.ts'

export class FakeOwnership implements Ownership {
  fences: readonly Fence[]
  surplus: readonly number[] = []
  released: (readonly number[])[] = []
  claims = 0
  releases = 0
  error: Error | undefined
  hangs = false
  setBack = 0

  constructor(fences: readonly Fence[]) {
    this.fences = fences
  }

  async claim(): Promise<Claim> {
    this.claims += 1
    if (this.hangs) await new Promise(() => {})
    if (this.error) throw this.error
    return { fences: this.fences, surplus: this.surplus, setBack: this.setBack }
  }

  async release(shards?: readonly number[]): Promise<void> {
    if (shards) this.released.push(shards)
    else this.releases += 1
    if (this.error) throw this.error
  }
}

export const shardCount = 4
export const allShards = (epoch: number) =>
  Array.from({ length: shardCount }, (_, shard): Fence => ({ shard, owner: 'me', epoch }))

/** The engine on fakes and a virtual clock; it owns every shard. */
export function startEngine(
  apps: readonly string[] = ['a1'],
  feedEvery: Partial<StreamSettings> = {},
  more: Partial<AppSettings> = {},
  ownership = new FakeOwnership(allShards(1)),
) {
  const harness = createHarness(['room-events'])
  const streams = { 'app-events': { ...feedCadence, ...feedEvery }, 'room-events': cadence }
  const settings = settingsOf(
    apps.map(id => ({ ...appOf(id, ['app-events', 'room-events']), streams, ...more })),
  )
  const engine = new Engine({ ...harness, ownership, settings, streams: [feed, roomLog] })
  const stop = async () => {
    const stopped = engine.stop()
    await harness.clock.advance(settings.drainDeadline)
    await stopped
  }
  return { ...harness, ownership, settings, engine, stop }
}
