import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { assemble } from '../frame.ts'
import { appVariable, gapAnnotation, queryVariable } from '../variables.ts'
import { quality, screens } from './calls.ts'
import { about, people } from './room.ts'
import { kept, work } from './work.ts'

const inTime = `coalesce(r.started_at, r.first_seen_at) <= $__timeTo()::timestamptz
  and coalesce(r.ended_at, r.last_event_at, r.first_seen_at) >= $__timeFrom()::timestamptz`

const rooms = `
select r.room_uuid || to_char(max(coalesce(r.started_at, r.first_seen_at)) at time zone 'UTC', ' (YYYY-MM-DD HH24:MI "UTC)"') as __text,
       r.room_uuid as __value
from classroom.room r
where r.app_id = '$app' and ${inTime}
group by r.room_uuid
order by max(coalesce(r.started_at, r.first_seen_at)) desc, r.room_uuid limit 500`

/** That of the chosen time comes first, so that it is taken where none was chosen. */
const incarnations = `
select r.incarnation || to_char(coalesce(r.started_at, r.first_seen_at) at time zone 'UTC', ' (YYYY-MM-DD HH24:MI "UTC)"') as __text,
       r.incarnation as __value
from classroom.room r
where r.app_id = '$app' and r.room_uuid = '$room'
order by (${inTime}) desc, r.incarnation desc limit 100`

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
    variables: [
      appVariable(),
      queryVariable('room', 'Room', 'Rooms with a class in the chosen time, the newest first', rooms),
      queryVariable(
        'incarnation',
        'Use',
        'A room ID may be used again for another class: which of its uses',
        incarnations,
      ),
    ],
    annotations: [
      gapAnnotation(
        ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources', 'call-metrics'],
        '$room',
      ),
    ],
    rows: [about, people, work, quality, screens, kept],
  })
}
