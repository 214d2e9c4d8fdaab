-- What events and items say beside what had columns: how many came and went, who else is there, and why a widget changed.
set local role penstock_migrate;

alter table classroom.attendance add column total int;
alter table classroom.attendance alter column action drop not null;
comment on column classroom.attendance.total is
  'Users who have entered and left, as the event counts them: the same in each row of an event; one that names nobody has a row without a user';
comment on column classroom.attendance.action is 'enter or leave; null of an event that names nobody';

alter table classroom.stage_change add column is_listed boolean;
alter table classroom.hand_wave add column is_listed boolean;
comment on table classroom.stage_change is
  'Users brought on the stage (add) or taken off it (remove), and all others who are there (present)';
comment on table classroom.hand_wave is
  'Hands raised (add) and lowered (remove), and all others that are up (present)';
comment on column classroom.stage_change.is_listed is
  'Whether the event lists the user among all who are on the stage after it; null where it lists none, or cannot tell';
comment on column classroom.hand_wave.is_listed is
  'Whether the event lists the user among all whose hands are up after it; null where it lists none, or cannot tell';

-- The fields of an item may stand in it or under its data.
create function ingest.widget_field(p_item jsonb, p_name text) returns jsonb language sql immutable parallel safe as $$
  select case when coalesce(p_item -> 'changeProperties', 'null') <> 'null' or jsonb_typeof(p_item -> 'data') is distinct from 'object'
              then p_item -> p_name
              else coalesce(p_item -> 'data' -> p_name, p_item -> p_name) end
$$;
comment on function ingest.widget_field is 'A field of an item of the quiz or poll logs, wherever it stands';
create function ingest.whole_number(p_value jsonb) returns int language sql immutable parallel safe as $$
  select case when jsonb_typeof(p_value) = 'number' and p_value::text ~ '^-?[0-9]{1,9}$' then (p_value #>> '{}')::int end
$$;
comment on function ingest.whole_number is 'A JSON value as an integer of at most nine digits; null where it is none';
grant execute on function ingest.widget_field, ingest.whole_number to penstock_runtime;

-- Made of what is kept raw, so that what is stored has them too.
alter table classroom.widget_event
  add column state int generated always as (ingest.whole_number(ingest.widget_field(data, 'changeProperties') -> 'state')) stored,
  add column cause text generated always as (
    case when jsonb_typeof(ingest.widget_field(data, 'cause')) = 'string' then ingest.widget_field(data, 'cause') #>> '{}' end) stored,
  add column action int generated always as (ingest.whole_number(ingest.widget_field(data, 'action'))) stored;
comment on column classroom.widget_event.state is 'State of the widget, where the item tells a change of it: 0 inactive, 1 active';
comment on column classroom.widget_event.cause is 'Why it changed, in the provider''s words; null where that is no text';
comment on column classroom.widget_event.action is 'Type of action, a number that no document explains';

reset role;
