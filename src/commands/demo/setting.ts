import type { DemoWorld } from '../../../sandbox/src/index.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/load.ts'
import { migrateUp } from '../../postgres/migrate.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import type { Family } from '../../provider/operation.ts'
import { streams } from '../../streams/index.ts'
import type { Stream } from '../../streams/stream.ts'
import { qualityInsight, qualityRealtime, usageInsight, usageRealtime } from '../../tables/analytics.ts'
import { widgetEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { withPool } from '../wiring/database.ts'

/** What the sandbox plays, and what is drained of it. */
export interface World extends DemoWorld {
  readonly services: ReadonlySet<Family>
}

/** What a demo is set up for. */
export interface DemoSetting extends Pick<World, 'app' | 'services'> {
  readonly providerUrl: string
  readonly dataDir: string
  readonly listenPort: number
}

/**
 * The configuration of a daemon that keeps up with such a world. Rooms are never used twice in it, and it forgets
 * a room by its own fast clock, so the daemon may trust a room as long as it likes.
 */
export function demoConfig(options: DemoSetting): Promise<Config> {
  const { app, services: drained } = options
  const settings = {
    database: { url: 'embedded', dataDir: options.dataDir },
    http: { listen: `127.0.0.1:${options.listenPort}` },
    schedule: { housekeeping: '* * * * *' },
    provider: Object.fromEntries([...drained].map(name => [name, { url: options.providerUrl }])),
    streams: streamSettings(drained),
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

/** Something of each stream is to be seen soon. */
function streamSettings(drained: World['services']): Readonly<Record<string, object>> {
  const asked = Object.values<Stream>(streams).filter(({ operation }) => drained.has(operation.family))
  return Object.fromEntries(asked.map(stream => [stream.name, settingsOf(stream)]))
}

function settingsOf(stream: Stream): object {
  const { kind, operation, writes } = stream
  switch (kind) {
    case 'feed':
      return { every: '500ms', idleEvery: '2s' }
    case 'log':
      return { activeEvery: writes.includes(widgetEvent) ? '2s' : '4s', idleEvery: '8s' }
    case 'snapshot':
      return stream.scope === 'app' ? { every: '5s' } : { activeEvery: '3s', idleEvery: '8s' }
    case 'window':
      if (operation === callSearch) return { every: '15s', revisitEvery: '1m' }
      return {
        ...(operation.limitGroup === 'realtime' && { every: '2m' }),
        metrics: writes.flatMap(table => metrics.get(table) ?? []),
      }
    case 'substream':
      return {}
  }
}

/** A plan allows three real-time requests a minute, so few metrics of each table are asked for. */
const metrics: ReadonlyMap<Table, readonly string[]> = new Map<Table, readonly string[]>([
  [usageInsight, ['userCount', 'totalDuration']],
  [qualityInsight, ['audioFreezeRate', 'networkDelay']],
  [usageRealtime, ['userCount']],
  [qualityRealtime, ['audioFreezeRate', 'networkDelay']],
])

const name = 'demo'

/** Makes a migrated database anew on the server at `url`, dropping the one of an earlier demo. Answers its address. */
export async function freshDatabase(url: string): Promise<string> {
  const session = { url, poolSize: 1, statementTimeout: 60_000, lockTimeout: 30_000, role: '' }
  await withPool(session, async pool => {
    await pool.query(`drop database if exists ${name} with (force)`)
    await pool.query(`create database ${name}`)
  })
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  await migrateUp({ url: fresh.href })
  return fresh.href
}
