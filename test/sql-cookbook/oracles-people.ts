import type pg from 'pg'
import { compareClasses, named, type OfClass, type Oracle, rowsOf, trueName, withStart } from './oracle.ts'
import { dayAt, type TrueClass } from './truth.ts'

const minute = 60_000

/** The school gives each user an ID that ends with the number in calls, in base 36. */
const uidOf = (userUuid: string) => Number.parseInt(userUuid.slice('user-'.length), 36)

const ofUserCalls: Oracle = {
  name: 'classroom.user_call: who of a class was in its calls, and that the stream told it',
  examine: async (client, sandbox) => {
    const stays = new Map(
      ['dayschool', 'evening'].flatMap(app =>
        [...sandbox.analytics(app).calls()].map(({ callId, sessions }) => [callId, sessions] as const),
      ),
    )
    return compareClasses<OfClass & { user_uuid: string; sid: string | null; linked_by: string }>(
      client,
      sandbox,
      withStart('classroom.user_call'),
      row => [row.user_uuid, row.sid, row.linked_by],
      one => {
        const sessions = one.calls.flatMap(({ callId }) => stays.get(callId) ?? [])
        return [...new Set(one.stays.map(({ userUuid }) => userUuid))].flatMap(userUuid => {
          const own = sessions.filter(({ uid }) => uid === uidOf(userUuid))
          return own.length === 0
            ? [[userUuid, null, 'none']]
            : own.map(({ sid }) => [userUuid, sid, 'stream'])
        })
      },
    )
  },
}

/** From here on a value would be noticed, or is of somebody who talks: freezes in ms, losses in percent, volume in dB. */
const from: Readonly<Record<number, number>> = { 20005: 200, 20016: 10, 20011: 200, 20018: 10, 20025: 40 }

/** Counts by hand the values that are stored. */
const ofSenses: Oracle = {
  name: 'classroom.user_call: how well each heard and saw, and how long each talked',
  examine: async client => {
    const rows = await rowsOf<Record<'sid' | 'audio' | 'video' | 'talk', string | null>>(
      client,
      `select sid, audio_bad_share::numeric(9, 6)::text as audio, video_bad_share::numeric(9, 6)::text as video,
              (talk_minutes / nullif(minutes, 0))::numeric(9, 6)::text as talk
       from classroom.user_call where app_id = 'dayschool' and sid is not null and not partial order by sid`,
    )
    const counts = new Map<string, { all: number; those: number }>()
    for (const { sid, mid, value } of await rowsOf<{ sid: string; mid: number; value: number }>(
      client,
      `select sid, mid, value from analytics.session_metric where app_id = 'dayschool' and mid in (${Object.keys(from)})`,
    )) {
      const count = counts.get(`${sid} ${mid}`) ?? { all: 0, those: 0 }
      counts.set(`${sid} ${mid}`, count)
      count.all += 1
      if (value >= from[mid]!) count.those += 1
    }
    const share = (sid: string, ...mids: readonly number[]) => {
      const own = mids.flatMap(mid => counts.get(`${sid} ${mid}`) ?? [])
      const all = own.reduce((sum, one) => sum + one.all, 0)
      return all === 0 ? null : (own.reduce((sum, one) => sum + one.those, 0) / all).toFixed(6)
    }
    return {
      told: rows.map(({ sid, audio, video, talk }) => [sid, audio, video, talk]),
      truth: rows.map(({ sid }) => [
        sid,
        ...[share(sid!, 20_005, 20_016), share(sid!, 20_011, 20_018), share(sid!, 20_025)],
      ]),
    }
  },
}

type Users = readonly { readonly userUuid: string }[] | undefined

/** From when to when users were on the stage, or waved, by the sequences of the events that began and ended it. */
function spansOf({ changes }: TrueClass, kind: number, added: string, removed: string) {
  const open = new Map<string, number>()
  const spans: { userUuid: string; since: number; until: number | undefined }[] = []
  const close = (userUuid: string, until: number | undefined) => {
    const since = open.get(userUuid)
    if (since !== undefined) spans.push({ userUuid, since, until })
    open.delete(userUuid)
  }
  for (const { sequence, cmd, data } of changes) {
    const named = (list: string) =>
      ((data as Record<string, Users>)[list] ?? []).map(({ userUuid }) => userUuid)
    if (cmd === kind) {
      for (const userUuid of named(added)) open.set(userUuid, open.get(userUuid) ?? sequence)
      for (const userUuid of named(removed)) close(userUuid, sequence)
    }
    if (cmd === 20) for (const userUuid of named('offlineUsers')) close(userUuid, sequence)
  }
  for (const userUuid of open.keys()) close(userUuid, undefined)
  return spans
}

/**
 * Events of the stage and of hands have no time of their own: each has the one that is stored with it. That may be later
 * than when its user left, which has; then it lasted for no time.
 */
function ofSpans(view: string, kind: number, added: string, removed: string): Oracle {
  return {
    name: `classroom.${view}: from which event to which`,
    examine: async (client, sandbox) => {
      const times = new Map<string, number>()
      for (const row of await rowsOf<OfClass & { sequence: string; at: Date; ended_at: Date }>(
        client,
        `select e.app_id, e.room_uuid, r.started_at as began, e.sequence, e.at, r.ended_at
         from classroom.room_event e join classroom.room r using (app_id, room_uuid, incarnation)
         where cmd in (20, ${kind}) and r.ended_at is not null`,
      )) {
        times.set(`${named(row)} ${row.sequence}`, row.at.getTime())
        times.set(`${named(row)} end`, row.ended_at.getTime())
      }
      return compareClasses<
        OfClass & { user_uuid: string; began_at: Date; ended_at: Date | null; seconds: string }
      >(
        client,
        sandbox,
        `select v.*, r.started_at as began, extract(epoch from lasted)::numeric(12, 3)::text as seconds
         from classroom.${view} v join classroom.room r using (app_id, room_uuid, incarnation)`,
        row => [row.user_uuid, row.began_at.getTime(), row.ended_at?.getTime() ?? null, row.seconds],
        one =>
          spansOf(one, kind, added, removed).map(({ userUuid, since, until }) => {
            const at = (place: number | string) => times.get(`${trueName(one)} ${place}`) ?? Number.NaN
            const end = until === undefined ? null : at(until)
            const lasted = Math.max(0, (end ?? at('end')) - at(since))
            return [userUuid, at(since), end, (lasted / 1_000).toFixed(3)]
          }),
      )
    },
  }
}

interface Attended {
  readonly app: string
  readonly day: string
  readonly room: string
  /** Minutes of each student. */
  readonly students: ReadonlyMap<string, number>
}

/** Every class with its students, from the comings and goings that are stored. */
async function attended(client: pg.Client): Promise<readonly Attended[]> {
  const rows = await rowsOf<
    Record<'app' | 'room' | 'who' | 'role' | 'action', string> & Record<'began' | 'end' | 'at', string>
  >(
    client,
    `select r.app_id as app, r.room_uuid || ' ' || r.incarnation as room, a.user_uuid as who, a.role, a.action,
            extract(epoch from coalesce(r.started_at, r.valid_from)) * 1000 as began, extract(epoch from a.at) * 1000 as at,
            extract(epoch from coalesce(r.ended_at, case when r.forgotten_at is not null or r.valid_to is not null then r.last_event_at end)) * 1000 as end
     from classroom.room r left join classroom.attendance a using (app_id, room_uuid, incarnation)
     where coalesce(r.started_at, r.valid_from) is not null order by a.sequence, a.ordinal`,
  )
  return [...Map.groupBy(rows, ({ app, room }) => `${app} ${room}`).values()].map(events => {
    const [{ app, room, began, end }] = events as [(typeof rows)[number]]
    const people = Map.groupBy(
      events.filter(({ who }) => who !== null),
      ({ who }) => who,
    )
    const students = [...people].filter(([, own]) => own.every(({ role }) => role === '2'))
    const minutesOf = (own: typeof events) => {
      let [since, sum] = [undefined as number | undefined, 0]
      for (const { action, at } of own) {
        if (action === 'enter') since ??= Number(at)
        else if (since !== undefined) {
          sum += Number(at) - since
          since = undefined
        }
      }
      if (since !== undefined && end !== null && Number(end) > since) sum += Number(end) - since
      return sum / minute
    }
    return {
      ...{ app, room, day: dayAt(app, Number(began)) },
      students: new Map(students.map(([who, own]) => [who, minutesOf(own)])),
    }
  })
}

function ofAttendance(view: string, column: string, ofDay: (day: string) => string): Oracle {
  return {
    name: `classroom.${view}: classes, students and their minutes`,
    examine: async client => {
      const classes = await attended(client)
      const rows = await rowsOf<Record<string, unknown>>(
        client,
        `select app_id, ${column}::text as day, classes, students, visits, student_minutes::numeric(12, 2)::text as minutes
         from classroom.${view} order by 1, 2`,
      )
      const groups = Map.groupBy(classes, ({ app, day }) => `${app} ${ofDay(day)}`)
      return {
        told: rows.map(({ app_id, day, classes, students, visits, minutes }) => {
          return [`${app_id} ${day}`, classes, students, visits, minutes]
        }),
        truth: [...groups]
          .map(([key, held]) => {
            const visits = held.flatMap(({ students }) => [...students])
            const minutes = visits.reduce((sum, [, own]) => sum + own, 0)
            const students = new Set(visits.map(([who]) => who)).size
            return [key, held.length, students, visits.length, minutes.toFixed(2)]
          })
          .sort(),
      }
    },
  }
}

/** The whole sample lies in one week. */
const monday = () => '2026-01-05'

export const peopleOracles: readonly Oracle[] = [
  ...[ofUserCalls, ofSenses],
  ofSpans('stage_interval', 1501, 'addAcceptedUsers', 'removeAcceptedUsers'),
  ofSpans('hand_interval', 1502, 'addProgressUsers', 'removeProgressUsers'),
  ofAttendance('attendance_by_day', 'day', day => day),
  ofAttendance('attendance_by_week', 'week', monday),
]
