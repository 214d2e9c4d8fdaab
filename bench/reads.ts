import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { askPanel, choose, momentOf } from '../test/dashboards/ask.ts'
import { panelsOf, readDashboards } from '../test/dashboards/files.ts'
import { readQuestions } from '../test/sql-cookbook/questions.ts'
import { end } from '../test/sql-cookbook/world.ts'
import { type Year, yearOfCalls } from './year.ts'

const day = 86_400_000
/** The span that dashboards open with, and others that people choose. */
const spans = { 'as it opens': undefined, 'a week': 7 * day, 'a year': 365 * day } as const

/** What people ask of all there is. */
const wholeViews = [
  'classroom.attendance_by_week',
  'classroom.attendance_by_day',
  'ingest.complete_day',
  'analytics.usage_by_day',
] as const

interface Asked {
  readonly what: string
  readonly ms: number
}

export interface ReadsOptions extends Year {
  readonly say: (line: string) => void
}

/**
 * Asks every panel of the dashboards, every question of docs/sql.md and the views of days and weeks of a school with a year
 * of calls, each once, after it was asked once before: what people wait for who look a second time.
 */
export async function reads({ say, calls, sessions, measured }: ReadsOptions) {
  const year = { calls, sessions, measured }
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const database = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const client = new pg.Client({ connectionString: database.url, options: '-c timezone=UTC' })
  client.on('error', () => {})
  try {
    await migrateUp({ url: database.url })
    await client.connect()
    await client.query('set synchronous_commit = off')
    for (const { what, text } of yearOfCalls(year, end)) {
      const began = systemClock.monotonic()
      await client.query(text)
      say(`${what} (${Math.round((systemClock.monotonic() - began) / 1_000)} s)`)
    }
    const panels = await askPanels(client, say)
    const answers: Asked[] = []
    for (const { number, title, query } of await readQuestions()) {
      answers.push({ what: `${number}. ${title}`, ms: await timed(() => client.query(query)) })
      say(`${answers.at(-1)!.ms} ms: ${answers.at(-1)!.what}`)
    }
    const views: Asked[] = []
    for (const view of wholeViews) {
      views.push({ what: view, ms: await timed(() => client.query(`select * from ${view}`)) })
      say(`${views.at(-1)!.ms} ms: all of ${view}`)
    }
    const { rows: sizes } = await client.query<{ name: string; bytes: number }>(rowSizes)
    const { rows: whole } = await client.query<{ bytes: string }>(
      'select pg_database_size(current_database()) as bytes',
    )
    return {
      ...year,
      gigabytes: Number((Number(whole[0]!.bytes) / 1e9).toFixed(1)),
      bytes_per_row: Object.fromEntries(sizes.map(({ name, bytes }) => [name, bytes])),
      ...{ panels: panels.length, slowest_panels: slowest(panels) },
      ...{ answers: answers.length, slowest_answers: slowest(answers) },
      whole_views: slowest(views),
    }
  } finally {
    await client.end()
    await database.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

/** With indexes, as `penstock forecast` reckons with them. */
const rowSizes = `select t.name, (sum(pg_total_relation_size(t.part)) / sum(c.reltuples))::int as bytes
  from (select c.relname as name, coalesce(i.inhrelid, c.oid) as part
        from pg_class c left join pg_inherits i on i.inhparent = c.oid
        where c.relnamespace = 'analytics'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition) t
  join pg_class c on c.oid = t.part and c.reltuples > 0
  group by t.name having sum(c.reltuples) > 100 order by 1`

async function askPanels(client: pg.Client, say: (line: string) => void): Promise<readonly Asked[]> {
  const asked: Asked[] = []
  const dashboards = Object.entries(readDashboards()).filter(([name]) => name !== 'operations')
  for (const [name, dashboard] of dashboards) {
    for (const [title, span] of Object.entries(spans)) {
      const moment = momentOf(dashboard, end, span)
      const values = await choose(client, dashboard, moment)
      for (const panel of panelsOf(dashboard)) {
        const what = `${name}, ${title}: ${panel.title}`
        asked.push({ what, ms: await timed(() => askPanel(client, panel, values, moment)) })
        say(`${asked.at(-1)!.ms} ms: ${what}`)
      }
    }
  }
  return asked
}

function slowest(asked: readonly Asked[]): Readonly<Record<string, number>> {
  const sorted = asked.toSorted((a, b) => b.ms - a.ms)
  return Object.fromEntries(sorted.slice(0, 5).map(({ what, ms }) => [what, ms]))
}

/** ms of the second time. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  await work()
  const began = systemClock.monotonic()
  await work()
  return Math.round(systemClock.monotonic() - began)
}
