import type { Riddle } from './nobody.ts'
import type { Stage } from './stage.ts'

/** What the database claims to be complete of a stream whose answers nobody could read: one line a claim. */
export async function claimsOf({ database }: Stage, { app, stream }: Riddle): Promise<readonly string[]> {
  const rows = await database.ask<{ claim: string }>(
    `-- Of the quiet room nothing can be said wrongly: its lists are empty.
     select format('room_complete of %s', room_uuid) as claim from ingest.room_complete
       where app_id = $1 and stream = $2 and complete and room_uuid like '%math%'
     union all select format('complete_day of %s', day) from ingest.complete_day
       where app_id = $1 and stream = $2 and complete
     union all select 'is_complete' where $2 !~ 'events|popup|poll|recordings|resources|call-|players'
       and ingest.is_complete($2, $1,
         now() - (case when $2 like '%insight' then '2 days' when $2 = 'calls' then '7 hours' else '40 minutes' end)::interval,
         now() - (case when $2 like '%insight' then '30 hours' when $2 = 'calls' then '45 minutes' else '10 minutes' end)::interval)
     -- The third call has a session without values: of that all is read.
     union all select format('%s of %s is %s', stream, item, state) from ingest.work_item
       where app_id = $1 and stream = $2 and state = 'done' and not (stream = 'call-metrics' and item like '%call-3')`,
    [app, stream],
  )
  return rows.map(({ claim }) => claim)
}

export async function deadLettersOf({ database }: Stage, { app, stream }: Riddle): Promise<number> {
  const [row] = await database.ask<{ n: number }>(
    'select count(*)::int as n from ingest.dead_letter where app_id = $1 and stream = $2',
    [app, stream],
  )
  return row!.n
}

/** Rooms of which a stream is called complete. */
export async function completeOf(
  { database }: Stage,
  app: string,
  stream: string,
): Promise<readonly string[]> {
  const rows = await database.ask<{ room: string }>(
    'select room_uuid as room from ingest.room_complete where app_id = $1 and stream = $2 and complete',
    [app, stream],
  )
  return rows.map(({ room }) => room)
}

/** What had ended and was said to go on, and what was said to be removed and was not: one line each. */
export async function untrueChanges({ database }: Stage): Promise<readonly string[]> {
  const rows = await database.ask<{ line: string }>('select distinct line from public.untrue_change')
  return rows.map(({ line }) => line)
}

/** Where the secrets lie that were told; nowhere, where all is well. */
export async function secretsStored({ database, daemon }: Stage): Promise<readonly string[]> {
  const tables = await database.ask<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('ingest', 'classroom', 'analytics', 'players')`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    // Bytes are shown as digits.
    const [row] = await database.ask<{ n: number }>(
      `select count(*)::int as n from ${name} t where t::text ~ 'planted-' or t::text ~ '706c616e7465642d'`,
    )
    if (row!.n > 0) found.push(`${name}: ${row!.n} rows`)
  }
  const lines = daemon.lines.filter(line => JSON.stringify(line).includes('planted-'))
  return [...found, ...lines.map(({ msg }) => `log: ${msg}`)]
}
