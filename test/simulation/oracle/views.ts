import { canonical } from './canonical.ts'
import type { Examination, Finding } from './examination.ts'
import { pick, type Row, share } from './rows.ts'
import { clockAt, momentOf } from './zones.ts'

/** A view that says again, or adds up, what others are judged by: what it tells, and what it must. */
interface View {
  readonly name: string
  /** In the order in which the view tells. */
  readonly told: string
  /** What it follows from. */
  readonly from: Readonly<Record<string, string>>
  readonly expected: (from: (name: string) => readonly Row[], examination: Judged) => readonly Row[]
}

type Judged = Pick<Examination, 'rows' | 'apps' | 'start' | 'end' | 'turns'>

const hour = 3_600_000
const day = 24 * hour

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** Quality by what stays were held with. */
function qualityBy(name: string, columns: readonly string[]): View {
  const key = ['app_id', 'day', ...columns]
  const asked = ['app_id', 'day::text', ...columns].join(', ')
  return {
    name: `analytics.${name}`,
    told: `select ${asked}, users, sessions, coalesce(samples, 0)::int as samples, bad_share, coalesce(freeze_samples, 0)::int as freeze_samples,
                  coalesce(freezes, 0)::int as freezes, freeze_share from analytics.${name}`,
    from: {
      stays: `select ${asked}, coalesce(uid, sid) as person, coalesce(samples, 0)::int as samples, coalesce(bad_samples, 0)::int as bad,
                     coalesce(freeze_samples, 0)::int as freezable, coalesce(freezes, 0)::int as freezes from analytics.session_quality`,
    },
    expected: from =>
      groupsOf(from('stays'), key).map(own => {
        const [samples, freezable, freezes] = [
          sum(own, 'samples'),
          sum(own, 'freezable'),
          sum(own, 'freezes'),
        ]
        return {
          ...pick(own[0]!, key),
          ...{ users: new Set(own.map(({ person }) => person)).size, sessions: own.length, samples },
          ...{ bad_share: share(sum(own, 'bad'), samples), freeze_samples: freezable, freezes },
          freeze_share: share(freezes, freezable),
        }
      }),
  }
}

const measured = [
  ['audio_freeze', 'ms'],
  ['video_freeze', 'ms'],
  ['audio_loss', 'pct'],
  ['video_loss', 'pct'],
] as const

const qualityByHour: View = {
  name: 'analytics.quality_by_hour',
  told: `select app_id, ${ms('hour')} as hour, calls, samples::int as samples,
                ${measured.map(([what, unit]) => `${what}_avg_${unit}, ${what}_p95_${unit}`).join(', ')} from analytics.quality_by_hour`,
  from: {
    minutes: `select app_id, call_id, ${ms('minute')} as minute,
                     ${measured.map(([what, unit]) => `${what}_samples::int, ${what}_avg_${unit}`).join(', ')} from analytics.call_minute`,
    calls: `select app_id, call_id, ${measured.map(([what, unit]) => `${what}_p95_${unit}`).join(', ')} from analytics.call_quality`,
  },
  expected: from => {
    const calls = new Map(from('calls').map(call => [keyOf(call, ['app_id', 'call_id']), call]))
    const minutes = from('minutes')
      .filter(row => measured.some(([what]) => Number(row[`${what}_samples`] ?? 0) > 0))
      .map(row => ({ ...row, hour: Math.floor(Number(row.minute) / hour) * hour }) as Row)
    return groupsOf(minutes, ['app_id', 'hour']).map(own => {
      const cells = measured.flatMap(([what, unit]) => {
        const weighed = (value: (row: Row) => unknown) =>
          share(
            own.reduce((all, row) => all + Number(row[`${what}_samples`] ?? 0) * Number(value(row) ?? 0), 0),
            sum(own, `${what}_samples`),
          )
        const ofCall = (row: Row) => calls.get(keyOf(row, ['app_id', 'call_id']))?.[`${what}_p95_${unit}`]
        return [
          [`${what}_avg_${unit}`, weighed(row => row[`${what}_avg_${unit}`])],
          [`${what}_p95_${unit}`, weighed(ofCall)],
        ] as const
      })
      return {
        ...pick(own[0]!, ['app_id', 'hour']),
        calls: new Set(own.map(({ call_id }) => call_id)).size,
        samples: measured.reduce((all, [what]) => all + sum(own, `${what}_samples`), 0),
        ...Object.fromEntries(cells),
      }
    })
  },
}

const worstColumns =
  'app_id, call_id, cname, finished, minutes, users, sessions, user_minutes, samples::int, bad_share, audio_loss_avg_pct, rtt_p95_ms, partial, day::text'

const worstCalls: View = {
  name: 'analytics.worst_calls',
  told: `select ${worstColumns} from analytics.worst_calls`,
  from: { calls: `select ${worstColumns} from analytics.call_quality` },
  expected: from => from('calls').filter(({ bad_share }) => Number(bad_share ?? 0) > 0),
}

const ofStays = 'users, sessions, user_minutes'
const stays = `coalesce(s.uid, s.sid) as person, ${ms('s.joined_at')} as joined, ${ms('coalesce(s.left_at, c.destroyed_at)')} as gone
               from analytics.call_session s join analytics.call c using (app_id, call_id)`

/** How many were there, and for how long together; who comes back is one user with two stays. */
function usersBy(name: string, key: readonly string[], joined = ''): View {
  const asked = key.map(column => (column === 'day' ? 'day::text' : column)).join(', ')
  return {
    name: `${name} of users`,
    told: `select ${asked}, ${ofStays} from ${name} where sessions > 0`,
    from: { stays: `select ${asked}, ${stays}${joined}` },
    expected: from =>
      groupsOf(from('stays'), key).map(own => {
        const lasted = own.map(({ joined, gone }) => (gone === null ? 0 : Number(gone) - Number(joined)))
        return {
          ...pick(own[0]!, key),
          ...{ users: new Set(own.map(({ person }) => person)).size, sessions: own.length },
          user_minutes: lasted.reduce((all, one) => all + Math.max(0, one), 0) / 60_000,
        }
      }),
  }
}

const classKey = ['app_id', 'room_uuid', 'incarnation']

/** Who was on the stage, and whose hand was up, in one. */
const stageOrHand: View = (() => {
  const columns = `app_id, room_uuid, incarnation, user_uuid, user_name, ${ms('began_at')} as began, ${ms('ended_at')} as ended, ${ms('lasted')} as lasted`
  const each = (what: string) => `select '${what}' as what, ${columns} from classroom.${what}_interval`
  return {
    name: 'classroom.stage_or_hand_interval',
    told: `select what, ${columns} from classroom.stage_or_hand_interval`,
    from: { stage: each('stage'), hand: each('hand') },
    expected: from => [...from('stage'), ...from('hand')],
  }
})()

/** A class is complete once it is over and each of its streams is. */
const classComplete: View = {
  name: 'classroom.class_complete',
  told: `select c.app_id, c.room_uuid, c.incarnation, c.day::text, ${ms('c.started_at')} as started, ${ms('c.ended_at')} as ended, c.complete,
                c.lacking, c.gaps, c.complete = (c.reasons = '') as agrees
         from classroom.class_complete c join classroom.room r using (app_id, room_uuid, incarnation) where r.valid_to is null`,
  from: {
    classes: `select app_id, room_uuid, incarnation, day::text, ${ms('started_at')} as started, ${ms('ended_at')} as ended from classroom.class`,
    streams: `select app_id, room_uuid, incarnation, stream, complete, gaps::int as gaps from ingest.room_complete`,
    over: `select r.app_id, r.room_uuid, r.incarnation,
                  (r.ended_at is not null or r.started_at is null and (r.forgotten_at is not null or r.state >= 2))
                  and (r.started_at is null or coalesce(e.source = 'log', (r.emptied ->> 'confirmed')::boolean, false)) as over
           from classroom.room r left join classroom.room_event e on (e.app_id, e.room_uuid, e.incarnation, e.sequence)
             = (r.app_id, r.room_uuid, r.incarnation, r.state_sequence) where r.valid_to is null`,
  },
  expected: from => {
    const streams = Map.groupBy(from('streams'), row => keyOf(row, classKey))
    const classes = new Map(from('classes').map(row => [keyOf(row, classKey), row]))
    return from('over').map(({ over, ...room }) => {
      const own = streams.get(keyOf(room, classKey)) ?? []
      const lacking = own.filter(({ complete }) => complete !== true)
      return {
        ...room,
        ...pick(classes.get(keyOf(room, classKey)) ?? {}, ['day', 'started', 'ended']),
        complete: over === true && own.length > 0 && lacking.length === 0,
        lacking: inOrder(lacking.map(({ stream }) => String(stream))).join(', '),
        ...{ gaps: sum(own, 'gaps'), agrees: true },
      }
    })
  },
}

/** A log comes before what is read after it, and that in the order of the documents. */
const places = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']
const inOrder = (streams: readonly string[]) =>
  streams.toSorted((one, other) => places.indexOf(one) - places.indexOf(other))

/** Of the last eleven weeks: where clocks were changed in them, a day had 23 or 25 hours. */
const schoolDay: View = {
  name: 'classroom.school_day',
  told: `select app_id, day::text, week::text, days_ago, ${ms('begins_at')} as begins, ${ms('ends_at')} as ends from classroom.school_day
         where days_ago < 77 order by app_id, day desc`,
  from: { zones: 'select app_id from ingest.app' },
  expected: (from, { end, turns = [] }) => {
    const today = Math.floor(clockAt(turns, end) / day) * day
    return from('zones').flatMap(({ app_id }) =>
      Array.from({ length: 77 }, (_, days_ago) => {
        const at = today - days_ago * day
        const monday = at - ((new Date(at).getUTCDay() + 6) % 7) * day
        return {
          ...{ app_id, day: dateOf(at), week: dateOf(monday), days_ago },
          ...{ begins: momentOf(turns, at), ends: momentOf(turns, at + day) },
        }
      }),
    )
  },
}

const letterCounts: View = {
  name: 'ingest.dead_letter_count',
  told: `select app_id, stream, reason, items, occurrences::int as occurrences, ${ms('first_at')} as first, ${ms('last_at')} as last
         from ingest.dead_letter_count`,
  from: {
    letters: `select app_id, stream, reason, occurrences::int as occurrences, ${ms('received_at')} as first, ${ms('last_seen_at')} as last
              from ingest.dead_letter`,
  },
  expected: from =>
    groupsOf(from('letters'), ['app_id', 'stream', 'reason']).map(own => ({
      ...pick(own[0]!, ['app_id', 'stream', 'reason']),
      ...{ items: own.length, occurrences: sum(own, 'occurrences') },
      first: Math.min(...own.map(({ first }) => Number(first))),
      last: Math.max(...own.map(({ last }) => Number(last))),
    })),
}

/** What is queued of details, and what of it was given up. */
const queued: View = {
  name: 'ingest.backlog of details',
  told: `select app_id, stream, items::int as items, lost_items::int as lost, ${ms('oldest')} as oldest from ingest.backlog where items is not null`,
  from: {
    items: `select app_id, stream, state, ${ms('range_from')} as begins from ingest.work_item where state in ('pending', 'lost')`,
  },
  expected: from =>
    groupsOf(from('items'), ['app_id', 'stream']).map(own => {
      const pending = own.filter(({ state }) => state === 'pending')
      return {
        ...pick(own[0]!, ['app_id', 'stream']),
        ...{ items: pending.length, lost: own.length - pending.length },
        oldest: pending.length === 0 ? null : Math.min(...pending.map(({ begins }) => Number(begins))),
      }
    }),
}

/** How much of each log is stored, as long as nothing of it was taken away for its age. */
const roomLogs: View = {
  name: 'ingest.room_log',
  told: `select l.app_id, l.room_uuid, l.incarnation, l.events::int as events, l.unconfirmed::int as unconfirmed, l.whole and l.unconfirmed > 0 as boasts
         from ingest.room_log l join classroom.room r using (app_id, room_uuid, incarnation) where r.emptied_at is null`,
  from: {
    rooms: `select r.app_id, r.room_uuid, max(r.incarnation) as incarnation from classroom.room r
            join ingest.progress p on (p.app_id, p.stream, p.series) = (r.app_id, 'room-events', r.room_uuid)
            group by 1, 2 having bool_and(r.emptied_at is null)`,
    events: `select app_id, room_uuid, incarnation, source, count(*)::int as events from classroom.room_event group by 1, 2, 3, 4`,
  },
  expected: from => {
    const events = Map.groupBy(from('events'), row => keyOf(row, classKey))
    return from('rooms').map(room => {
      const own = events.get(keyOf(room, classKey)) ?? []
      const fed = own.filter(({ source }) => source === 'feed')
      return { ...room, events: sum(own, 'events'), unconfirmed: sum(fed, 'events'), boasts: false }
    })
  },
}

const views: readonly View[] = [
  qualityBy('network_quality', ['network']),
  qualityBy('device_quality', ['platform', 'device_type']),
  usersBy('analytics.call_quality', ['app_id', 'call_id']),
  usersBy('analytics.class_quality', classKey, ' join analytics.class_call k using (app_id, call_id)'),
  usersBy(
    'analytics.usage_by_day',
    ['app_id', 'day'],
    ' join (select app_id, call_id, day from analytics.call_quality) d using (app_id, call_id)',
  ),
  ...[qualityByHour, worstCalls, stageOrHand, classComplete, schoolDay, letterCounts, queued, roomLogs],
]

/** Views that add up what other oracles hold against the world say the same as their parts. */
export async function examineViews(examination: Judged): Promise<readonly Finding[]> {
  const found: Finding[] = []
  for (const { name, told, from, expected } of views) {
    const parts = new Map<string, readonly Row[]>()
    for (const [part, asked] of Object.entries(from)) parts.set(part, await examination.rows<Row>(asked))
    const is = await examination.rows<Row>(told)
    const should = expected(part => parts.get(part)!, examination)
    const columns = Object.keys(is[0] ?? should[0] ?? {})
    const [left, right] = [counted(is, columns), counted(should, columns)]
    const wrong = [...left.difference(right)].map(text => `tells ${text}`)
    const missing = [...right.difference(left)].map(text => `does not tell ${text}`)
    for (const text of [...wrong.slice(0, 3), ...missing.slice(0, 3)])
      found.push({ kind: 'different', text: `${name} ${text}` })
    const shares = is.map(({ bad_share }) => Number(bad_share))
    if (name === worstCalls.name && shares.some((one, place) => one > (shares[place - 1] ?? 1)))
      found.push({ kind: 'different', text: `${name}: not the worst first` })
  }
  return found
}

/** Who is on the stage twice within a moment has two rows alike. */
function counted(rows: readonly Row[], columns: readonly string[]): ReadonlySet<string> {
  const groups = Map.groupBy(rows, row => written(row, columns))
  return new Set(
    [...groups].flatMap(([text, own]) => own.map((_, place) => (place === 0 ? text : `${text} #${place}`))),
  )
}

/** Sums of fractions depend on their order in the last digits. */
function written(row: Row, columns: readonly string[]): string {
  const rounded = (value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(9)) : (value ?? null)
  return canonical(columns.map(column => rounded(row[column])))
}

function groupsOf(rows: readonly Row[], key: readonly string[]): readonly (readonly Row[])[] {
  return [...Map.groupBy(rows, row => keyOf(row, key)).values()]
}

function keyOf(row: Row, key: readonly string[]): string {
  return canonical(key.map(column => row[column] ?? null))
}

function sum(rows: readonly Row[], column: string): number {
  return rows.reduce((all, row) => all + Number(row[column] ?? 0), 0)
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
