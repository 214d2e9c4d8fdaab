import type { DemoWorld } from '../../../sandbox/src/index.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/load.ts'
import { connect } from '../../postgres/connect.ts'
import { migrateUp } from '../../postgres/migrate.ts'

export const services = ['classroom', 'analytics', 'players'] as const
export type Service = (typeof services)[number]

/** What the sandbox plays, and what is drained of it. */
export interface World extends DemoWorld {
  readonly services: ReadonlySet<Service>
}

/**
 * The configuration of a daemon that keeps up with such a world. Rooms are never used twice in it, and it forgets
 * a room by its own fast clock, so the daemon may trust a room as long as it likes.
 */
export function demoConfig(options: {
  readonly app: DemoWorld['app']
  readonly providerUrl: string
  readonly services: World['services']
  readonly dataDir: string
  readonly listenPort: number
}): Promise<Config> {
  const { app, services: drained } = options
  const settings = {
    database: { url: 'embedded', dataDir: options.dataDir },
    http: { listen: `127.0.0.1:${options.listenPort}` },
    schedule: { housekeeping: '* * * * *' },
    provider: Object.fromEntries([...drained].map(name => [name, { url: options.providerUrl }])),
    streams: {
      ...(drained.has('classroom') && classroomStreams),
      ...(drained.has('players') && { 'cloud-players': { every: '5s' } }),
      ...(drained.has('analytics') && analyticsStreams),
    },
    limits: { classroom: { perSecond: 100 } },
    apps: [
      {
        id: app.id,
        region: 'ap',
        plan: app.plan,
        rest: app.rest,
        ...(drained.has('classroom') && { classroom: { uid: app.uid, token: app.token } }),
      },
    ],
  }
  return readConfig(JSON.stringify(settings), { name: 'demo', env: {}, folder: '.' })
}

const classroomStreams = {
  'app-events': { every: '500ms' },
  'room-events': { activeEvery: '4s', idleEvery: '8s' },
  'popup-quiz': { activeEvery: '2s', idleEvery: '8s' },
  poll: { activeEvery: '2s', idleEvery: '8s' },
  recordings: { activeEvery: '3s', idleEvery: '8s' },
  resources: { activeEvery: '3s', idleEvery: '8s' },
} as const

/** A plan allows three real-time requests a minute, so few metrics are asked for and something of each is seen soon. */
const analyticsStreams = {
  calls: { every: '15s', revisitEvery: '1m' },
  'usage-insight': { metrics: ['userCount', 'totalDuration'] },
  'quality-insight': { metrics: ['audioFreezeRate', 'networkDelay'] },
  'realtime-usage': { every: '2m', metrics: ['userCount'] },
  'realtime-quality': { every: '2m', metrics: ['audioFreezeRate', 'networkDelay'] },
} as const

const name = 'demo'

/** Makes a migrated database anew on the server at `url`, dropping the one of an earlier demo. Answers its address. */
export async function freshDatabase(url: string): Promise<string> {
  const pool = connect({ url, poolSize: 1, statementTimeout: 60_000, lockTimeout: 30_000, role: '' })
  try {
    await pool.query(`drop database if exists ${name} with (force)`)
    await pool.query(`create database ${name}`)
  } finally {
    await pool.end()
  }
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  await migrateUp({ url: fresh.href })
  return fresh.href
}
