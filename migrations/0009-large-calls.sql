-- What a call of hundreds of hours comes to takes longer to be reckoned than a commit may last, so that its last item would
-- never be stored. Such a call is noted, and summed up by the housekeeping.
create table ingest.summary_due (
  app_id text not null,
  call_id text not null,
  times int not null default 1,
  noted_at timestamptz not null,
  primary key (app_id, call_id)
);
comment on table ingest.summary_due is 'Large calls that the housekeeping is to sum up';
comment on column ingest.summary_due.app_id is 'App ID of the project';
comment on column ingest.summary_due.call_id is 'The provider''s ID of the call';
comment on column ingest.summary_due.times is 'How often something of it was stored since it was summed up last';
comment on column ingest.summary_due.noted_at is 'When that was for the last time, our clock';

-- All metrics of fifty hours are some two million values, which take seconds.
create function analytics.is_large(p_app text, p_call text) returns boolean language sql stable as $$
  select coalesce(sum(coalesce(s.left_at, c.destroyed_at, ingest.clock()) - s.joined_at) > interval '50 hours', false)
  from analytics.call c join analytics.call_session s using (app_id, call_id)
  where c.app_id = p_app and c.call_id = p_call
$$;
comment on function analytics.is_large is 'Whether all stays of a call together are longer than fifty hours, as far as they are known';

-- Whoever stores something else of the call at the same moment waits for no more than this.
create function analytics.note_large(p_app text, p_calls text[]) returns text[] language plpgsql as $$
declare
  v_large text[];
begin
  select array_agg(c order by c) into v_large from unnest(p_calls) c where analytics.is_large(p_app, c);
  if v_large is null then
    return p_calls;
  end if;
  insert into analytics.call_summary (app_id, call_id)
  select p_app, c.call_id from analytics.call c where c.app_id = p_app and c.call_id = any (v_large) order by 2
  on conflict do nothing;
  insert into ingest.summary_due as d (app_id, call_id, noted_at)
  select p_app, c, ingest.clock() from unnest(v_large) c order by c
  on conflict (app_id, call_id) do update set times = d.times + 1, noted_at = excluded.noted_at;
  return array(select c from unnest(p_calls) c where c <> all (v_large));
end
$$;
comment on function analytics.note_large is 'Has the housekeeping sum up those of some calls that are large, and answers the others';

create function analytics.is_tried(p_app text, p_call text) returns boolean language sql stable as $$
  select not exists (select from ingest.work_item w
                     where w.app_id = p_app and w.item = p_call and w.state = 'pending' and w.failures = 0
                       and w.stream in (select analytics.detail_streams()))
$$;
comment on function analytics.is_tried is 'Whether nothing of a call is left that was not tried';

create or replace function analytics.summarize_tried(p_app text, p_calls text[]) returns void language plpgsql as $$
declare
  v_calls text[] := analytics.note_large(p_app, p_calls);
begin
  insert into analytics.call_summary (app_id, call_id)
  select p_app, c.call_id from analytics.call c where c.app_id = p_app and c.call_id = any (v_calls) order by 2
  on conflict do nothing;
  perform from analytics.call_summary t where t.app_id = p_app and t.call_id = any (v_calls) order by t.call_id for update;
  select array_agg(c) into v_calls from unnest(v_calls) c where analytics.is_tried(p_app, c);
  if v_calls is not null then
    perform analytics.summarize(p_app, v_calls);
  end if;
end
$$;

-- Readers change nothing.
revoke execute on function analytics.note_large from public;
grant execute on function analytics.note_large to penstock_runtime;
