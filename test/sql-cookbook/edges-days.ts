import type { Case, Edge } from './edges.ts'

/** The days of a stream: with a question mark where they are not complete, with an exclamation mark for each gap. */
function daysOf(stream: string, name: string, expected: string, meanwhile?: string): Case {
  const query = `
    select to_char(day, 'DD') || case when complete then '' else '?' end || repeat('!', gaps) from ingest.complete_day
    where app_id = 'days' and stream = '${stream}' order by day`
  return {
    name,
    ...(meanwhile && { meanwhile }),
    query,
    expected: expected
      .split(' ')
      .filter(Boolean)
      .map(day => [day]),
  }
}

const gap = (stream: string, series: string, incarnation: number | null, from: string, to: string) => `
  insert into ingest.gap (app_id, stream, series, incarnation, unit, range_from, range_to, reason, state)
  values ('days', '${stream}', '${series}', ${incarnation}, 'time', '${from}', '${to}', 'hole', 'lost')`

/**
 * Class a of 23 February was whole when its room was used again, the end of that of the 24th was never seen, and that of
 * the 27th is whole; of class b the poll was read too early, of class c the log.
 */
export const days: Edge = {
  about: 'whether a day is complete',
  rows: `
    insert into ingest.progress (app_id, stream, series, backlog_from, covered, caught_up_at) values
      ('days', 'usage-insight', 'old', '2026-02-20 16:00', '{[2026-02-20 16:00, 2026-02-28 12:00)}', null),
      ('days', 'usage-insight', 'new', '2026-02-26 09:00', '{[2026-02-26 12:00, 2026-02-27 06:00), [2026-02-27 09:00, 2026-02-28 12:00)}', null),
      ('days', 'calls', '', '2026-02-25', '{[2026-02-25, 2026-02-28)}', null),
      ('days', 'call-sessions', '', '2026-02-20', '{}', null),
      ('days', 'app-events', '', null, '{}', '2026-02-28 23:00'),
      ('days', 'room-events', 'a', null, '{}', '2026-02-27 12:00'),
      ('days', 'room-events', 'b', null, '{}', '2026-02-26 11:30'),
      ('days', 'room-events', 'c', null, '{}', '2026-02-25 10:30'),
      ('days', 'poll', 'a', null, '{}', '2026-02-27 12:00'),
      ('days', 'poll', 'b', null, '{}', '2026-02-26 10:30'),
      ('days', 'poll', 'c', null, '{}', '2026-02-25 11:30');
    update ingest.progress set seen = covered + '{[2026-02-27 06:00, 2026-02-27 09:00)}'
    where app_id = 'days' and stream = 'usage-insight';
    insert into classroom.room (app_id, room_uuid, incarnation, state, state_sequence, first_seen_at, started_at, ended_at,
                                valid_from, valid_to, last_event_at, forgotten_at)
    select 'days', x.room, x.n, 3, 7, x.began::timestamptz - interval '1 day', x.began::timestamptz, x.ended::timestamptz,
           x.began::timestamptz, x.next::timestamptz, coalesce(x.ended, x.began)::timestamptz, null
    from (values ('a', 1, '2026-02-23 10:00', '2026-02-23 11:00', '2026-02-24 10:00'),
                 ('a', 2, '2026-02-24 10:00', null, '2026-02-27 10:00'),
                 ('a', 3, '2026-02-27 10:00', '2026-02-27 11:00', null),
                 ('b', 1, '2026-02-26 10:00', '2026-02-26 11:00', null),
                 ('c', 1, '2026-02-25 10:00', '2026-02-25 11:00', null)) x(room, n, began, ended, next);
    insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
    select r.app_id, r.room_uuid, r.incarnation, r.state_sequence, 1, r.last_event_at, 'event', r.last_event_at, 'log'
    from classroom.room r where r.app_id = 'days'`,
  cases: [
    daysOf(
      'usage-insight',
      'begins with the first whole day, and asks of each series from its own first whole day on',
      '21 22 23 24 25 26 27? 28? 01?',
    ),
    daysOf(
      'call-sessions',
      'asks of the details of calls from where calls are asked for',
      '25 26 27 28? 01?',
    ),
    daysOf('app-events', 'is told of the feed up to where it was read', '23 24 25 26 27 28? 01?'),
    daysOf('room-events', 'is told of the logs of the classes of the day', '23 24? 25? 26 27 28? 01?'),
    daysOf('poll', 'is told of each stream that follows rooms', '23 24? 25 26? 27 28? 01?'),
    daysOf('resources', 'is not told of a stream that is off', ''),
    {
      name: 'says why not, in words that are never null',
      query: `
        select stream, to_char(day, 'DD'), reasons from ingest.complete_day
        where app_id = 'days' and not complete order by day, stream`,
      expected: [
        ['poll', '24', 'end_not_seen'],
        ['room-events', '24', 'end_not_seen'],
        ['room-events', '25', 'unread'],
        ['poll', '26', 'unread'],
        ['usage-insight', '27', 'not_final'],
        ['app-events', '28', 'unread'],
        ['call-sessions', '28', 'calls'],
        ['calls', '28', 'unread'],
        ['poll', '28', 'app-events'],
        ['room-events', '28', 'app-events'],
        ['usage-insight', '28', 'unread'],
        ['app-events', '01', 'not_over, unread'],
        ['call-sessions', '01', 'calls, not_over'],
        ['calls', '01', 'not_over, unread'],
        ['poll', '01', 'app-events, not_over'],
        ['room-events', '01', 'app-events, not_over'],
        ['usage-insight', '01', 'not_over, unread'],
      ],
    },
    {
      name: 'gives no reason where it is',
      query: `select count(*)::int from ingest.complete_day where app_id = 'days' and complete and reasons <> ''`,
      expected: [[0]],
    },
    daysOf(
      'room-events',
      'is not, for a former class of a room whose log has a hole',
      '23?! 24? 25? 26 27 28? 01?',
      gap('room-events', 'a', 1, '2026-02-25 00:00', '2026-02-25 00:01'),
    ),
    daysOf(
      'room-events',
      'is whole on the day before a class whose log has a hole',
      '23 24? 25? 26?! 27?! 28? 01?',
      gap('room-events', 'b', 1, '2026-02-26 00:00', '2026-02-26 00:01') +
        gap('room-events', 'a', 3, '2026-02-27 00:00', '2026-02-27 00:01').replace('insert', '; insert'),
    ),
    daysOf(
      'room-events',
      'is not, for a class whose end only the feed has shown',
      '23 24? 25? 26? 27 28? 01?',
      `update classroom.room_event set source = 'feed' where app_id = 'days' and room_uuid = 'b'`,
    ),
    daysOf(
      'poll',
      'is not, for anything of rooms where the feed was not read',
      '23 24? 25 26? 27? 28? 01?',
      gap('app-events', '', null, '2026-02-26 23:00', '2026-02-27 01:00'),
    ),
    daysOf(
      'app-events',
      'is not, for the days that a pause of the feed touches',
      '23 24 25 26?! 27?! 28? 01?',
      gap('app-events', '', null, '2026-02-26 23:00', '2026-02-27 01:00'),
    ),
  ],
  mutants: [
    ['details are asked of before calls are', 'GREATEST(p.backlog_from, c.backlog_from)', 'p.backlog_from'],
    ['what is read today is whole', 'p.caught_up_at >=', `p.caught_up_at + '24:00:00'::interval >=`],
    [
      'a class that nobody saw ending is whole',
      'AND (r_2.ended_at IS NULL)',
      'AND (r_2.ended_at IS NULL) AND false',
    ],
    ['what the feed says is confirmed', `(e.source = 'log'::text)`, `(e.source <> ''::text)`],
    ['former classes have no holes', 'r_1.incarnation) = r_1.incarnation', 'r_1.incarnation) = 99'],
    ['what was read before the end is whole', 'p.caught_up_at > COALESCE', 'p.caught_up_at <> COALESCE'],
    ['a class is whole where others were missed', '(COALESCE(t.complete, true) AND r.whole', '(r.whole'],
    ['streams that are off are told of', '(EXISTS ( SELECT', '(true OR EXISTS ( SELECT'],
    ['what may still change was never read', '- p.lost) - p.seen)', '- p.lost) - p.covered)'],
    [
      'a reason is null',
      `COALESCE(NULLIF(d.reasons, ''::text), 'unread'::text)`,
      `NULLIF(d.reasons, 'unread'::text)`,
    ],
    ['it is not said that calls are missing', `string_agg(n.stream, ', '::text)`, 'NULL::text'],
  ].map(([mistake, from, to]) => ({ view: 'ingest.complete_day', mistake: mistake!, from: from!, to: to! })),
}
