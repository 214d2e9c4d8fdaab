set local role penstock_migrate;

create table ingest.worklist (
  app_id text not null,
  stream text not null,
  item text not null,
  part text not null,
  range_from timestamptz not null,
  range_to timestamptz not null,
  ask jsonb,
  state text not null default 'owed' check (state in ('owed', 'done', 'lost', 'split')),
  origin text not null default 'live' check (origin in ('live', 'backfill')),
  page int not null default 1,
  carry jsonb,
  version bigint not null default 0,
  failures int not null default 0,
  not_before timestamptz,
  created_at timestamptz not null default ingest.clock(),
  updated_at timestamptz not null default ingest.clock(),
  primary key (app_id, stream, item, part)
);
-- What is done grows without end and is in neither index.
create index worklist_owed on ingest.worklist (app_id, stream, range_from) where state = 'owed';
create index worklist_lost on ingest.worklist (app_id, stream, item) where state = 'lost';
comment on table ingest.worklist is 'What one stream has found and another fetches once: sessions of a call, metrics of sessions';
comment on column ingest.worklist.item is 'call_id';
comment on column ingest.worklist.part is 'Tells the items of one call apart';
comment on column ingest.worklist.range_from is 'What is asked for begins here ...';
comment on column ingest.worklist.range_to is '... and ends here, both included';
comment on column ingest.worklist.ask is 'What else the question needs';
comment on column ingest.worklist.state is 'owed: to be fetched; done: stored; lost: given up, in ingest.gap; split: smaller items stand for it';
comment on column ingest.worklist.origin is 'backfill: someone asked for it once more';
comment on column ingest.worklist.page is 'Page to ask for next, from 1';
comment on column ingest.worklist.carry is 'What must be remembered from page to page; null when it is done';
comment on column ingest.worklist.version is 'Raised by every change; a page that was read for another version writes nothing';
comment on column ingest.worklist.failures is 'Failures in a row';
comment on column ingest.worklist.not_before is 'Not tried again before this; null: at once';

-- The streams by how their progress is told. Only these names are ever looked for here.
create function ingest.progress_kind(p_stream text) returns text language sql immutable parallel safe as $$
  select case
    when p_stream in ('calls', 'usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality') then 'window'
    when p_stream in ('call-sessions', 'call-metrics') then 'detail'
  end
$$;
comment on function ingest.progress_kind is 'window: a stream whose progress is time; detail: one that works a worklist off; null: another one';

-- Says what to use for a stream whose progress is not time.
create function ingest.refuse_stream(p_stream text) returns void language plpgsql stable as $$
begin
  if p_stream in ('app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources') then
    raise exception 'the progress of stream % is not a range of time', p_stream
      using errcode = 'invalid_parameter_value',
        hint = case when p_stream = 'app-events' then 'What it missed stands in ingest.gap.'
                    else 'Per room, ingest.room_complete says whether it is whole.' end;
  end if;
  raise exception 'there is no stream %', p_stream using errcode = 'invalid_parameter_value',
    hint = 'Streams that answer: calls, call-sessions, call-metrics, usage-insight, quality-insight, realtime-usage, realtime-quality.';
end
$$;
comment on function ingest.refuse_stream is 'Ends with an error that names what to use instead';

create function ingest.is_complete(stream text, app_id text, "from" timestamptz, "to" timestamptz) returns boolean
language plpgsql stable strict as $$
#variable_conflict use_column
declare
  v_range tstzmultirange;
begin
  if $3 > $4 then
    raise exception '"from" is later than "to"' using errcode = 'invalid_parameter_value';
  end if;
  v_range := tstzmultirange(tstzrange($3, $4));
  case ingest.progress_kind($1)
    when 'window' then
      return coalesce((select bool_and(p.covered @> v_range) from ingest.progress p
                       where p.app_id = $2 and p.stream = $1 and p.owed_from is not null and p.closed_at is null), false);
    when 'detail' then
      if not ingest.is_complete('calls', $2, $3, $4) then
        return false;
      end if;
      if $1 = 'call-metrics' and not ingest.is_complete('call-sessions', $2, $3, $4) then
        return false;
      end if;
      return not exists (
        select from analytics.call c
        where c.app_id = $2 and c.created_at >= $3 and c.created_at < $4
          and (exists (select from ingest.worklist w
                       where w.app_id = c.app_id and w.stream = $1 and w.item = c.call_id and w.state in ('owed', 'lost'))
            or (case when $1 = 'call-sessions' then coalesce(c.finished, c.destroyed_at is not null)
                     else exists (select from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id) end
              and not exists (select from ingest.worklist w
                              where w.app_id = c.app_id and w.stream = $1 and w.item = c.call_id and w.state = 'done'))));
    else
      perform ingest.refuse_stream($1);
  end case;
end
$$;
comment on function ingest.is_complete(text, text, timestamptz, timestamptz) is
  'Whether everything of a stream from one moment up to another is stored and can no longer change; of details of calls: of the calls that start there';

-- What is owed is told up to this moment, so it includes what is still too young to be asked for.
create view ingest.owed as
  select p.app_id, p.stream, p.series, o.seconds, u.seconds as unread_seconds, o.oldest, null::bigint as items,
         l.seconds as lost_seconds, null::bigint as lost_items
  from ingest.progress p
  cross join lateral (
    select tstzmultirange(tstzrange(p.owed_from, greatest(p.owed_from, ingest.clock()))) - p.covered - p.lost + p.wanted as ranges
  ) x
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds, min(lower(r)) as oldest
                      from unnest(x.ranges) r) o
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds
                      from unnest(x.ranges - p.seen + p.wanted) r) u
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds from unnest(p.lost) r) l
  where p.owed_from is not null and p.closed_at is null and ingest.progress_kind(p.stream) = 'window'
  union all
  select coalesce(w.app_id, l.app_id), coalesce(w.stream, l.stream), '', coalesce(w.seconds, 0), coalesce(w.seconds, 0), w.oldest,
         coalesce(w.items, 0), coalesce(l.seconds, 0), coalesce(l.items, 0)
  from (select app_id, stream, count(*) as items, min(range_from) as oldest,
               sum(extract(epoch from range_to - range_from) + 1)::bigint as seconds
        from ingest.worklist where state = 'owed' group by 1, 2) w
  full join (select app_id, stream, count(*) as items, sum(extract(epoch from range_to - range_from) + 1)::bigint as seconds
             from ingest.worklist where state = 'lost' group by 1, 2) l using (app_id, stream);
comment on view ingest.owed is 'What each series still owes, and what of it is lost; of details of calls, the worklist as a whole';
comment on column ingest.owed.seconds is 'Seconds up to now that are not final; of details, the sum of what the items ask for';
comment on column ingest.owed.unread_seconds is 'Those of them that were never read, or that someone asked for once more';
comment on column ingest.owed.oldest is 'Begin of the oldest that is owed: what leaves the provider''s reach first';
comment on column ingest.owed.items is 'Items of the worklist that are owed; null for a stream whose progress is time';
comment on column ingest.owed.lost_seconds is 'Seconds that were given up; ingest.gap says why';
comment on column ingest.owed.lost_items is 'Items of the worklist that were given up';

-- Marks what is to be fetched once more; the running daemon does the work. Answers how many series or items.
create function ingest.mark_wanted(p_stream text, p_app text, p_series text, p_from timestamptz, p_to timestamptz) returns int
language plpgsql as $$
declare
  v_from timestamptz := date_trunc('second', p_from);
  v_to timestamptz := least(p_to, date_trunc('second', ingest.clock()));
  v_marked int := 0;
begin
  if p_from is null or p_to is null or p_from >= p_to then
    raise exception 'the range ends before it begins' using errcode = 'invalid_parameter_value';
  end if;
  case ingest.progress_kind(p_stream)
    when 'window' then
      if v_from < v_to then
        update ingest.progress p
          set wanted = p.wanted + tstzmultirange(tstzrange(v_from, v_to)), owed_from = least(p.owed_from, v_from)
          where p.app_id = p_app and p.stream = p_stream and p.owed_from is not null and p.closed_at is null
            and (p_series is null or p.series = p_series);
        get diagnostics v_marked = row_count;
      end if;
    when 'detail' then
      update ingest.worklist w
        set state = 'owed', origin = 'backfill', page = 1, carry = null, version = w.version + 1, failures = 0,
            not_before = null, updated_at = ingest.clock()
        from analytics.call c
        where c.app_id = p_app and c.created_at >= v_from and c.created_at < p_to
          and w.app_id = c.app_id and w.stream = p_stream and w.item = c.call_id and w.state in ('done', 'lost')
          and (p_series is null or w.item = p_series);
      get diagnostics v_marked = row_count;
    else
      perform ingest.refuse_stream(p_stream);
  end case;
  return v_marked;
end
$$;
comment on function ingest.mark_wanted is
  'Marks a range of time, or the details of the calls that start in it, to be fetched once more; of one series (of details: of one call) where it is given';

create view ingest.room_complete as
  select p.app_id, p.series as room_uuid, r.incarnation, p.stream, r.state, p.caught_up_at, p.closed_at, g.gaps,
         coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at) and g.gaps = 0, false)
           and (p.stream <> 'room-events' or coalesce(l.whole, false)) as complete
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select count(*) as gaps from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')) g
  left join lateral (select l.whole from ingest.room_log l
                     where p.stream = 'room-events' and l.app_id = p.app_id and l.room_uuid = p.series) l on true
  where p.stream in ('room-events', 'popup-quiz', 'poll', 'recordings', 'resources');
comment on view ingest.room_complete is 'Per room and stream that follows rooms: whether all of it up to its last sign of life is stored';
comment on column ingest.room_complete.caught_up_at is 'When the log or list was last read to its end';
comment on column ingest.room_complete.gaps is 'Rows of the gap ledger that are open or lost';
comment on column ingest.room_complete.complete is 'Read to its end after the room ended, or showed its last sign of life, and nothing is missing';

revoke execute on function ingest.mark_wanted from public;
grant execute on function ingest.mark_wanted to penstock_runtime;
grant select on ingest.owed, ingest.room_complete to penstock_runtime;
reset role;
