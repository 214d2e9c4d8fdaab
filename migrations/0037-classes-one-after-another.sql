-- A call or player of a room that is used again, which began within the quarter of an hour before the room showed its first event, was of no
-- class: the class before it hid it, though that was over for hours. What is over for an hour hides nothing.
create or replace view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as class_ended_at,
         coalesce(r.started_at, r.valid_from) as class_began_at, c.emptied_at
  from analytics.call c
  join classroom.room r on r.app_id = c.app_id and r.room_uuid = c.cname
    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                                'infinity') + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute'
                      and c.created_at < coalesce(greatest(b.ended_at, b.ended_by), b.last_event_at, 'infinity') + interval '1 hour');

create or replace view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation
    from classroom.room r cross join (select coalesce(p.created_at, p.first_seen_at) as at) c
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and c.at >= r.valid_from - interval '15 minutes'
      and c.at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
      and c.at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                          'infinity') + interval '1 hour'
    order by r.incarnation limit 1
  ) r;

-- A stay that is told without a role is none of a student where others of the same person are not.
create or replace view classroom.head_count as
  select x.app_id, x.room_uuid, x.incarnation, x.at,
         (sum(sum(x.people)) over running)::int as people, (sum(sum(x.students)) over running)::int as students
  from (
    select i.app_id, i.room_uuid, i.incarnation, c.at, c.change as people, c.change * i.is_student::int as students
    from (
      select s.*, case when trim(s.role) <> '' then classroom.is_student(s.role)
                       else bool_and(classroom.is_student(s.role)) over (partition by s.app_id, s.room_uuid, s.incarnation, s.user_uuid) end as is_student
      from classroom.attendance_interval s
    ) i
    cross join lateral (values (i.entered_at, 1), (i.entered_at + i.stayed, -1)) c(at, change)
    where c.at is not null
  ) x
  group by x.app_id, x.room_uuid, x.incarnation, x.at
  window running as (partition by x.app_id, x.room_uuid, x.incarnation order by x.at);

create or replace view classroom.attention as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at, u.until, p.students_first_half, p.students_second_half,
         m.acts_first_half + h.acts_first_half as acts_first_half, m.acts_second_half + h.acts_second_half as acts_second_half
  from classroom.room r
  cross join lateral (
    select coalesce(r.ended_at, r.last_event_at) as until,
           r.started_at + (coalesce(r.ended_at, r.last_event_at) - r.started_at) / 2 as middle
  ) u
  cross join lateral (
    select coalesce(sum(extract(epoch from greatest(least(s.left_at, u.middle) - greatest(s.entered_at, r.started_at), interval '0'))), 0)::double precision
             / extract(epoch from u.middle - r.started_at)::double precision as students_first_half,
           coalesce(sum(extract(epoch from greatest(least(s.left_at, u.until) - greatest(s.entered_at, u.middle), interval '0'))), 0)::double precision
             / extract(epoch from u.until - u.middle)::double precision as students_second_half
    from (
      select i.entered_at, coalesce(i.entered_at + i.stayed, u.until) as left_at,
             case when trim(i.role) <> '' then classroom.is_student(i.role)
                  else bool_and(classroom.is_student(i.role)) over (partition by i.user_uuid) end as is_student
      from classroom.attendance_interval i
      where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation
    ) s
    where s.is_student
  ) p
  cross join lateral (
    select (count(*) filter (where c.at < u.middle))::int as acts_first_half,
           (count(*) filter (where c.at >= u.middle))::int as acts_second_half
    from classroom.chat_message c
    where c.app_id = r.app_id and c.room_uuid = r.room_uuid and c.incarnation = r.incarnation
      and c.at between r.started_at and u.until
      and classroom.is_student(coalesce(nullif(trim(c.role), ''), (
            select a.role from classroom.attendance a
            where a.app_id = c.app_id and a.room_uuid = c.room_uuid and a.incarnation = c.incarnation and a.user_uuid = c.user_uuid
              and trim(a.role) <> ''
            order by a.sequence desc limit 1)))
  ) m
  cross join lateral (
    select (count(*) filter (where w.at < u.middle))::int as acts_first_half,
           (count(*) filter (where w.at >= u.middle))::int as acts_second_half
    from classroom.hand_wave w
    where w.app_id = r.app_id and w.room_uuid = r.room_uuid and w.incarnation = r.incarnation
      and w.at between r.started_at and u.until and w.action = 'add'
  ) h
  where u.until > r.started_at;

-- What stands before the number and behind it may have signs in common: an ID of no more than those has no number in it.
create or replace view classroom.user_call as
  select r.app_id, r.room_uuid, r.incarnation, d.day, u.user_uuid, u.user_name, u.is_student,
         case when c.sid is not null then case when z.user_link = 'stream' then 'stream' else 'rule' end when u.is_shared then 'shared'
              when u.uids is not null and (
                exists (select from analytics.class_call k
                        where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation
                          and not coalesce((select bool_and(w.state in ('done', 'split')) from ingest.work_item w
                                            where w.app_id = k.app_id and w.stream = 'call-sessions' and w.item = k.call_id), false))
                or exists (select from ingest.progress p
                           where p.app_id = r.app_id and p.stream = 'calls' and p.closed_at is null
                             and not p.covered + p.seen + p.lost + tstzmultirange(tstzrange(null, p.backlog_from))
                                     @> tstzrange(coalesce(r.started_at, r.valid_from),
                                                  greatest(r.ended_at, r.last_event_at, r.started_at, r.valid_from), '[]')))
                then 'unread'
              else 'none' end as linked_by,
         c.call_id, c.sid, c.uid, c.joined_at, c.left_at,
         extract(epoch from case when coalesce(c.left_at, c.destroyed_at) < c.joined_at then interval '0'
                                 else coalesce(c.left_at, c.destroyed_at) - c.joined_at end)::double precision / 60 as minutes,
         c.network, c.platform, c.device_type, coalesce(q.samples, 0)::bigint as samples,
         g.audio_bad_share, g.video_bad_share, q.audio_freeze_avg_ms, q.video_freeze_avg_ms, q.audio_loss_avg_pct, q.video_loss_avg_pct, q.rtt_avg_ms,
         extract(epoch from case when c.left_at < c.joined_at then interval '0' else c.left_at - c.joined_at end)::double precision / 60
           * q.talk_samples / q.volume_samples as talk_minutes,
         case when c.sid is not null then coalesce(k.partial, true) end as partial
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select w.user_uuid, max(w.user_name) as user_name, bool_and(w.is_student) as is_student,
           array_agg(w.uid) filter (where not w.is_shared and w.uid is not null) as uids, bool_or(w.is_shared) as is_shared
    from (
      select p.user_uuid, p.user_name, p.is_student, p.uid,
             p.uid is not null and min(p.user_uuid) over (partition by p.uid) <> max(p.user_uuid) over (partition by p.uid) as is_shared
      from (
        select a.user_uuid, max(a.user_name) as user_name, bool_and(classroom.is_student(a.role)) as is_student, l.uid
        from classroom.attendance a
        cross join lateral (select split_part(z.user_link, '{uid}', 1) as head, split_part(z.user_link, '{uid}', 2) as tail) t
        cross join lateral (
          select nullif(case when z.user_link = 'stream' then a.stream_uuid
                             when z.user_link <> 'off' and length(a.user_uuid) > length(t.head) + length(t.tail)
                               and starts_with(a.user_uuid, t.head) and right(a.user_uuid, length(t.tail)) = t.tail
                               then substr(a.user_uuid, length(t.head) + 1, length(a.user_uuid) - length(t.head) - length(t.tail)) end, '') as uid
        ) l
        where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid is not null and a.action = 'enter'
        group by a.user_uuid, l.uid
      ) p
    ) w
    group by w.user_uuid
  ) u
  left join lateral (
    select s.*, k.destroyed_at from analytics.class_call k
    join analytics.call_session s on s.app_id = k.app_id and s.call_id = k.call_id
    where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation and s.uid = any (u.uids)
  ) c on true
  left join analytics.session_summary q on q.app_id = r.app_id and q.call_id = c.call_id and q.sid = c.sid
  left join analytics.call_summary k on k.app_id = r.app_id and k.call_id = c.call_id
  left join lateral (
    select sum(m.bad) filter (where m.mid in (20005, 20016))::double precision / sum(m.samples) filter (where m.mid in (20005, 20016)) as audio_bad_share,
           sum(m.bad) filter (where m.mid in (20011, 20018))::double precision / sum(m.samples) filter (where m.mid in (20011, 20018)) as video_bad_share
    from analytics.session_digest e cross join lateral unnest(e.mids, e.samples, e.bad_samples) m(mid, samples, bad)
    where e.app_id = r.app_id and e.call_id = c.call_id and e.sid = c.sid
  ) g on true;

-- A reader called as a schema of something else took all of that away: no data go but views that were made here.
create or replace function ingest.make_reader(p_role text, p_app text default null, p_names boolean default true) returns int
language plpgsql volatile as $$
declare
  v_table record;
  v_views int := 0;
begin
  if exists (select from pg_class c where c.relnamespace = to_regnamespace(quote_ident(p_role))
               and not (c.relkind = 'v' and coalesce('security_barrier=true' = any (c.reloptions), false)))
    or exists (select from pg_proc p where p.pronamespace = to_regnamespace(quote_ident(p_role))) then
    raise exception 'the schema % is none of a reader: give the role another name', quote_ident(p_role)
      using errcode = 'invalid_parameter_value';
  end if;
  if to_regrole(quote_ident(p_role)) is null then
    execute format('create role %I nologin', p_role);
  end if;
  execute format('drop schema if exists %I cascade', p_role);
  execute format('create schema %I', p_role);
  for v_table in
    select c.oid::regclass::text as source, c.relname as name,
           string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns, bool_or(a.attname = 'app_id') as of_app
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where (n.nspname in ('classroom', 'analytics', 'players') or c.oid in ('ingest.gap'::regclass, 'ingest.loss'::regclass))
      and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and (p_names or not ingest.tells_names(a.attname))
    group by c.oid, c.relname
  loop
    -- What is of no app is the list of metrics.
    continue when p_app is not null and not v_table.of_app and v_table.name <> 'metric';
    execute format('create view %I.%I with (security_barrier) as select %s from %s %s', p_role, v_table.name, v_table.columns,
      v_table.source, case when p_app is not null and v_table.of_app then format('where app_id = %L', p_app) else '' end);
    v_views := v_views + 1;
  end loop;
  -- Functions inside of views are called with the rights of whoever reads.
  execute format('grant usage on schema %I, ingest, classroom, analytics, players to %I', p_role, p_role);
  execute format('grant select on all tables in schema %I to %I', p_role, p_role);
  return v_views;
end
$$;
