import type { Edge } from './edges.ts'

/** When calls and players began, and in which class, by incarnation; undefined where no class was seen. */
const moments: readonly (readonly [at: string, incarnation: number | undefined])[] = [
  ['2026-01-02 10:00', undefined],
  ['2026-01-05 09:44', undefined],
  ['2026-01-05 09:46', 1],
  ['2026-01-05 10:20', 1],
  ['2026-01-05 11:29', 1],
  ['2026-01-05 11:31', undefined],
  ['2026-01-06 07:00', undefined],
  ['2026-01-06 11:44', undefined],
  ['2026-01-06 11:46', 2],
  ['2026-01-06 11:59', 2],
  ['2026-01-06 13:59', 2],
  ['2026-01-06 14:01', undefined],
  ['2026-01-07 07:44', undefined],
  ['2026-01-07 07:50', 3],
  ['2026-01-07 08:00', 3],
  ['2026-01-09 08:00', 3],
]
const seen = moments.flatMap(([at, incarnation]) => (incarnation ? [[at, incarnation]] : []))
const times = `unnest(array[${moments.map(([at]) => `'${at}'`).join(', ')}]) m(at)`
const counts = [1, 2, 3].map(n => {
  const { length } = moments.filter(([, incarnation]) => incarnation === n)
  return [n, length, length]
})

/** Nobody saw the first end; the second was seen; the third class goes on. */
export const channels: Edge = {
  about: 'the channel of a room that is used again and again',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, valid_to,
                                last_event_at, forgotten_at) values
      ('reuse', 'maths', 1, 1, '2026-01-05 10:00', null, '2026-01-05 10:00', '2026-01-06 12:00', '2026-01-05 10:30', '2026-01-06 08:00'),
      ('reuse', 'maths', 2, 3, '2026-01-06 12:00', '2026-01-06 13:00', '2026-01-06 12:00', '2026-01-07 08:00', '2026-01-06 13:05', null),
      ('reuse', 'maths', 3, 1, '2026-01-07 08:00', null, '2026-01-07 08:00', null, '2026-01-09 09:00', null),
      ('breaks', 'maths', 1, 3, '2026-01-05 10:00', '2026-01-05 10:50', '2026-01-05 10:00', '2026-01-05 11:00', '2026-01-05 10:50', null),
      ('breaks', 'maths', 2, 1, '2026-01-05 11:00', null, '2026-01-05 11:00', null, '2026-01-05 11:30', null);
    insert into analytics.call (app_id, call_id, cname, created_at) values
      ('breaks', '10:58:30', 'maths', '2026-01-05 10:58:30'), ('breaks', '10:59:30', 'maths', '2026-01-05 10:59:30');
    insert into players.cloud_player (app_id, player_id, channel_name, status, created_at) values
      ('breaks', '10:58:30', 'maths', 'running', '2026-01-05 10:58:30'), ('breaks', '10:59:30', 'maths', 'running', '2026-01-05 10:59:30');
    insert into analytics.call (app_id, call_id, cname, created_at) select 'reuse', m.at, 'maths', m.at::timestamptz from ${times};
    insert into players.cloud_player (app_id, player_id, channel_name, status, created_at)
    select 'reuse', m.at, 'maths', 'running', m.at::timestamptz from ${times}`,
  cases: [
    {
      name: 'a call is of the class only when it began about when the class was',
      query: `select call_id, incarnation from analytics.class_call where app_id = 'reuse' order by 1`,
      expected: seen,
    },
    {
      name: 'so is a player',
      query: `select player_id, incarnation from players.class_player where app_id = 'reuse' order by 1`,
      expected: seen,
    },
    ...['analytics.class_call', 'players.class_player'].map(view => ({
      name: `what begins with a class after a short break is of that, by ${view}`,
      query: `select to_char(created_at, 'HH24:MI:SS'), incarnation from ${view} where app_id = 'breaks' order by 1`,
      expected: [
        ['10:58:30', 1],
        ['10:59:30', 2],
      ],
    })),
    {
      name: 'calls and players count for no other class',
      query: `select incarnation, calls, cloud_players from analytics.class_quality where app_id = 'reuse' order by 1`,
      expected: counts,
    },
  ],
  mutants: ['analytics.class_call', 'players.class_player'].flatMap(view => [
    {
      view,
      mistake: 'what begins with a class is of the class before',
      from: `- '00:01:00'::interval`,
      to: '',
    },
    { view, mistake: 'a class has an hour before it', from: `'00:15:00'`, to: `'01:00:00'` },
    { view, mistake: 'a class has nothing before it', from: `'00:15:00'`, to: `'00:00:00'` },
    { view, mistake: 'a class has half an hour after it', from: `'01:00:00'`, to: `'00:30:00'` },
    {
      ...{ view, mistake: 'a class whose end nobody saw has no end' },
      ...{ from: 'IS NOT NULL) THEN', to: 'IS NOT NULL AND false) THEN' },
    },
    {
      ...{ view, mistake: 'a class whose end nobody saw ends when that is noticed' },
      ...{ from: '.last_event_at', to: '.forgotten_at' },
    },
  ]),
}

const room = (
  name: string,
  state: number,
  ended: string | null,
  valid: string | null,
  forgotten: string | null,
) => {
  const moment = (at: string | null) => (at === null ? 'null' : `'${at}'`)
  return `('stays', '${name}', 1, ${state}, '2026-01-05 10:00', ${moment(ended)}, '2026-01-05 10:00', ${moment(valid)}, '2026-01-05 10:50', ${moment(forgotten)})`
}

export const stays: Edge = {
  about: 'people whose leaving nobody saw',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, valid_to,
                                last_event_at, forgotten_at) values
      ${room('forgotten', 1, null, null, '2026-01-05 14:00')},
      ${room('going on', 1, null, null, null)},
      ${room('late', 2, '2026-01-05 10:30', null, null)},
      ${room('used again', 3, '2026-01-05 10:30', '2026-01-06 10:00', null)};
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at)
    select 'stays', r.room_uuid, 1, a.n, 0, a.who, '2', a.action, a.at::timestamptz
    from classroom.room r
    cross join (values (1, 'ann', 'enter', '2026-01-05 10:00'), (2, 'bob', 'enter', '2026-01-05 10:10'),
                       (3, 'bob', 'leave', '2026-01-05 10:20'), (4, 'eve', 'enter', '2026-01-05 10:35')) a(n, who, action, at)
    where r.app_id = 'stays'`,
  cases: [
    {
      name: 'they stayed to the end of the class, or to the last event of a room that is gone',
      query: `select room_uuid, user_uuid, minutes, to_char(left_at, 'HH24:MI') from classroom.participation
              where app_id = 'stays' and user_uuid <> 'bob' order by 1, 2`,
      expected: [
        ['forgotten', 'ann', 50, '10:50'],
        ['forgotten', 'eve', 15, '10:50'],
        ['going on', 'ann', null, null],
        ['going on', 'eve', null, null],
        ['late', 'ann', 30, '10:30'],
        ['late', 'eve', null, null],
        ['used again', 'ann', 30, '10:30'],
        ['used again', 'eve', 15, '10:50'],
      ],
    },
    {
      name: 'they are no longer counted then',
      query: `select distinct on (room_uuid) room_uuid, to_char(at, 'HH24:MI'), people, students from classroom.head_count
              where app_id = 'stays' order by room_uuid, at desc`,
      expected: [
        ['forgotten', '10:50', 0, 0],
        ['going on', '10:35', 2, 2],
        ['late', '10:35', 1, 1],
        ['used again', '10:50', 0, 0],
      ],
    },
    {
      name: 'they were there as long for those who ask about attention',
      query: `select room_uuid, to_char(until, 'HH24:MI'), (students_first_half + students_second_half) * 25
              from classroom.attention where app_id = 'stays' and until > '2026-01-05 10:30' order by 1`,
      expected: [
        ['forgotten', '10:50', 50 + 10 + 15],
        ['going on', '10:50', 50 + 10 + 15],
      ],
    },
  ],
  mutants: [
    {
      ...{
        view: 'classroom.attendance_interval',
        mistake: 'who came into a forgotten room is there for ever',
      },
      ...{ from: 'forgotten_at IS NOT NULL', to: 'false' },
    },
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'who came after the end is there for ever' },
      ...{ from: 'valid_to IS NOT NULL', to: 'false' },
    },
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'a room that goes on is gone' },
      ...{ from: '(forgotten_at IS NOT NULL)', to: 'true' },
    },
  ],
}

const told = (time: number | string | null) => (time === null ? '{}' : JSON.stringify({ updateTime: time }))

/** What one event says of somebody: that they came, and that they left, with the times of both. */
function bothAt(sequence: number, who: string, came: number | string | null, left: number | string | null) {
  return [
    `(${sequence}, '${who}', 'enter', '${told(came)}')`,
    `(${sequence}, '${who}', 'leave', '${told(left)}')`,
  ]
}

export const comingAndGoing: Edge = {
  about: 'people who come and leave in one event',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at) values
      ('both', 'hall', 1, 2, '2026-01-05 10:00', '2026-01-05 11:00', '2026-01-05 09:55', '2026-01-05 11:00');
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at, extra)
    select 'both', 'hall', 1, a.n, row_number() over (), a.who, '2', a.action, '2026-01-05 10:00'::timestamptz + a.n * interval '10 minutes', a.extra::jsonb
    from (values ${[
      `(0, 'inside', 'enter', null), (0, 'lost', 'enter', null), (0, 'twice', 'enter', null)`,
      `(3, 'twice', 'leave', null), (5, 'later', 'enter', null)`,
      // Told by their times, whatever was before.
      ...[
        ...bothAt(1, 'lost', 1_000, 2_000),
        ...bothAt(1, 'back', 2_000, 1_000),
        ...bothAt(1, 'text', '9', '10'),
      ],
      // Told by what was before: without both times, or with one time for both.
      ...[...bothAt(1, 'inside', null, 7), ...bothAt(1, 'outside', 7, 7), ...bothAt(1, 'twice', 0, 0)],
      ...[...bothAt(2, 'twice', null, null), ...bothAt(2, 'later', null, null)],
    ].join(', ')}) a(n, who, action, extra)`,
  cases: [
    {
      name: 'left and came back where they were there or their times say so, else came and left',
      query: `select user_uuid, to_char(entered_at, 'HH24:MI'), to_char(left_at, 'HH24:MI') from classroom.attendance_interval
              where app_id = 'both' order by 1, 2, 3`,
      expected: [
        ['back', '10:10', null],
        ['inside', '10:00', '10:10'],
        ['inside', '10:10', null],
        ['later', '10:20', '10:20'],
        ['later', '10:50', null],
        ['lost', '10:00', '10:10'],
        ['outside', '10:10', '10:10'],
        ['text', '10:10', '10:10'],
        ['twice', '10:00', '10:10'],
        ['twice', '10:10', '10:20'],
        ['twice', '10:20', '10:30'],
      ],
    },
    {
      name: 'are counted while they are there',
      query: `select distinct on (at) to_char(at, 'HH24:MI'), people from classroom.head_count where app_id = 'both' order by at`,
      expected: [
        ['10:00', 3],
        ['10:10', 3],
        ['10:20', 3],
        ['10:30', 2],
        ['10:50', 3],
        ['11:00', 0],
      ],
    },
  ],
  mutants: [
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'their times say nothing' },
      ...{ from: 'b.went < b.entered', to: 'NULL::boolean' },
    },
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'who was there before says nothing' },
      ...{ from: `'enter'::text), false)`, to: `'nothing'::text), false)` },
    },
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'an event that says both decides about the next' },
      ...{ from: '(q.action <> p.action)', to: 'false' },
    },
  ],
}

/** Its log was read at 12:00, and told the end with the time of the last event before that which has one. */
export const toldLate: Edge = {
  about: 'the channel of a class whose end was told late',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, ended_by, valid_from, last_event_at) values
      ('told late', 'maths', 1, 2, '2026-01-05 10:00', '2026-01-05 10:00', '2026-01-05 12:00', '2026-01-05 10:00', '2026-01-05 10:00');
    insert into analytics.call (app_id, call_id, cname, created_at)
    select 'told late', m.at, 'maths', m.at::timestamptz from unnest(array['2026-01-05 11:30', '2026-01-05 12:59', '2026-01-05 13:01']) m(at);
    insert into players.cloud_player (app_id, player_id, channel_name, status, created_at)
    select app_id, call_id, cname, 'running', created_at from analytics.call where app_id = 'told late'`,
  cases: ['call_id from analytics.class_call', 'player_id from players.class_player'].map(told => ({
    name: `belongs to the class for as long as that may have gone on (${told})`,
    query: `select ${told} where app_id = 'told late' order by 1`,
    expected: [['2026-01-05 11:30'], ['2026-01-05 12:59']],
  })),
  mutants: [
    { view: 'analytics.class_call', from: 'GREATEST(r.ended_at, r.ended_by)', to: 'r.ended_at' },
    { view: 'players.class_player', from: 'GREATEST(r_1.ended_at, r_1.ended_by)', to: 'r_1.ended_at' },
  ].map(each => ({ ...each, mistake: 'a class is over with the last event before its end' })),
}

export const ends: Edge = {
  about: 'classes whose end has no time later than their start',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at) values
      ('ends', 'known', 1, 2, '2026-01-05 10:00', '2026-01-05 11:00', '2026-01-05 09:55', '2026-01-05 11:30'),
      ('ends', 'never begun', 1, 3, null, '2026-01-05 11:00', '2026-01-05 09:55', '2026-01-05 11:00'),
      ('ends', 'not over', 1, 1, '2026-01-05 10:00', null, '2026-01-05 09:55', '2026-01-05 10:20'),
      ('ends', 'only begun', 1, 1, '2026-01-05 10:00', null, '2026-01-05 09:55', '2026-01-05 10:00'),
      ('ends', 'unknown', 1, 2, '2026-01-05 10:00', '2026-01-05 10:00', '2026-01-05 09:55', '2026-01-05 10:20');
    insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
    select 'ends', room_uuid, room_uuid, '2026-01-05 10:01', '2026-01-05 10:30', true from classroom.room where app_id = 'ends'`,
  cases: [
    {
      name: 'are over, and nobody knows since when',
      query: `select room_uuid, state, is_going_on, to_char(ended_at, 'HH24:MI'), minutes from classroom.class where app_id = 'ends' order by 1`,
      expected: [
        ['known', 'ended', false, '11:00', 60],
        ['never begun', 'closed', false, '11:00', null],
        ['not over', 'started', true, null, 20],
        ['only begun', 'started', true, null, 0],
        ['unknown', 'ended', false, null, null],
      ],
    },
    {
      name: 'have the same end wherever they are told of',
      query: `
        select c.room_uuid, to_char(c.ended_at, 'HH24:MI'), to_char(d.ended_at, 'HH24:MI'), to_char(k.class_ended_at, 'HH24:MI'),
               to_char(q.ended_at, 'HH24:MI')
        from classroom.class c
        join classroom.class_complete d using (app_id, room_uuid, incarnation)
        join analytics.class_call k using (app_id, room_uuid, incarnation)
        join analytics.class_quality q using (app_id, room_uuid, incarnation)
        where c.app_id = 'ends' order by 1`,
      expected: [
        ['known', '11:00', '11:00', '11:00', '11:00'],
        ['never begun', '11:00', '11:00', '11:00', '11:00'],
        ['not over', null, null, null, null],
        ['only begun', null, null, null, null],
        ['unknown', null, null, null, null],
      ],
    },
  ],
  mutants: [
    ...['classroom.class_complete', 'analytics.class_call'].map(view => ({
      ...{ view, mistake: 'a class ends when it begins' },
      ...{ from: '(r.ended_at <= r.started_at)', to: '(r.ended_at < r.started_at)' },
    })),
    {
      ...{ view: 'classroom.class', mistake: 'a class ends when it begins' },
      ...{ from: '(r.ended_at <= r.started_at)', to: '(r.ended_at < r.started_at)' },
    },
  ],
}

const roleNames = ['1', ' Teacher ', 'HOST', '3', 'Assistant', '2', 'Student', 'observer', '0', '']

export const roles: Edge = {
  about: 'roles',
  rows: `
    insert into classroom.room (app_id, room_uuid, incarnation, last_event_at) values ('roles', 'hall', 1, '2026-01-05');
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
    select 'roles', 'hall', 1, r.n, 0, r.n, r.n, r.role, 'enter', '2026-01-05'
    from unnest(array[${roleNames.map(name => `'${name}'`).join(', ')}, null]) with ordinality r(role, n);
    insert into classroom.room (app_id, room_uuid, incarnation, last_event_at) values ('roles told once', 'hall', 1, '2026-01-05');
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
    select 'roles told once', 'hall', 1, r.n, 0, r.who, r.who, r.role, r.action, '2026-01-05'
    from (values (1, 'tom', '1', 'enter'), (2, 'ann', '2', 'enter'), (3, 'tom', null, 'leave'), (4, 'ann', '', 'leave'),
                 (5, 'eve', null, 'leave')) r(n, who, role, action);
    update classroom.room set started_at = '2026-01-05 10:00', ended_at = '2026-01-05 11:00' where app_id = 'roles told once';
    insert into classroom.chat_message (app_id, room_uuid, incarnation, sequence, user_uuid, role, message, at)
    values ('roles told once', 'hall', 1, 6, 'tom', null, 'Good morning', '2026-01-05 10:10'),
           ('roles told once', 'hall', 1, 7, 'ann', '', 'Good morning', '2026-01-05 10:40')`,
  cases: [
    {
      name: 'are read whatever their letters and blanks, and those that nobody knows are counted',
      query: `select students, unknown_roles, cardinality(string_to_array(teachers, ', ')) from classroom.class where app_id = 'roles'`,
      expected: [[6, 4, 5]],
    },
    {
      name: 'hold when whoever leaves is told without one',
      query: `select students, unknown_roles, teachers from classroom.class where app_id = 'roles told once'`,
      expected: [[2, 1, 'tom']],
    },
    {
      name: 'hold for what somebody writes who is told without one',
      query: `select acts_first_half, acts_second_half from classroom.attention where app_id = 'roles told once'`,
      expected: [[0, 1]],
    },
  ],
  mutants: [
    {
      ...{ view: 'classroom.class', mistake: 'roles are taken by the letter' },
      ...{ from: 'classroom.is_student(a.role)', to: `(a.role not in ('1', '3'))` },
    },
  ],
}
