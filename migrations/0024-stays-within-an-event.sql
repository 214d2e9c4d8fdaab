-- One event may say of a user both that they came and that they left, in two lists. Whose two entries have a time each came and
-- left in the order of those. Else what was before decides, since one who is there can only leave and one who is not can only
-- come: who was there has left and come back, who was not has come and left, and either way it is as it was before. What
-- the events before say is looked up for such users alone, of whom there are hardly any.
create function classroom.time_of_entry(p_extra jsonb) returns numeric language sql immutable parallel safe as $$
  select nullif(case when p_extra->>'updateTime' ~ '^\d{1,20}(\.\d{1,20})?$' then (p_extra->>'updateTime')::numeric end, 0)
$$;
comment on function classroom.time_of_entry is 'The time that an entry of classroom.attendance has of its own, as the provider says it; null where it says none';

create or replace view classroom.attendance_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, role, at as entered_at, left_at,
         coalesce(left_at, case when ended_at > at then ended_at
                                when forgotten_at is not null or valid_to is not null then greatest(last_event_at, at) end) - at as stayed
  from (
    select a.*, r.ended_at, r.forgotten_at, r.valid_to, r.last_event_at, lead(a.at) over (person order by a.sequence, a.ordinal) as left_at
    from (
      select o.*, lag(o.action) over (
               partition by o.app_id, o.room_uuid, o.incarnation, o.user_uuid order by o.sequence, o.ordinal) as action_before
      from (
        select b.app_id, b.room_uuid, b.incarnation, b.user_uuid, b.user_name, b.role, b.at, b.sequence, b.ordinal,
               case when not b.is_both then b.action
                    when (case when b.entered <> b.went then b.went < b.entered
                               else coalesce((
                                 select p.action from classroom.attendance p
                                 where p.app_id = b.app_id and p.room_uuid = b.room_uuid and p.incarnation = b.incarnation
                                   and p.user_uuid = b.user_uuid and p.sequence < b.sequence
                                   and not exists (
                                     select from classroom.attendance q
                                     where q.app_id = p.app_id and q.room_uuid = p.room_uuid and q.incarnation = p.incarnation
                                       and q.user_uuid = p.user_uuid and q.sequence = p.sequence and q.action <> p.action)
                                 order by p.sequence desc limit 1) = 'enter', false) end)
                      then case b.action when 'enter' then 'leave' else 'enter' end
                    else b.action end as action
        from (
          select n.*, n.is_first or n.is_second as is_both,
                 case when n.is_first then classroom.time_of_entry(n.extra) when n.is_second then classroom.time_of_entry(n.extra_before) end as entered,
                 case when n.is_first then classroom.time_of_entry(n.extra_after) when n.is_second then classroom.time_of_entry(n.extra) end as went
          from (
            select x.*, lag(x.extra) over beside as extra_before, lead(x.extra) over beside as extra_after,
                   coalesce(x.action = 'enter' and lead(x.action) over beside = 'leave' and lead(x.sequence) over beside = x.sequence, false) as is_first,
                   coalesce(x.action = 'leave' and lag(x.action) over beside = 'enter' and lag(x.sequence) over beside = x.sequence, false) as is_second
            from classroom.attendance x where x.user_uuid is not null
            window beside as (partition by x.app_id, x.room_uuid, x.incarnation, x.user_uuid order by x.sequence, x.ordinal)
          ) n
        ) b
      ) o
    ) a
    join classroom.room r using (app_id, room_uuid, incarnation)
    where a.action is distinct from a.action_before
    window person as (partition by a.app_id, a.room_uuid, a.incarnation, a.user_uuid)
  ) spans
  where action = 'enter';
