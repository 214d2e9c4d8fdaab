import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { assemble } from '../frame.ts'
import { appsVariable, classVariables, gapAnnotation } from '../variables.ts'
import { byApp, byDay, concurrency, inAll } from './panels.ts'

/** How much is used, by day, app and product; what a bill is compared with. */
export function usage(): Dashboard {
  return assemble({
    name: 'usage',
    description:
      'How much is used: minutes, calls, users, classes and players by day, app and product; and what the provider itself reports. Days are those of UTC. From the database.',
    source: 'penstock',
    from: 'now-30d',
    refresh: '15m',
    timezone: 'utc',
    variables: [appsVariable(), ...classVariables('carried')],
    annotations: [gapAnnotation(['calls', 'call-sessions', 'usage-insight', 'realtime-usage'])],
    rows: [inAll, byDay, concurrency, byApp],
  })
}
