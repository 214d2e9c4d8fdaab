import type pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import type { CommitResult, Grant, PageCommit } from '../../engine/ports.ts'
import { query } from '../connect.ts'
import { encodeJson } from '../encode.ts'
import { bind, statement } from '../statement.ts'
import { debitValues } from './ctes.ts'

/** A page that brings nothing but the settlement of its debit. */
export type EmptyAnswer = PageCommit & { readonly settles: Grant }

/** Whether a feed told nothing: most answers of most apps are of this kind. */
export function isEmptyAnswer(page: PageCommit): page is EmptyAnswer {
  const { source, settles, rows, rejects, holes } = page
  const isEmpty = rejects.length === 0 && !holes && Object.values(rows).every(each => each.length === 0)
  return source === 'feed' && settles !== undefined && isEmpty
}

/**
 * Progress by compare-and-set and the settled debit of each answer, under the fence of its own app. Each row is found by a
 * look-up of its own ("offset 0"), since a join would read all progress and all debits.
 */
export const emptyAnswers = statement(
  'commit_empty_answers',
  `with
  page as materialized (
    select p.* from json_to_recordset(:pages::json) as p(place int, app text, stream text, series text, version bigint,
      cursor text, stream_state jsonb, shard int, owner text, epoch bigint, debit_scope text, debit_group text, debit_n bigint,
      told_all boolean, time_floor double precision, time_ceiling double precision)
  ),
  fence as materialized (
    select o.shard, o.owner, o.epoch from ingest.ownership o
    where exists (select from page p where p.shard = o.shard and p.owner = o.owner and p.epoch = o.epoch) for share
  ),
  stood as materialized (
    select p.*, t.at from page p join fence using (shard, owner, epoch)
    cross join lateral (
      select t.ctid as at from ingest.progress t
      where t.app_id = p.app and t.stream = p.stream and t.series = p.series and t.version = p.version
      offset 0
    ) t
  ),
  moved as (
    update ingest.progress t
    set version = t.version + 1, cursor = s.cursor, stream_state = s.stream_state, epoch = s.epoch, updated_at = ingest.clock(),
        caught_up_at = case when s.told_all then ingest.clock() else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.at and t.version = s.version
    returning s.place, t.version
  ),
  settled as (
    update ingest.debit t
    set settled_at = greatest(t.sent_at, d.settled_at), outcome = 'committed', told_all = s.told_all
    from moved join stood s using (place)
    cross join lateral (
      select d.ctid as at, ingest.settle_time(b, ingest.clock(), to_timestamp(s.time_floor / 1000),
                                              to_timestamp(s.time_ceiling / 1000)) as settled_at
      from ingest.debit d, ingest.budget b
      where d.scope = s.debit_scope and d.limit_group = s.debit_group and d.n = s.debit_n
        and b.scope = s.debit_scope and b.limit_group = s.debit_group
      offset 0
    ) d
    where t.ctid = d.at
    returning 1
  )
  select p.place, m.version::int as version,
         exists (select from fence f where (f.shard, f.owner, f.epoch) = (p.shard, p.owner, p.epoch)) as owned
  from page p left join moved m using (place)`,
)

interface Settled extends pg.QueryResultRow {
  readonly place: number
  readonly version: number | null
  readonly owned: boolean
}

interface Waiting {
  readonly page: EmptyAnswer
  /** Commits the page by itself. */
  readonly alone: () => Promise<CommitResult>
  readonly resolve: (result: CommitResult | Promise<CommitResult>) => void
}

/** From one statement to the next, ms: what comes meanwhile goes together. Who comes after a pause waits for nobody. */
const SETTLE_EVERY_MS = 200

/** Answers of one statement at most. */
const MOST_TOGETHER = 500

/** Settles empty answers of many apps in one statement. A process that dies leaves those unsettled that waited for it. */
export class EmptyAnswers {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  #waiting: Waiting[] = []
  #settledAt = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  /** Throws as `alone` does. */
  add(page: EmptyAnswer, alone: Waiting['alone']): Promise<CommitResult> {
    return new Promise(resolve => {
      this.#waiting.push({ page, alone, resolve })
      if (this.#waiting.length === 1) void this.#settleSoon()
    })
  }

  async #settleSoon(): Promise<void> {
    const wait = this.#settledAt + SETTLE_EVERY_MS - this.#clock.monotonic()
    if (wait > 0) await this.#clock.sleep(wait)
    this.#settledAt = this.#clock.monotonic()
    const all = this.#waiting
    this.#waiting = []
    for (let i = 0; i < all.length; i += MOST_TOGETHER) void this.#settle(all.slice(i, i + MOST_TOGETHER))
  }

  /** Where the statement failed each goes by itself, also where nobody knows whether it was committed: the version tells. */
  async #settle(together: readonly Waiting[]): Promise<void> {
    const pages = encodeJson(together.map(({ page }, place) => ({ place, ...valuesOf(page) })))
    const rows = await query<Settled>(this.#pool, bind(emptyAnswers, { pages })).catch(() => [])
    const byPlace = new Map(rows.map(row => [row.place, row]))
    for (const [place, { alone, resolve }] of together.entries()) {
      const row = byPlace.get(place)
      resolve(row ? resultOf(row) : alone())
    }
  }
}

function valuesOf({
  app,
  stream,
  series,
  version,
  cursor,
  streamState,
  fence,
  settles,
  caughtUp,
}: EmptyAnswer) {
  return {
    ...{ app, stream, series, version, cursor, stream_state: streamState, ...fence },
    ...debitValues(settles, caughtUp),
  }
}

function resultOf({ version, owned }: Settled): CommitResult {
  if (version !== null) return { outcome: 'committed', version, stored: {}, diverged: 0, deadLetters: {} }
  return { outcome: owned ? 'stale' : 'fenced' }
}
