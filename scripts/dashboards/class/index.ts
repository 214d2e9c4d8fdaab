import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { assemble } from '../frame.ts'
import { appsVariable, classVariables, gapAnnotation } from '../variables.ts'
import { quality, screens } from './calls.ts'
import { about, people } from './room.ts'
import { kept, work } from './work.ts'

/** All that is known of one class, on one axis of time. */
export function oneClass(): Dashboard {
  return assemble({
    name: 'class',
    description:
      'One class in one view: the room, who was there, what was done, how well it could be heard and seen. From the database.',
    source: 'penstock',
    from: 'now-24h',
    refresh: '1m',
    timezone: 'browser',
    variables: [appsVariable(), ...classVariables('shown')],
    annotations: [
      gapAnnotation(
        ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources', 'call-metrics'],
        '$room',
      ),
    ],
    rows: [about, people, work, quality, screens, kept],
  })
}
