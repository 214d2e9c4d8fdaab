import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { assemble } from '../frame.ts'
import { appsVariable, classVariables, gapAnnotation } from '../variables.ts'
import { byEquipment } from './equipment.ts'
import { measured, project } from './over-time.ts'
import { overview } from './overview.ts'
import { worst } from './worst.ts'

/** How the calls can be heard and seen, and where it is worst. */
export function callQuality(): Dashboard {
  return assemble({
    name: 'call-quality',
    description:
      'How well the calls can be heard and seen: over time, by class, call, network and device. From the database.',
    source: 'penstock',
    from: 'now-24h',
    refresh: '5m',
    timezone: 'browser',
    variables: [appsVariable(), ...classVariables('carried')],
    annotations: [
      gapAnnotation(['calls', 'call-sessions', 'call-metrics', 'quality-insight', 'realtime-quality']),
    ],
    rows: [overview, project, measured, worst, byEquipment],
  })
}
