/** How much of a school's year lies in a database. */
export interface Year {
  /** Calls of the year, each of them a class. */
  readonly calls: number
  /** Stays in each call. */
  readonly sessions: number
  /** The newest calls, of which the values are there too; of the others only the summaries. */
  readonly measured: number
}

export interface Filling {
  readonly what: string
  readonly text: string
}

/** A school whose name the questions of docs/sql.md know. */
const app = 'dayschool'
const minutes = 40
/** Values of a metric of a stay, one in two seconds. */
const values = (minutes * 60) / 2
/** Who come to a class. */
const students = 20
/** Uses of a room. */
const uses = 10

/** Statements that fill an empty database, with its clock at `end`. */
export function yearOfCalls({ calls, sessions, measured }: Year, end: number): readonly Filling[] {
  const now = `timestamptz '${new Date(end).toISOString()}'`
  // Two in three begin between seven and fifteen o'clock of their day; what matters is that many are of one hour.
  const began = `date_bin('5 minutes', ${now} - interval '365 days' * (1 - n::double precision / ${calls}) - interval '1 hour', '2020-01-01')`
  const numbers = `select n, ${began} as at, 'c' || lpad(to_hex(n), 31, '0') as call_id,
    case n % ${Math.ceil(calls / uses)} when 0 then 'algebra-7b-0' when 1 then 'c#-club-2' else 'room-' || n % ${Math.ceil(calls / uses)} end as room,
    1 + n / ${Math.ceil(calls / uses)} as incarnation
    from generate_series(0, ${calls - 1}) n`
  const stays = `select c.*, s, 'd' || lpad(to_hex(c.n::bigint * 256 + s), 31, '0') as sid
    from (${numbers}) c cross join generate_series(1, ${sessions}) s`
  return [
    {
      what: 'the clock stands still',
      text: `create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe as $$ select ${now} $$`,
    },
    {
      what: 'rooms',
      text: `begin; set local session_replication_role = replica;
        insert into classroom.room (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at, valid_from, valid_to, first_seen_at, last_event_at, verified_at)
        select '${app}', c.room, c.incarnation, 'ap', 2, 1, c.at, c.at + interval '${minutes} minutes', c.at,
               lead(c.at) over (partition by c.room order by c.incarnation), c.at, c.at + interval '${minutes} minutes', c.at
        from (${numbers}) c; commit`,
    },
    {
      what: 'calls',
      text: `insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
        select '${app}', c.call_id, c.room, c.at, c.at + interval '${minutes} minutes', true from (${numbers}) c`,
    },
    {
      what: 'stays',
      text: `insert into analytics.call_session (app_id, call_id, sid, cname, uid, network, platform, device_type, speaker, joined_at, left_at, finished)
        select '${app}', c.call_id, c.sid, c.room, 'u' || (c.n * 7 + c.s) % 5000, (array['WiFi', '4G', '5G', 'Ethernet'])[1 + (c.n + c.s) % 4],
               (array['Android', 'iOS', 'Windows', 'macOS', 'Linux'])[1 + (c.n + c.s) % 5], 'device ' || (c.n * 3 + c.s) % 12, true,
               c.at + c.s * interval '1 second', c.at + interval '${minutes} minutes', true
        from (${stays}) c`,
    },
    {
      what: 'summaries of stays',
      text: `insert into analytics.session_summary
        select '${app}', c.call_id, c.sid, ${5 * values}, (c.n * 31 + c.s * 17) % 300, ${2 * values}, (c.n * 31 + c.s * 17) % 100,
               (c.n + c.s) % 90, (c.n + c.s) % 60, (c.n + c.s) % 7, (c.n + c.s) % 8, (c.n + c.s) % 120, ${values}, ${values}
        from (${stays}) c where c.n < ${calls - measured}`,
    },
    {
      what: 'summaries of every metric',
      text: `insert into analytics.session_digest
        select '${app}', c.call_id, c.sid, m.mids, array_fill(${values}, array[26]), array_fill(0.5::double precision, array[26]), array_fill(900.5::double precision, array[26]),
               array_fill(c.s + 0.25::double precision, array[26]), array_fill(3.5::double precision, array[26]), array_fill(95.5::double precision, array[26]), array_fill(null::int, array[26])
        from (${stays}) c cross join (select array_agg(mid order by mid) as mids from analytics.metric) m where c.n < ${calls - measured}`,
    },
    {
      what: 'summaries of calls',
      text: `insert into analytics.call_summary
        select '${app}', c.call_id, false, (select array_agg('u' || (c.n * 7 + s) % 5000) from generate_series(1, ${sessions}) s), ${sessions}, ${minutes * sessions},
               ${5 * values * sessions}, (c.n::bigint * 7919) % ${Math.ceil(0.2 * 5 * values * sessions)},
               ${values * sessions}, c.n % 90, c.n % 400, ${values * sessions}, c.n % 60, c.n % 300, ${values * sessions}, c.n % 7, c.n % 17,
               ${values * sessions}, c.n % 8, c.n % 18, ${values * sessions}, c.n % 120, c.n % 420, ${now}
        from (${numbers}) c`,
    },
    {
      what: 'summaries of minutes',
      text: `insert into analytics.call_minute
        select '${app}', c.call_id, c.at + m * interval '1 minute', ${150 * sessions}, (c.n * 31 + m) % ${15 * sessions},
               ${30 * sessions}, (c.n + m) % 90, ${30 * sessions}, (c.n + m) % 60, ${30 * sessions}, (c.n + m) % 7,
               ${30 * sessions}, (c.n + m) % 8, ${30 * sessions}, (c.n + m) % 120
        from (${numbers}) c cross join generate_series(0, ${minutes - 1}) m where c.n < ${calls - measured}`,
    },
    {
      what: 'values of the newest calls',
      text: `insert into analytics.session_series
        select '${app}', c.call_id, c.sid, 20000 + m, '0', date_trunc('day', c.at, 'UTC'),
               array_prepend(extract(epoch from c.at - date_trunc('day', c.at, 'UTC'))::int, array_fill(2, array[${values - 1}])), v.value
        from (${stays}) c cross join generate_series(1, 26) m
        cross join (select array_agg(case when random() < 0.05 then round(random() * 600) else round(random() * 9) end) as value from generate_series(1, ${values})) v
        where c.n >= ${calls - measured};
        select analytics.summarize('${app}', array[call_id]) from analytics.call order by created_at desc limit ${measured}`,
    },
    {
      what: 'what the provider counts itself',
      text: `insert into analytics.usage_realtime (app_id, product, metric, cname, at, value)
        select '${app}', p, m, '', at, 20 from generate_series(${now} - interval '30 days', ${now}, '20 s') at,
          unnest(array['Native', 'WebRTC']) p, unnest(array['userCount', 'channelCount']) m;
        insert into analytics.quality_realtime (app_id, product, metric, cname, uid, at, value)
        select '${app}', p, m, '', '', at, 20 from generate_series(${now} - interval '30 days', ${now}, '20 s') at,
          unnest(array['Native', 'WebRTC']) p, unnest(array['audioFreezeRate', 'videoFreezeRate', 'joinSuccessRate', 'joinSuccessIn5sRate', 'networkDelay']) m;
        insert into analytics.quality_insight (app_id, product, metric, granularity, at, value, fetched_at)
        select '${app}', p, m, 'hour', at, 20, ${now} from generate_series(date_trunc('hour', ${now}) - interval '365 days', ${now}, '1 h') at,
          unnest(array['Native', 'WebRTC']) p, unnest(array['audioFreezeRate', 'videoFreezeRate', 'joinSuccessRate', 'joinSuccessIn5sRate', 'networkDelay']) m;
        insert into analytics.usage_insight (app_id, metric, granularity, at, value, fetched_at)
        select '${app}', m, g, at, 20, ${now} from unnest(array['hour', 'day']) g,
          generate_series(date_trunc('day', ${now}) - interval '365 days', ${now}, ('1 ' || g)::interval) at, unnest(array['userCount', 'channelCount']) m`,
    },
    {
      what: 'progress, of five streams of each room',
      text: `insert into ingest.progress (app_id, stream, series, version, epoch, caught_up_at, updated_at)
        select '${app}', stream, '', 1, 1, ${now}, ${now} from unnest(array['app-events', 'calls', 'cloud-players']) stream;
        begin; set local session_replication_role = replica;
        insert into ingest.progress (app_id, stream, series, version, epoch, caught_up_at, updated_at)
        select '${app}', s.stream, r.room_uuid, 1, 1, ${now}, ${now}
        from (select distinct room_uuid from classroom.room) r cross join ingest.stream s where s.scope = 'room';
        insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
        select r.app_id, r.room_uuid, r.incarnation, 1, 1, r.ended_at, 'event', r.ended_at, 'log' from classroom.room r; commit`,
    },
    {
      what: 'comings and goings',
      text: `begin; set local session_replication_role = replica;
        insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, user_name, role, action, at)
        select '${app}', c.room, c.incarnation, 2 * s + a.n, 0, 'user-' || (c.n * 7 + s) % 5000, 'Student ' || s, '2', a.action,
               c.at + a.n * interval '${minutes - 5} minutes'
        from (${numbers}) c cross join generate_series(1, ${students}) s cross join (values (0, 'enter'), (1, 'leave')) a(n, action); commit`,
    },
    { what: 'vacuum', text: 'vacuum analyze' },
    {
      what: 'who came',
      text: `select ingest.keep_attendance(${now}, ${2 * calls}); analyze ingest.day_attendance`,
    },
    {
      what: 'users of days',
      text: `do $$ begin while ingest.keep_users(${now}, ${calls}) > 0 loop end loop; end $$; analyze ingest.day_users`,
    },
  ]
}
