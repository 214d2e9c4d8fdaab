/** How much of a school's past lies in a database. */
export interface Past {
  /** Rooms that are over and forgotten, one after the other through five years. Each has five series that are closed. */
  readonly rooms: number
  /** Calls that were fetched whole, each an item of the worklist. */
  readonly items: number
}

/** Five years of a school of a hundred classes a day. */
export const fiveYears: Past = { rooms: 182_000, items: 912_000 }

const app = 'school'
const streams = `array['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']`

/** When the n-th of `count` was: spread over five years up to now. */
const at = (n: string, count: number) =>
  `now() - interval '5 years' * (1 - ${n}::double precision / ${count})`

const filling = ({ rooms, items }: Past) => `
  begin;
  set local session_replication_role = replica;
  insert into classroom.room (app_id, room_uuid, incarnation, region, state, started_at, ended_at, valid_from,
                              first_seen_at, last_event_at, verified_at, forgotten_at)
  select '${app}', 'past-' || n, 1, 'ap', 2, t, t + interval '40 minutes', t, t, t + interval '40 minutes', t, t + interval '2 hours'
  from (select n, ${at('n', rooms)} as t from generate_series(1, ${rooms}) n) r;
  insert into ingest.progress (app_id, stream, series, version, epoch, updated_at, caught_up_at, closed_at)
  select '${app}', s, 'past-' || n, 9, 1, t, t, t
  from (select n, ${at('n', rooms)} as t from generate_series(1, ${rooms}) n) r cross join unnest(${streams}) s;
  insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state, version, created_at, updated_at)
  select '${app}', case n % 2 when 0 then 'call-sessions' else 'call-metrics' end, 'past-' || n, '', t, t + interval '40 minutes', 'done', 3, t, t
  from (select n, ${at('n', items)} as t from generate_series(1, ${items}) n) i;
  select ingest.recount();
  commit`

/** Puts a past into a database; `run` runs statements as whoever may do all. */
export async function fillPast(run: (text: string) => Promise<unknown>, past: Past): Promise<void> {
  await run(filling(past))
}
