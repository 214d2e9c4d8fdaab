import type { z } from 'zod'
import { section } from '../../settings/leaf.ts'
import { type Streams, streams as shipped } from '../../streams/index.ts'
import { limitLayer } from '../limits.ts'
import { appsOf } from './apps.ts'
import { database, http, log, notifications, provider, retention, schedule } from './sections.ts'
import { streamLayer } from './streams.ts'

/** The whole configuration of some streams: what may be written, what it means, and what holds when it is left out. */
export function configSchema(streams: Streams = shipped) {
  return section({
    database: database.prefault({}).describe('The Postgres that everything is written to.'),
    http: http.prefault({}).describe('The small web server for people and Prometheus.'),
    notifications: notifications
      .prefault({})
      .describe(
        'Where the provider tells of players by itself; nothing listens while no app has a secret for it.',
      ),
    log: log.prefault({}).describe('Logging: one JSON object a line, on standard output.'),
    schedule: schedule.prefault({}).describe('What happens at fixed times.'),
    provider: provider.describe('The services that data is drained from.'),
    streams: streamLayer(streams)
      .prefault({})
      .describe('Which data is drained, and how often it is asked for.'),
    limits: limitLayer(streams).prefault({}).describe('How fast the provider may be asked, by limit group.'),
    retention: retention
      .prefault({})
      .describe('How long rows are kept, by table; tables that are not named here are kept for ever.'),
    apps: appsOf(streams).describe('The projects that are drained.'),
  })
}

/** What the schema makes of a configuration that it accepts. */
export type Settings = z.output<ReturnType<typeof configSchema>>
