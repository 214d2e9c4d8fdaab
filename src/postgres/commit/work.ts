import type { WindowCommit } from '../../engine/ports.ts'
import { encodeJson } from '../encode.ts'
import type { Values } from '../statement.ts'

/**
 * Puts new items on the work queue. An item that is there stays as it is, also when it is done, unless more is asked
 * of it now: a longer range, or another question. `origin` is an SQL expression.
 */
export function worked(origin: string): string {
  return `
  worked as (
    insert into ingest.work_item as w (app_id, stream, item, part, range_from, range_to, ask, origin, created_at, updated_at)
    select distinct on (r.stream, r.item, r.part) :app, r.stream, r.item, r.part,
           to_timestamp(r.first), to_timestamp(r.last), r.ask, ${origin}, ingest.clock(), ingest.clock()
    from json_to_recordset(:work::json)
      as r(stream text, item text, part text, first double precision, last double precision, ask jsonb)
    where exists (select from moved)
      -- What was out of reach before anyone asked for details is owed by nobody.
      and not exists (select from ingest.progress p where p.app_id = :app and p.stream = r.stream and p.series = ''
                      and p.owed_from > to_timestamp(r.first))
    order by r.stream, r.item, r.part, r.last desc
    on conflict (app_id, stream, item, part) do update
      set range_from = excluded.range_from, range_to = excluded.range_to, ask = excluded.ask, state = 'owed', page = 1,
          stream_state = null, version = w.version + 1, failures = 0, not_before = null, falls_back_to = null,
          updated_at = ingest.clock()
      where excluded.range_to > w.range_to or excluded.ask is distinct from w.ask
    returning 1
  )`
}

/** Parameters of `worked`. */
export function workValues(work: WindowCommit['work']): Values {
  const items = work.map(({ stream, key, part, from, to, ask }) => {
    return { stream, item: key, part, first: from, last: to, ask }
  })
  return { work: encodeJson(items) }
}
