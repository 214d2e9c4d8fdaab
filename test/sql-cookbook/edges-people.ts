import type { Case, Edge } from './edges.ts'

const bell = '2026-02-02 10:00'
const room = (app: string, name: string, at = bell) =>
  `('${app}', '${name}', 1, 2, '${at}', '${at}'::timestamptz + interval '1 hour', '${at}', '${at}'::timestamptz + interval '1 hour')`
const rooms = (...all: readonly string[]) => `
  insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at)
  values ${all.join(', ')};`

/**
 * Ann comes back on another stream, bob and eve are told with the same one, and of tim's there is no stay; the recorder is
 * nobody's.
 */
const classOf = (app: string, ids: Readonly<Record<'ann' | 'bob' | 'eve' | 'tim', string>>) => `
  ${rooms(room(app, 'maths'))}
  insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, stream_uuid, action, at)
  select '${app}', 'maths', 1, a.n, 0, a.who, 'the name of ' || a.who, '2', a.stream, a.action, '${bell}'::timestamptz + a.n * interval '1 minute'
  from (values (1, '${ids.ann}', '71', 'enter'), (2, '${ids.ann}', '71', 'leave'), (3, '${ids.ann}', '72', 'enter'),
               (4, '${ids.bob}', '73', 'enter'), (5, '${ids.eve}', '73', 'enter'), (6, '${ids.tim}', '74', 'enter')) a(n, who, stream, action);
  insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
  values ('${app}', 'call', 'maths', '${bell}', '${bell}'::timestamptz + interval '1 hour', true);
  insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
  values ('${app}', 'call-sessions', 'call', '0', '${bell}', '${bell}', 'done');
  insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at)
  select '${app}', 'call', 's' || u, u, '${bell}', '${bell}'::timestamptz + interval '10 minutes'
  from unnest(array['71', '72', '73', '9001']) u;`

/** Of what stands before the number and behind it, the ID has the same sign for both. */
const overlapping: Case = {
  name: 'an ID that is too short for the rule has no number in it',
  meanwhile: `update ingest.app set user_link = 'pupil-{uid}-' where app_id = 'by rule';
    update classroom.attendance set user_uuid = 'pupil-' where app_id = 'by rule' and user_uuid = 'pupil-!'`,
  query: `select user_uuid, linked_by from classroom.user_call where app_id = 'by rule' and user_uuid = 'pupil-'`,
  expected: [['pupil-', 'none']],
}

export const links: Edge = {
  about: 'who somebody of a class was in its call',
  rows: `
    insert into ingest.app (app_id, user_link) values ('by rule', 'pupil-{uid}!'), ('by nothing', 'off');
    ${classOf('by stream', { ann: 'ann', bob: 'bob', eve: 'eve', tim: 'tim' })}
    ${classOf('by rule', { ann: 'pupil-71!', bob: 'pupil-73!', eve: 'pupil-74', tim: 'pupil-!' })}
    ${classOf('by nothing', { ann: 'off71', bob: 'bob', eve: 'eve', tim: 'tim' })}
    insert into analytics.session_digest (app_id, call_id, sid, mids, samples, least, most, average, p50, p95, bad_samples)
    values ('by stream', 'call', 's71', '{20005,20011,20016,20018,20022}', '{10,10,30,30,10}', '{0,0,0,0,0}', '{0,0,0,0,0}',
            '{0,0,0,0,0}', '{0,0,0,0,0}', '{0,0,0,0,0}', '{2,10,0,10,10}');
    insert into analytics.session_summary (app_id, call_id, sid, samples, bad_samples, freeze_samples, freezes, rtt_avg_ms, volume_samples, talk_samples)
    values ('by stream', 'call', 's71', 90, 32, 20, 12, 50, 100, 25)`,
  cases: [
    {
      name: 'the uuid of the stream tells, unless several have it',
      query: `select user_uuid, linked_by, sid from classroom.user_call where app_id = 'by stream' order by 1, 3`,
      expected: [
        ['ann', 'stream', 's71'],
        ['ann', 'stream', 's72'],
        ['bob', 'shared', null],
        ['eve', 'shared', null],
        ['tim', 'none', null],
      ],
    },
    {
      name: 'a stay that is not found may be in what is not read yet',
      meanwhile: `update ingest.work_item set state = 'pending' where app_id in ('by stream', 'by nothing')`,
      query: `select distinct app_id, user_uuid, linked_by from classroom.user_call
              where app_id in ('by stream', 'by nothing') and user_uuid in ('bob', 'tim') order by 1, 2`,
      expected: [
        ['by nothing', 'bob', 'none'],
        ['by nothing', 'tim', 'none'],
        ['by stream', 'bob', 'shared'],
        ['by stream', 'tim', 'unread'],
      ],
    },
    {
      name: 'the user ID tells where the configuration says how',
      query: `select user_uuid, linked_by, sid from classroom.user_call where app_id = 'by rule' order by 1, 3`,
      expected: [
        ['pupil-!', 'none', null],
        ['pupil-71!', 'rule', 's71'],
        ['pupil-73!', 'rule', 's73'],
        ['pupil-74', 'none', null],
      ],
    },
    overlapping,
    {
      name: 'nothing tells where it says so',
      query: `select distinct linked_by, count(sid)::int from classroom.user_call where app_id = 'by nothing' group by 1`,
      expected: [['none', 0]],
    },
    {
      name: 'sound and picture are told apart, and talk is a share of the stay',
      query: `select audio_bad_share, video_bad_share, rtt_avg_ms, talk_minutes, minutes, partial from classroom.user_call
              where app_id = 'by stream' and sid = 's71'`,
      expected: [[0.05, 0.5, 50, 2.5, 10, true]],
    },
    {
      name: 'a stay that is told to have ended before it began lasted for no time',
      meanwhile: `update analytics.call_session set left_at = joined_at - interval '1 minute' where app_id = 'by stream'`,
      query: `select u.minutes, u.talk_minutes, q.minutes, q.talk_minutes
              from classroom.user_call u join analytics.session_quality q using (app_id, call_id, sid)
              where u.app_id = 'by stream' and u.sid = 's71'`,
      expected: [[0, 0, 0, 0]],
    },
  ],
  mutants: [
    ['somebody is taken for one of several', ' <> max(p.user_uuid)', ' > max(p.user_uuid)'],
    ['a rule is guessed where there is none', `<> 'off'::text`, `<> ''::text`],
    ['it is not said how', `= 'stream'::text) THEN 'stream'::text`, `= 'stream'::text) THEN 'rule'::text`],
    ['what is not read is not there', `THEN 'unread'::text`, `THEN 'none'::text`],
    ['the picture counts as sound', 'ARRAY[20005, 20016]', 'ARRAY[20005, 20016, 20011]'],
    ['who talks once talks all the time', 'q.talk_samples)', 'q.volume_samples)'],
  ].map(([mistake, from, to]) => ({
    view: 'classroom.user_call',
    ...{ mistake: mistake!, from: from!, to: to! },
  })),
}

/** Minutes after the bell, and what the event says of the stage or of the hands. */
const change = (minute: number, who: string, action: string) =>
  `(${minute}, '${who}', '${action}', '${bell}'::timestamptz + interval '${minute} minutes')`
const changes = [
  change(1, 'ann', 'add'),
  change(2, 'ann', 'present'),
  change(4, 'ann', 'remove'),
  change(5, 'ann', 'add'),
  change(10, 'bob', 'present'),
  change(20, 'eve', 'remove'),
  change(30, 'tim', 'add'),
]
const told = [
  ['ann', 1, 4, 3],
  ['ann', 5, 7, 2],
  ['bob', 10, null, 50],
  ['tim', 30, null, 30],
]
const spans = [
  ['stage_interval', 'stage_change'],
  ['hand_interval', 'hand_wave'],
] as const

export const intervals: Edge = {
  about: 'who is on the stage or waves, and of whom it is not said that they do no more',
  rows: `
    ${rooms(room('spans', 'maths'))}
    ${spans
      .map(
        ([, table]) => `
    insert into classroom.${table} (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
    select 'spans', 'maths', 1, c.n, 0, c.who, c.action, c.at from (values ${changes.join(', ')}) c(n, who, action, at);`,
      )
      .join('')}
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
    select 'spans', 'maths', 1, c.n, 0, c.who, initcap(c.who), '2', c.action, c.at
    from (values ${change(0, 'ann', 'enter')}, ${change(7, 'ann', 'leave')}) c(n, who, action, at)`,
  cases: spans.map(([view]) => ({
    name: `${view} ends with a word, with the leaving, or with the class`,
    query: `select user_uuid, extract(epoch from began_at - '${bell}')::int / 60, extract(epoch from ended_at - '${bell}')::int / 60,
                   extract(epoch from lasted)::int / 60
            from classroom.${view} where app_id = 'spans' order by 1, 2`,
    expected: told,
  })),
  mutants: [
    ['who leaves stays on', `= 'leave'::text`, `= ''::text`],
    ['who is told to be there again came again', 'IS DISTINCT FROM c.was_on', 'IS NOT NULL'],
    ['who was not seen coming is not there', `<> 'remove'::text`, `= 'add'::text`],
    ['a class that ended takes nobody off', 'r.ended_at > s.at', 'false'],
    ['who waves on the stage is there twice', 'PARTITION BY x.what, x.user_uuid', 'PARTITION BY x.user_uuid'],
  ].map(([mistake, from, to]) => ({
    view: 'classroom.stage_or_hand_interval',
    ...{ mistake: mistake!, from: from!, to: to! },
  })),
}

/** Sunday night in Berlin is Sunday evening in UTC: by the school's days, the second class is of the second week. */
const lessons = [
  ['2026-02-05 09:00', 'ann,bob'],
  ['2026-02-08 23:30', 'ann'],
  ['2026-02-11 09:00', 'ann,bob,eve'],
  ['2026-02-15 10:00', 'tim'],
  ['2026-02-25 09:00', 'eve'],
] as const

export const weeks: Edge = {
  about: 'attendance by day and week',
  rows: `
    insert into ingest.app (app_id, time_zone) values ('weeks', 'Europe/Berlin');
    ${rooms(...lessons.map(([at], n) => room('weeks', `lesson ${n}`, at)))}
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at)
    select r.app_id, r.room_uuid, 1, w.n, 0, w.who, case w.who when 'teacher' then '1' else '2' end, a.action, r.started_at + a.after
    from classroom.room r
    join (values ${lessons.map(([, who], n) => `('lesson ${n}', '${who},teacher')`).join(', ')}) l(room, people) on l.room = r.room_uuid
    cross join lateral unnest(string_to_array(l.people, ',')) with ordinality w(who, place)
    cross join (values ('enter', interval '0', 0), ('leave', interval '30 minutes', 100)) a(action, after, later)
    cross join lateral (select w.place + a.later as n) o
    where r.app_id = 'weeks'`.replaceAll('w.n,', 'o.n,'),
  cases: [
    {
      name: 'are of students alone, each counted once',
      query: `select day::text, classes, students, visits, student_minutes from classroom.attendance_by_day where app_id = 'weeks' order by day`,
      expected: [
        ['2026-02-05', 1, 2, 2, 60],
        ['2026-02-09', 1, 1, 1, 30],
        ['2026-02-11', 1, 3, 3, 90],
        ['2026-02-15', 1, 1, 1, 30],
        ['2026-02-25', 1, 1, 1, 30],
      ],
    },
    {
      name: 'are put beside the week before, where there were classes',
      query: `select week::text, classes, students, visits, student_minutes, students_before, visits_before, student_minutes_before, change
              from classroom.attendance_by_week where app_id = 'weeks' order by week`,
      expected: [
        ['2026-02-02', 1, 2, 2, 60, 0, 0, 0, null],
        ['2026-02-09', 3, 4, 5, 150, 2, 2, 60, 1.5],
        ['2026-02-23', 1, 1, 1, 30, 0, 0, 0, null],
      ],
    },
  ],
  mutants: [
    ['ingest.class_day', 'days are those of UTC', 'd.time_zone = z.time_zone', `d.time_zone = 'UTC'::text`],
    [
      'ingest.attendance_of_day',
      'teachers are students',
      'HAVING bool_and(classroom.is_student(i.role))',
      '',
    ],
    ['classroom.attendance_by_week', 'the week before is the week after', '(false,7)', '(false,-7)'],
    [
      'classroom.attendance_by_week',
      'a student counts for each class',
      'count(DISTINCT u.student)',
      'count(u.student)',
    ],
    ['classroom.attendance_by_week', 'a week begins on Sunday', '- 1)) AS week', '- 0)) AS week'],
  ].map(([view, mistake, from, to]) => ({
    ...{ view: view!, mistake: mistake!, from: from!, to: to! },
  })),
}
