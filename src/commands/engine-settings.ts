import type { AppConfig, Config } from '../config/config.ts'
import type { AppSettings, EngineSettings, GroupLimit, StreamSettings } from '../engine/settings.ts'
import { perSecond } from '../provider/limits.ts'
import type { StreamName } from '../streams/stream.ts'

/** How many shards the apps are spread over: as many processes at most can share the work. */
export const shards = 64
/** How long a shard stays ours without a renewal, and how often it is renewed, ms. */
export const ownershipTtl = 12_000
const renewEvery = 3_000
/** A stopping daemon waits this long for the pages in hand, ms. */
const drainDeadline = 8_000

/** What the engine needs, out of the configuration. */
export function engineSettings(config: Config): EngineSettings {
  const { classroom } = config.provider
  return {
    apps: config.apps.map(app => appSettings(app, classroom.roomMemory)),
    harvest: { submitter: classroom.submitter, sequenceScope: classroom.sequenceScope },
    roomMemory: classroom.roomMemory,
    deadline: classroom.deadline,
    housekeeping: config.schedule.housekeeping,
    ...{ shards, renewEvery, drainDeadline },
  }
}

function appSettings(app: AppConfig, memory: number): AppSettings {
  const { classroom, 'classroom-feed': feed } = app.limits
  const limits: Record<string, GroupLimit> = {
    classroom: {
      rates: [perSecond(classroom.perSecond)],
      concurrency: classroom.concurrency,
      counted: 'process',
    },
    'classroom-feed': { rates: [perSecond(feed.perSecond)], concurrency: 1, counted: 'ledger' },
  }
  const on = Object.entries(app.streams).flatMap(([name, cadence]) => {
    if (cadence === 'off') return []
    const [activeEvery, idleEvery] =
      'every' in cadence ? [cadence.every, cadence.every] : [cadence.activeEvery, cadence.idleEvery]
    const concurrency = Math.ceil(classroom.concurrency * shareOf(name))
    const settings: StreamSettings = { activeEvery, idleEvery, memory, concurrency }
    return [[name as StreamName, settings] as const]
  })
  const { id, region, rooms } = app
  return { id, region, rooms, limits, streams: Object.fromEntries(on) }
}

/** No stream may fill every place of the group, so that one that hangs leaves room for the others. */
function shareOf(stream: string): number {
  return stream === 'room-events' ? 3 / 4 : 1 / 4
}
