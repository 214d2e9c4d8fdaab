/**
 * Sequences of a room's log that can no longer be read, as the expression `missing`: what lies between two
 * neighbours of which one is known from the feed only. Between two neighbours of the log the log itself has told.
 * Reads the incarnations from the relation `gone`. `room` is an SQL expression.
 */
function missing(room: string): string {
  return `
  neighbours as (
    select e.sequence, e.source, e.incarnation, lead(e.sequence) over log as next_sequence, lead(e.source) over log as next_source,
           row_number() over log as place, bool_or(e.source = 'log') over (partition by e.incarnation) as logged
    from gone join classroom.room_event e on e.app_id = :app and e.room_uuid = ${room} and e.incarnation = gone.incarnation
    window log as (partition by e.incarnation order by e.sequence)
  ), missing as (
    select m.* from (
      select n.incarnation, n.sequence + 1 as first, n.next_sequence - 1 as last from neighbours n
      where n.next_sequence > n.sequence + 1 and 'feed' in (n.source, n.next_source)
      union all
      select n.incarnation, 1, n.sequence - 1 from neighbours n
      where n.place = 1 and n.sequence > 1 and not n.logged
    ) m
    where not exists (
      select from ingest.gap g
      where g.app_id = :app and g.stream = 'room-events' and g.series = ${room} and g.incarnation = m.incarnation
        and g.sequence_from <= m.last and g.sequence_to >= m.first and g.state in ('open', 'lost'))
  )`
}

/** Open holes of the incarnations in `gone` are lost, and so is what is missing around events of the feed. */
export function lose(room: string, reason: string): string {
  return `
  lost as (
    update ingest.gap g set state = 'lost', updated_at = ingest.clock() from gone
    where g.app_id = :app and g.stream = 'room-events' and g.series = ${room} and g.incarnation = gone.incarnation
      and g.state = 'open'
    returning 1
  ), ${missing(room)}, recorded as (
    insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state,
                            first_seen_at, updated_at)
    select :app, 'room-events', ${room}, m.incarnation, 'sequence', m.first, m.last, '${reason}', 'lost',
           ingest.clock(), ingest.clock()
    from missing m where :dense::boolean
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do nothing
    returning 1
  )`
}
