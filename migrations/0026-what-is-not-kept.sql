-- Dead letters have a cap a day and an end; what is complete must know of those that are not kept all the same.
set local role penstock_migrate;

create table ingest.unkept_letter (
  app_id text not null, stream text not null, series text not null, reason text not null,
  letters bigint not null, last_seen_at timestamptz not null,
  primary key (app_id, stream, series, reason)
);
comment on table ingest.unkept_letter is 'Dead letters that are not in ingest.dead_letter: beyond the thousand that are kept of a stream and reason a day, or older than letters are kept; of the latter those alone by which rooms are judged';
comment on column ingest.unkept_letter.letters is 'How many; what came again and was not kept again counts again';
comment on column ingest.unkept_letter.last_seen_at is 'When the last of them came';
create index dead_letter_by_day on ingest.dead_letter (app_id, stream, reason, received_at);
create index dead_letter_by_age on ingest.dead_letter (last_seen_at);
comment on table ingest.dead_letter is 'Bytes that arrived and could not be used, kept with the reason: of a stream and reason at most a thousand a day, as long as retention.dead_letter says; ingest.unkept_letter counts the others';

create function ingest.letters_left(p_app text, p_stream text, p_reason text) returns bigint
language sql stable parallel safe as $$
  select 1000 - count(*) from (
    select from ingest.dead_letter d
    where d.app_id = p_app and d.stream = p_stream and d.reason = p_reason
      and d.received_at >= date_trunc('day', ingest.clock(), 'UTC') limit 1000
  ) kept
$$;
comment on function ingest.letters_left is 'How many more dead letters of a stream and reason are kept today';

create or replace function ingest.unreadable_items(p_app text, p_stream text, p_series text, p_since timestamptz, p_read_at timestamptz)
returns bigint language sql stable parallel safe as $$
  select coalesce(sum(d.letters), 0)::bigint from (
    select 1 as letters, reason, last_seen_at from ingest.dead_letter
    where app_id = p_app and stream = p_stream and series = p_series
    union all
    select letters, reason, last_seen_at from ingest.unkept_letter
    where app_id = p_app and stream = p_stream and series = p_series
  ) d
  where d.reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
    and d.last_seen_at >= p_since - interval '1 minute'
    and (p_stream not in ('recordings', 'resources') or d.last_seen_at >= p_read_at - interval '1 minute')
$$;

-- Of a call whose work is long done one item is left, by which it is known to be done.
alter table ingest.worklist add column folded boolean not null default false;
comment on column ingest.worklist.folded is 'The one item that is left of all that were done of a call';
create index worklist_over on ingest.worklist (range_to) where state in ('done', 'split') and not folded;

create index gap_repaired on ingest.gap (updated_at) where state = 'repaired';
create index divergence_resolved on ingest.divergence (resolved_at) where resolved_at is not null;

revoke execute on function ingest.letters_left from public;
grant execute on function ingest.letters_left to penstock_runtime;
grant select on ingest.unkept_letter to penstock_read;
reset role;
