import { seededRandom } from '../../sandbox/src/seeded.ts'
import { boot, configFrom } from '../simulation/boot.ts'
import type { Faults } from '../simulation/faults.ts'
import { Kernel, type Process } from '../simulation/kernel.ts'
import { SimulatedServer } from '../simulation/server.ts'
import { ShardQueue } from '../simulation/shards.ts'
import { createTrace } from '../simulation/trace.ts'
import type { TestDatabase } from '../support/databases.ts'
import { apps, end, openWorld, outage, start, timeZones } from './world.ts'

const minute = 60_000

/** One after the other, and each call takes a moment. */
const calm: Faults = {
  draw: () => undefined,
  latency: kind => (kind === 'provider' ? 40 : 0),
  stall: () => 0,
  restart: () => 0,
  heal: () => {},
}

/**
 * Lets a whole daemon drain both schools into a migrated database, in virtual time, and stops the database's
 * clock at the end of it. Throws where something happened that never should.
 */
export async function fillSchool(database: TestDatabase): Promise<void> {
  const kernel: Kernel = new Kernel({
    start,
    random: seededRandom('order'),
    faults: calm,
    trace: createTrace(),
    onKill: process => server.endOf(process.name),
  })
  const server = await SimulatedServer.open({ ...database, drop: async () => undefined }, start, () => kernel)
  try {
    await drain(kernel, server)
    await server.rows(stopClock)
    await server.rows('vacuum analyze')
  } finally {
    await server.drop()
  }
}

const stopClock = `
  create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
    as $$ select timestamptz '${new Date(end).toISOString()}' $$;
  drop sequence ingest.virtual_time, ingest.clock_ahead;
  drop schema simulated cascade;`

async function drain(kernel: Kernel, server: SimulatedServer): Promise<void> {
  const breaches: string[] = []
  const shards = new ShardQueue(kernel)
  let daemon: Awaited<ReturnType<typeof boot>> | undefined
  const { sandbox, turn } = openWorld(kernel.clock, async (_, { headers, body }) => {
    if (!daemon?.notifications) throw new Error('nobody is there')
    const answer = await daemon.notifications.take({
      app: undefined,
      header: name => headers[name],
      body: Buffer.from(body),
    })
    return answer.status
  })
  const liveUntil = async (name: string, moment: number) => {
    const process: Process = { name, isAlive: true, frozenUntil: 0 }
    daemon = await boot({
      ...{ process, kernel, server, sandbox: () => sandbox, random: seededRandom(name), shards },
      config: () => configFrom(JSON.stringify(settings)),
      accuse: sentence => void breaches.push(sentence),
    })
    await kernel.runUntil(moment - start)
    daemon = undefined
    await kernel.kill(process)
  }
  const tick = () => {
    turn()
    kernel.after(minute, undefined, tick)
  }
  tick()
  await liveUntil('monday', outage.from)
  await kernel.runUntil(outage.to - start)
  await liveUntil('tuesday', end)
  if (breaches.length > 0) throw new Error(`the school was not drained well: ${breaches[0]}`)
}

const classrooms = {
  'app-events': { every: '1m' },
  'room-events': { activeEvery: '5m', idleEvery: '30m' },
  'popup-quiz': { activeEvery: '10m', idleEvery: '30m' },
  poll: { activeEvery: '10m', idleEvery: '30m' },
  recordings: { activeEvery: '10m', idleEvery: '30m' },
  resources: { activeEvery: '10m', idleEvery: '30m' },
  'cloud-players': { every: '10m' },
} as const

const qualityMetrics = [
  'joinSuccessRate',
  'joinSuccessIn5sRate',
  'audioFreezeRate',
  'videoFreezeRate',
  'networkDelay',
]

/** What is asked of calls, as seldom as it may be. */
const streams: Readonly<Record<string, object>> = {
  dayschool: {
    ...classrooms,
    calls: { every: '10m', revisitEvery: '20m' },
    'usage-insight': { metrics: ['userCount', 'channelCount', 'peakCurrentUsers', 'totalDuration'] },
    'quality-insight': { metrics: qualityMetrics },
    'realtime-usage': {
      every: '40m',
      products: ['Native', 'WebRTC'],
      metrics: ['userCount', 'channelCount'],
    },
    'realtime-quality': { every: '40m', metrics: qualityMetrics, channels: ['algebra-7b-0'] },
  },
  evening: {
    ...classrooms,
    calls: { every: '10m', revisitEvery: '20m' },
    'call-metrics': 'off',
  },
}

const anywhere = 'http://127.0.0.1:1'

const settings = {
  database: { url: 'embedded' },
  schedule: { housekeeping: '0 * * * *' },
  provider: { classroom: { url: anywhere }, analytics: { url: anywhere }, players: { url: anywhere } },
  apps: apps.map(({ id, uid, token, plan, rest, notifications }) => ({
    ...{
      id,
      plan,
      rest,
      notifications,
      region: 'eu',
      timeZone: timeZones[id],
      classroom: { uid, token },
      streams: streams[id],
    },
  })),
}
