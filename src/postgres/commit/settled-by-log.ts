/**
 * What a page of a room's log settles: what the feed told of the room and waits, and the holes and losses in the gap ledger.
 * All of it looks at `event`, the page's events, and at `moved`, which says that the page is stored.
 */

/** Whether `e` may be the event that waits as `d`. */
const isAlike = (d: string) => `e.sequence = ${d}.sequence and e.cmd = ${d}.cmd
          and coalesce(to_jsonb(e.event_time), 'null') = ${d}.event_time`
/** What has no time is known by its words alone where a room of that name may have told another event at that place. */
const isCertain = (d: string) => `${d}.event_time <> 'null' or e.data = ${d}.data`

/**
 * Whether the log told something at the place of `d` that was set aside, on this page (`offered`) or before: what the feed told
 * there will never be confirmed otherwise. Letters are the bytes of single items.
 */
const hasLetter = (d: string) => `exists (
        select from (
          select o.bytes from offered o
          union all
          select l.body from ingest.dead_letter l
          where l.app_id = :app and l.stream = :stream and l.series = :series
            and l.reason in ('missing_key', 'wrong_type', 'out_of_range', 'store_refused')
        ) l where encode(l.bytes, 'escape') ~ ('"sequence":"?' || ${d}.sequence || '"?[,}]'))`

/**
 * What the feed said and could not be believed is settled once the log says the same: on this page, or on an
 * earlier one that was committed at the same moment as the feed's. Both may render an event differently, unless the log
 * contradicts or lacks anything else that waits. Reads `offered`, what of the page is set aside.
 */
export const confirmed = `
  pending as materialized (
    select d.*, e.alike or a.has_letter as alike, e.certain or a.has_letter as certain from (
      select d.id, d.key::bigint as sequence, (d.other ->> 'cmd')::int as cmd, d.other -> 'event_time' as event_time,
             d.other -> 'data' as data, d.seen_at
      from ingest.divergence d
      where d.app_id = :app and d.stream = 'app-events' and d.series = :series and d.resolved_at is null
        and exists (select from moved)
    ) d cross join lateral (
      select count(*) > 0 as alike, coalesce(bool_or(${isCertain('d')}), false) as certain from (
        select e.sequence, e.cmd, e.event_time, e.data from event e
        union all
        select e.sequence, e.cmd, e.event_time, e.data from classroom.room_event e
        where e.app_id = :app and e.room_uuid = :series and e.incarnation = :incarnation::int
          and e.sequence = d.sequence and e.source = 'log'
      ) e where ${isAlike('d')}
    ) e cross join lateral (select ${hasLetter('d')} as has_letter) a
  ), confirmed as (
    update ingest.divergence d set resolved_at = ingest.clock() from pending p
    where d.id = p.id and p.alike and (p.certain or not exists (select from pending o where not o.alike))
    returning d.id
  ), unconfirmed as (
    select p.* from pending p where not exists (select from confirmed c where c.id = p.id)
  )`

/**
 * What the feed told before the present room was met, and neither its log nor that of a room before it has: a room was
 * between them whose log nobody read.
 */
export const unheard = `
  waiting as materialized (
    select o.id, o.sequence_from, o.sequence_to from ingest.gap o
    where o.app_id = :app and o.stream = :stream and o.series = :series and o.incarnation is null
      and o.unit = 'sequence' and o.state = 'lost' and exists (select from pending)
  ), unheard as (
    select p.sequence from unconfirmed p
    where :complete::boolean and p.seen_at < coalesce(
        (select r.first_seen_at from classroom.room r
         where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int), ingest.clock())
      and not exists (
        select from classroom.room_event e
        where e.app_id = :app and e.room_uuid = :series
          and e.incarnation = any (array(select generate_series(1, :incarnation::int - 1)))
          and ${isAlike('p')} and (${isCertain('p')}))
  ), lost_between as (
    insert into ingest.gap as g (app_id, stream, series, unit, sequence_from, sequence_to, reason, state, detail, first_seen_at,
                                 updated_at)
    select :app, :stream, :series, 'sequence', w.first, w.last, 'room_reused', 'lost',
      'the feed told events in this range, which wait in ingest.divergence: of a room between two whose logs were read',
      ingest.clock(), ingest.clock()
    from (select min(sequence) as first, max(sequence) as last from unheard) w
    where w.first is not null and not exists (select from waiting)
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set state = 'lost', reason = excluded.reason, detail = excluded.detail, updated_at = ingest.clock()
  )`

/**
 * What was lost with a room that the provider did not know is had after all when its log is served again, but for what waits
 * and is not of it; and so is what was taken to be served never, when the log tells it late: one that tells of no hole at all may only have
 * ceased to be numbered densely. A hole of which a part was told is as large as what is left of it.
 */
export const holes = `
  hole as (
    select h."from" as sequence_from, h."to" as sequence_to, h.state
    from json_to_recordset(:holes::json) as h("from" bigint, "to" bigint, state text) where exists (select from moved)
  ), refilled as (
    delete from ingest.gap g using hole h
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'sequence' and g.state in ('open', 'lost', 'absent')
      and h.sequence_from <= g.sequence_to and g.sequence_from <= h.sequence_to
      and not exists (select from hole s where s.sequence_from = g.sequence_from and s.sequence_to = g.sequence_to)
    returning g.sequence_from, g.sequence_to, g.first_seen_at
  ), opened as (
    insert into ingest.gap as g (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state,
                                 first_seen_at, updated_at)
    select :app, :stream, :series, :incarnation::int, 'sequence', h.sequence_from, h.sequence_to, 'hole', h.state,
           coalesce((select min(r.first_seen_at) from refilled r
                     where h.sequence_from <= r.sequence_to and r.sequence_from <= h.sequence_to), ingest.clock()),
           ingest.clock()
    from hole h
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set state = excluded.state, updated_at = ingest.clock() where g.state <> excluded.state
    returning 1
  ), closed as (
    update ingest.gap g set state = case when t.told then 'repaired' else 'absent' end, updated_at = ingest.clock()
    from (
      select o.id, o.incarnation is null
          or exists (select from event e where e.sequence between o.sequence_from and o.sequence_to)
          or exists (
            select from classroom.room_event e where e.app_id = :app and e.room_uuid = :series
              and e.incarnation = o.incarnation and e.sequence between o.sequence_from and o.sequence_to) as told
      from ingest.gap o
      where o.app_id = :app and o.stream = :stream and o.series = :series
        and (o.incarnation = :incarnation::int and :complete::boolean
             or o.incarnation is null and (:complete::boolean or exists (select from confirmed)) and not exists (
               select from unconfirmed u where u.sequence between o.sequence_from and o.sequence_to))
        and o.unit = 'sequence' and o.state in ('open', 'lost', 'absent') and exists (select from moved)
        and not exists (select from hole h where h.sequence_from <= o.sequence_to and o.sequence_from <= h.sequence_to)
    ) t
    where g.id = t.id and (g.state <> 'absent' or t.told)
    returning 1
  ), fitted as (
    update ingest.gap g
    set sequence_from = w.first, sequence_to = w.last,
        updated_at = case when w.first >= g.sequence_from and w.last <= g.sequence_to then g.updated_at else ingest.clock() end
    from (
      select o.id, min(u.sequence) as first, max(u.sequence) as last
      from waiting o
      join unconfirmed u on u.sequence between o.sequence_from and o.sequence_to
        or u.sequence in (select h.sequence from unheard h)
      where :complete::boolean or exists (select from confirmed)
      group by 1
    ) w
    where g.id = w.id and (g.sequence_from, g.sequence_to) <> (w.first, w.last)
    returning 1
  )`
