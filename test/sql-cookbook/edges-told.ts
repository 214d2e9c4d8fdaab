import type { Edge } from './edges.ts'

const bell = '2026-02-02 10:00'
const minute = (column: string) => `(extract(epoch from ${column} - '${bell}') / 60)::int`

/** A class of an hour, unless it ends otherwise; `gone` is when the room was used again. */
const room = (app: string, name: string, ends = `'2026-02-02 11:00'`, gone = 'null') => `
  insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, valid_to, last_event_at)
  values ('${app}', '${name}', 1, 2, '${bell}', ${ends}, '2026-02-02 09:50', ${gone}, '2026-02-02 10:40');`

/** Minutes after the bell. */
const came = (
  app: string,
  name: string,
  ...all: readonly (readonly [number, string, string | null, string])[]
) => `
  insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
  select '${app}', '${name}', 1, a.n, 0, a.who, a.who, a.role, a.action, '${bell}'::timestamptz + a.at * interval '1 minute'
  from (values ${all
    .map(([at, who, role, action], n) => `(${n + 1}, ${at}, '${who}', ${role && `'${role}'`}, '${action}')`)
    .join(', ')}) a(n, at, who, role, action);`

const poll = (id: string, mode: number, items: string, state: string) =>
  `('polls', 'hall', 1, '${id}', ${mode}, '${items}', '${state}')`
const vote = (id: string, who: string, ordinal: number, chosen: string | null) =>
  `('polls', 'hall', 1, '${id}', '${who}', ${ordinal}, ${chosen && `'${chosen}'`})`

/** What summaries tell of options holds; of the others the last votes do. */
export const polls: Edge = {
  about: 'polls whose summaries do not tell of every option',
  rows: `
    ${room('polls', 'hall')}
    insert into classroom.poll (app_id, room_uuid, incarnation, poll_id, mode, items, state) values
      ${[
        poll('chosen alone', 2, '["x", "y", "z"]', 'ended'),
        poll('no summary', 1, '["x", "y", "z"]', 'running'),
        poll('nobody yet', 1, '{"0": "x", "1": "y"}', 'running'),
        poll('votes lost', 1, '["x", "y"]', 'ended'),
        poll('without shares', 1, '["x", "y", "z"]', 'ended'),
      ].join(', ')};
    insert into classroom.poll (app_id, room_uuid, incarnation, poll_id, mode, state) values
      ('polls', 'hall', 1, 'start not seen', 1, 'running');
    insert into classroom.poll_tally (app_id, room_uuid, incarnation, poll_id, option_index, num, percentage) values
      ('polls', 'hall', 1, 'chosen alone', 0, 1, 0.5), ('polls', 'hall', 1, 'chosen alone', 1, 2, 1),
      ('polls', 'hall', 1, 'votes lost', 1, 3, 1),
      ('polls', 'hall', 1, 'without shares', 0, 3, null), ('polls', 'hall', 1, 'without shares', 1, 0, null);
    insert into classroom.poll_submission (app_id, room_uuid, incarnation, poll_id, user_uuid, ordinal, select_index) values
      ${[
        ...[vote('chosen alone', 'ann', 1, '{0,1}'), vote('chosen alone', 'bob', 2, '{1}')],
        // Ann changes her mind, eve takes hers back, of tim's nothing can be read; two have no ID.
        ...[vote('no summary', 'ann', 3, '{0}'), vote('no summary', 'ann', 4, '{1}')],
        ...[vote('no summary', 'eve', 5, '{0}'), vote('no summary', 'eve', 6, '{}')],
        vote('no summary', 'tim', 7, null),
        ...[
          vote('no summary', '', 8, '{1}'),
          vote('no summary', '', 9, '{0,0}'),
          vote('no summary', 'bob', 10, '{1}'),
        ],
        vote('start not seen', 'ann', 11, '{2}'),
      ].join(', ')}`,
  cases: [
    {
      name: 'have a row for each option all the same',
      query: `select poll_id, option_index, option, votes, share from classroom.poll_result where app_id = 'polls' order by 1, 2`,
      expected: [
        ['chosen alone', 0, 'x', 1, 0.5],
        ['chosen alone', 1, 'y', 2, 1],
        ['chosen alone', 2, 'z', 0, 0],
        ['no summary', 0, 'x', 1, 0.25],
        ['no summary', 1, 'y', 3, 0.75],
        ['no summary', 2, 'z', 0, 0],
        ['nobody yet', 0, 'x', 0, null],
        ['nobody yet', 1, 'y', 0, null],
        ['start not seen', 2, null, 1, 1],
        ['votes lost', 0, 'x', 0, 0],
        ['votes lost', 1, 'y', 3, 1],
        ['without shares', 0, 'x', 3, null],
        ['without shares', 1, 'y', 0, 0],
        ['without shares', 2, 'z', 0, 0],
      ],
    },
  ],
  mutants: [
    ['a vote that was changed counts too', 'x.ordinal DESC', 'x.ordinal'],
    ['all who are told without an ID are one', `WHEN ''::text THEN x.ordinal`, `WHEN ''::text THEN 0`],
    ['who took the vote back has voted', `<> '{}'::integer[]`, `IS NOT NULL`],
    ['nobody chose what no summary told', 'count(DISTINCT o_1.voter)', 'count(DISTINCT NULL::bigint)'],
  ].map(([mistake, from, to]) => ({
    view: 'classroom.poll_result',
    ...{ mistake: mistake!, from: from!, to: to! },
  })),
}

/** Of a class of which nobody knows when it ended, nobody knows whether people stayed until then. */
export const unknownEnds: Edge = {
  about: 'people in a class of which nobody knows when it ended',
  rows: ['used again', 'there']
    .map(
      name => `
    ${room('unknown ends', name, `'${bell}'`, name === 'there' ? 'null' : `'2026-02-03'`)}
    ${came('unknown ends', name, [-8, 'tom', '1', 'enter'], [2, 'ann', '2', 'enter'])}
    insert into classroom.hand_wave (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
    values ('unknown ends', '${name}', 1, 3, 0, 'tom', 'add', '2026-02-02 09:57');`,
    )
    .join(''),
  cases: [
    {
      name: 'were there until the last event of a room that is gone, and may be there still in another',
      query: `select room_uuid, user_uuid, minutes, ${minute('left_at')} from classroom.participation
              where app_id = 'unknown ends' order by 1, 2`,
      expected: [
        ['there', 'ann', null, null],
        ['there', 'tom', null, null],
        ['used again', 'ann', 38, 40],
        ['used again', 'tom', 48, 40],
      ],
    },
    {
      name: 'had their hands up as long',
      query: `select room_uuid, (extract(epoch from lasted) / 60)::int from classroom.hand_interval where app_id = 'unknown ends' order by 1`,
      expected: [
        ['there', null],
        ['used again', 43],
      ],
    },
  ],
  mutants: ['classroom.attendance_interval', 'classroom.stage_or_hand_interval'].map(view => ({
    ...{ view, mistake: 'who came before a class whose end is unknown left at its start' },
    ...{ from: 'IS NOT TRUE', to: 'IS NOT NULL' },
  })),
}

/** What begins may be dated by when it was served, and what ends it by its own time. */
export const before: Edge = {
  about: 'who is told to have left before they came',
  rows: `
    ${room('before', 'hall')}
    ${came('before', 'hall', [0, 'tom', '1', 'enter'], [30, 'ann', '2', 'enter'], [29, 'ann', '2', 'leave'])}
    insert into classroom.stage_change (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at) values
      ('before', 'hall', 1, 8, 0, 'tom', 'add', '2026-02-02 10:20'), ('before', 'hall', 1, 9, 0, 'tom', 'remove', '2026-02-02 10:19')`,
  cases: [
    {
      name: 'has not stayed, for no less than no time',
      query: `select stays, minutes, (select extract(epoch from lasted)::int from classroom.stage_interval where app_id = 'before')
              from classroom.participation where app_id = 'before' and user_uuid = 'ann'`,
      expected: [[1, 0, 0]],
    },
    {
      name: 'is never less than nobody',
      query: `select ${minute('at')}, people, students from classroom.head_count where app_id = 'before' order by at`,
      expected: [
        [0, 1, 0],
        [30, 1, 0],
        [60, 0, 0],
      ],
    },
  ],
  mutants: [
    {
      ...{ view: 'classroom.attendance_interval', mistake: 'a stay lasts less than no time' },
      ...{ from: '(left_at < at)', to: 'false' },
    },
    {
      ...{ view: 'classroom.stage_or_hand_interval', mistake: 'a stay lasts less than no time' },
      ...{ from: '(s.until < s.at)', to: 'false' },
    },
  ],
}

export const lateTeachers: Edge = {
  about: 'teachers who come more than once, and are told without a role once',
  rows: `
    ${room('late teachers', 'hall')}
    ${came(
      ...(['late teachers', 'hall'] as const),
      ...([
        [-5, 'tom', '1', 'enter'],
        [10, 'tom', '1', 'leave'],
        [20, 'tom', null, 'enter'],
        [6, 'ann', '2', 'enter'],
        [12, 'tim', null, 'enter'],
        [13, 'tim', null, 'leave'],
        [14, 'tim', '3', 'enter'],
      ] as const),
    )}`,
  cases: [
    {
      name: 'are no students who come late',
      query: `select user_uuid, minutes_late from classroom.late_arrival where app_id = 'late teachers'`,
      expected: [['ann', 6]],
    },
    {
      name: 'are no students among those who are there',
      query: `select ${minute('at')}, people, students from classroom.head_count where app_id = 'late teachers' order by at`,
      expected: [
        [-5, 1, 0],
        [6, 2, 1],
        [10, 1, 1],
        [12, 2, 1],
        [13, 1, 1],
        [14, 2, 1],
        [20, 3, 1],
        [60, 0, 0],
      ],
    },
    {
      name: 'and not in either half of a class',
      query: `select round(students_first_half::numeric, 2)::float8, students_second_half from classroom.attention where app_id = 'late teachers'`,
      expected: [[0.8, 1]],
    },
  ],
  mutants: [
    {
      ...{ view: 'classroom.late_arrival', mistake: 'a teacher is late once no role is told' },
      ...{ from: 'bool_and(', to: 'bool_or(' },
    },
  ],
}

/** The log was read half an hour after the bell: until then nobody's coming has a time, but that of tim. */
export const toldAtOnce: Edge = {
  about: 'students whose coming has the time at which the log was read',
  rows: `
    ${room('told at once', 'hall')}
    ${came(
      ...(['told at once', 'hall'] as const),
      ...([
        [30, 'ann', '2', 'enter'],
        [30, 'ann', '2', 'leave'],
        [0, 'tom', '1', 'enter'],
        [30, 'ann', '2', 'enter'],
        [30, 'bob', '2', 'enter'],
        [12, 'tim', '2', 'enter'],
      ] as const),
    )}
    insert into classroom.room_state_change (app_id, room_uuid, incarnation, sequence, state, at)
    select 'told at once', 'hall', 1, c.sequence, c.state, '${bell}' from (values (2, 0), (3, 1), (7, 2), (8, 1)) c(sequence, state)`,
  cases: [
    {
      name: 'came late where they came behind the start',
      query: `select user_uuid, minutes_late from classroom.late_arrival where app_id = 'told at once' order by 1`,
      expected: [
        ['bob', 30],
        ['tim', 12],
      ],
    },
  ],
  mutants: [
    {
      ...{ view: 'classroom.late_arrival', mistake: 'who came before any state is late' },
      ...{ from: '(c.state = 1)', to: '(c.state = 7)' },
    },
    {
      ...{ view: 'classroom.late_arrival', mistake: 'who came before the last start is not late' },
      ...{ from: 'min(c.sequence)', to: 'max(c.sequence)' },
    },
  ],
}

/** Ann came without a stream first, tom with another number and without his role; of eve no stay is found by two numbers. */
export const foundOnce: Edge = {
  about: 'users who are found in a call by one of several streams',
  rows: `
    ${room('found once', 'hall')}
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, stream_uuid, action, at)
    select 'found once', 'hall', 1, a.n, 0, a.who, a.who, a.role, a.stream, 'enter', '${bell}'
    from (values (1, 'ann', '2', null), (2, 'ann', '2', '71'), (3, 'tom', '1', '72'), (4, 'tom', null, '73'),
                 (5, 'eve', '2', '74'), (6, 'eve', '2', '75'), (7, 'bob', '2', '76'), (8, 'bob', '2', '79'), (9, 'tim', '2', '79')) a(n, who, role, stream);
    insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
    values ('found once', 'call', 'hall', '${bell}', '2026-02-02 11:00', true),
           ('found once', 'goes on', 'hall', '${bell}', null, false);
    insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
    select app_id, 'call-sessions', call_id, '0', created_at, created_at, 'done' from analytics.call where app_id = 'found once';
    insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at) values
      ('found once', 'call', 's71', '71', '${bell}', '2026-02-02 10:20'), ('found once', 'call', 's72', '72', '${bell}', null),
      ('found once', 'call', 's76', '76', '${bell}', '2026-02-02 10:10'), ('found once', 'call', 's79', '79', '${bell}', '2026-02-02 10:30'),
      ('found once', 'goes on', 't76', '76', '${bell}', null)`,
  cases: [
    {
      name: 'have no row beside their stays, and others have one',
      query: `select user_uuid, linked_by, sid from classroom.user_call where app_id = 'found once' order by 1, 3`,
      expected: [
        ['ann', 'stream', 's71'],
        ['bob', 'stream', 's76'],
        ['bob', 'stream', 't76'],
        ['eve', 'none', null],
        ['tim', 'shared', null],
        ['tom', 'stream', 's72'],
      ],
    },
    {
      name: 'are teachers if they were so in any stay',
      query: `select user_uuid, is_student from classroom.user_call where app_id = 'found once' and user_uuid in ('eve', 'tom') order by 1`,
      expected: [
        ['eve', true],
        ['tom', false],
      ],
    },
    {
      name: 'were in it for as long as is known, and who is not found for no time that is known',
      query: `select user_uuid, sid, minutes from classroom.user_call where app_id = 'found once' order by 1, 2`,
      expected: [
        ['ann', 's71', 20],
        ['bob', 's76', 10],
        ['bob', 't76', null],
        ['eve', null, null],
        ['tim', null, null],
        ['tom', 's72', 60],
      ],
    },
  ],
  mutants: [
    [
      'who is found by one stream is not found by another',
      'GROUP BY w.user_uuid',
      'GROUP BY w.user_uuid, w.uid',
    ],
    ['a number that others have is taken', 'FILTER (WHERE ((NOT w.is_shared)', 'FILTER (WHERE ((true)'],
  ].map(([mistake, from, to]) => ({
    view: 'classroom.user_call',
    ...{ mistake: mistake!, from: from!, to: to! },
  })),
}
