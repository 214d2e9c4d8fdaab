import { seededRandom } from '../../src/clock/seeded.ts'
import { deploymentOf, engineSettings } from '../../src/commands/engine-settings.ts'
import { readConfig } from '../../src/config/load.ts'
import type { Store } from '../../src/engine/ports.ts'
import type { EngineSettings } from '../../src/engine/settings.ts'
import { createNotificationHandler, type NotificationHandler } from '../../src/http/notifications.ts'
import { connect, defaultConnection } from '../../src/postgres/connect.ts'
import { createNotificationStore } from '../../src/postgres/players.ts'
import { createStore } from '../../src/postgres/store.ts'
import { fixed } from '../http/harness.ts'
import { bootDaemon, type Daemon } from '../simulation/daemon.ts'
import { openVirtualDatabase, type VirtualDatabase } from '../simulation/database.ts'
import type { Faults } from '../simulation/faults.ts'
import { Kernel, type Process } from '../simulation/kernel.ts'
import { createTrace } from '../simulation/trace.ts'
import { createWatch } from '../simulation/watch.ts'
import type { TestDatabase } from '../support/databases.ts'
import { apps, end, openWorld, outage, start } from './world.ts'

const minute = 60_000
/** A shard is renewed seldom and kept for long: nobody else is there to take it. */
const renewEvery = 10 * minute
const ttl = 30 * minute

/** One after the other, and each call takes a moment. */
const calm: Faults = {
  classes: ['latency'],
  draw: () => undefined,
  latency: kind => (kind === 'provider' ? 40 : 0),
  stall: () => 0,
  restart: () => 0,
  heal: () => {},
}

/**
 * Lets the daemon's own engine drain both schools into a migrated database, in virtual time, and stops the database's
 * clock at the end of it. Throws where something happened that never should.
 */
export async function fillSchool(database: TestDatabase): Promise<void> {
  const virtual = await openVirtualDatabase({ ...database, drop: async () => undefined })
  try {
    await drain(virtual)
    await virtual.rows(stopClock)
    await virtual.rows('vacuum analyze')
  } finally {
    await virtual.drop()
  }
}

const stopClock = `
  create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
    as $$ select timestamptz '${new Date(end).toISOString()}' $$;
  drop sequence ingest.virtual_time;`

async function drain(database: VirtualDatabase): Promise<void> {
  const config = await readConfig(JSON.stringify(settings), { name: 'school', env: {}, folder: '.' })
  const watch = createWatch(() => kernel)
  const kernel = new Kernel({
    start,
    random: seededRandom('order'),
    faults: calm,
    trace: createTrace(),
    onKill: async process => {
      await database.terminate(process.name)
    },
  })
  let desk: NotificationHandler | undefined
  const { sandbox, turn } = openWorld(kernel.clock, async (_, { headers, body }) => {
    if (!desk) throw new Error('nobody is there')
    const answer = await desk({
      app: undefined,
      header: name => headers[name],
      body: Buffer.from(body),
    })
    return answer.status
  })

  async function boot(name: string): Promise<() => Promise<void>> {
    const process: Process = { name, isAlive: true, frozenUntil: 0 }
    const url = database.urlFor(name)
    const setTime = () => database.setTime(start + kernel.now)
    const daemon: Daemon = bootDaemon({
      ...{ process, url, kernel, sandbox, watch, setTime, ttl, mutant: undefined },
      random: seededRandom(name),
      scenario: { settings: seldom(engineSettings(config)) },
      deployment: deploymentOf(config),
    })
    const pool = connect({ ...defaultConnection, url, poolSize: 1 })
    const perform = <T>(what: string, work: () => Promise<T>) =>
      kernel.perform(process, {
        ...{ kind: 'database', name: what, broken: async () => new Error('cannot be') },
        work: async () => {
          await setTime()
          return work()
        },
      })
    const book = createNotificationStore(pool)
    const store: Pick<Store, 'deadLetter'> = createStore(pool, {
      ...{ streams: [], roomMemory: 0, region: () => 'eu', sequenceScope: 'room' },
    })
    const silent = () => {}
    desk = createNotificationHandler({
      stream: 'cloud-players',
      signers: config.apps.map(({ id }) => ({
        app: id,
        secret: fixed(apps.find(app => app.id === id)!.notifications!.secret),
      })),
      headers: {
        sha1: config.provider.players!.signatureHeader,
        sha256: config.provider.players!.signatureHeaderV2,
      },
      notifications: { keep: notice => perform('keep', () => book.keep(notice)) },
      store: { deadLetter: letter => perform('deadLetter', () => store.deadLetter(letter)) },
      want: app => daemon.want(app),
      meter: { notification: silent, deadLetters: silent },
      log: { debug: silent, info: silent, warn: silent, error: silent },
    })
    return async () => {
      desk = undefined
      await kernel.kill(process)
      await daemon.close()
      await pool.end()
    }
  }

  const tick = () => {
    turn()
    kernel.after(minute, undefined, tick)
  }
  tick()
  const stop = await boot('monday')
  await kernel.runUntil(outage.from - start)
  await stop()
  await kernel.runUntil(outage.to - start)
  const stopAgain = await boot('tuesday')
  await kernel.runUntil(end - start)
  await stopAgain()
  if (watch.breaches.length > 0) throw new Error(`the school was not drained well: ${watch.breaches[0]}`)
}

/** The feed is asked more seldom than a configuration may say: the sandbox remembers what is new for longer. */
function seldom(settings: EngineSettings): EngineSettings {
  const feed = { activeEvery: 3 * minute, idleEvery: 3 * minute }
  return {
    ...{ ...settings, renewEvery },
    apps: settings.apps.map(app => ({
      ...app,
      streams: { ...app.streams, 'app-events': { ...app.streams['app-events']!, ...feed } },
    })),
  }
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
    ...{ id, plan, rest, notifications, region: 'eu', classroom: { uid, token }, streams: streams[id] },
  })),
}
