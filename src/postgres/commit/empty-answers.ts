import type pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import type { CommitResult, PageCommit } from '../../engine/ports.ts'
import { room } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { query } from '../connect.ts'
import { encodeJson } from '../encode.ts'
import { bind, statement } from '../statement.ts'
import { debitValues, lockKey } from './ctes.ts'
import { verifiedAgain } from './room-life.ts'

/**
 * Whether a page tells nothing and moves its progress alone: most answers of the feeds of most apps, and of most rooms. Of a room
 * whose pages go on the next one need not wait for others.
 */
export function isEmptyAnswer(page: PageCommit): boolean {
  const { source, settles, room, rows, rejects, holes, caughtUp, isUndecided } = page
  const isEmpty = rejects.length === 0 && !holes?.length && !isUndecided
  if (!isEmpty || Object.values(rows).some(each => each.length > 0)) return false
  return source === 'feed' ? settles !== undefined : caughtUp && room.kind === 'incarnation' && !room.opens
}

/**
 * Progress by compare-and-set and the settled debit of each answer, under the fence of its own app; what is of a room, only
 * while that is verified, with the repair of what was lost of it. A room's own log verifies it, where nothing else can come of
 * that: no hole, no loss, nothing that the feed told and that waits, and no feed that is being stored. Else it goes by itself.
 * Each row is found by a look-up of its own ("offset 0"), since a join would read all progress and all debits.
 */
export const emptyAnswers = statement(
  'commit_empty_answers',
  `with
  page as materialized (
    select p.*, case
             when p.incarnation is null then true
             when not p.verifies then coalesce((
               select r.verified_at > ingest.clock() - :memory::interval from classroom.room r
               where r.app_id = p.app and r.room_uuid = p.series and r.incarnation = p.incarnation), false)
             else exists (
               select from classroom.room r
               where r.app_id = p.app and r.room_uuid = p.series and r.incarnation = p.incarnation
                 and r.region = p.region and r.forgotten_at is null)
               and not exists (
               select from ingest.divergence d
               where d.app_id = p.app and d.stream = 'app-events' and d.series = p.series and d.resolved_at is null)
               and not exists (
               select from ingest.gap g
               where g.app_id = p.app and g.stream = p.stream and g.series = p.series and g.state in ('open', 'lost', 'absent'))
               and pg_try_advisory_xact_lock_shared(${lockKey('p.app')}) end as verified
    from json_to_recordset(:pages::json) as p(place int, app text, stream text, series text, region text, incarnation int,
      verifies boolean, version bigint, cursor text, stream_state jsonb, shard int, owner text, epoch bigint, debit_scope text,
      debit_group text, debit_n bigint, told_all boolean, age double precision, time_floor double precision, time_ceiling double precision)
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
    where p.verified
  ),
  moved as (
    update ingest.progress t
    set version = t.version + 1, cursor = s.cursor, stream_state = s.stream_state, epoch = s.epoch, updated_at = ingest.clock(),
        caught_up_at = case when s.told_all then ingest.clock() - s.age * interval '1 millisecond' else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.at and t.version = s.version
    returning s.place, t.version
  ),
  alive as (
    update classroom.room t set verified_at = ${verifiedAgain('s.told_all', 't.state')}
    from moved join stood s using (place)
    cross join lateral (
      select r.ctid as room from classroom.room r
      where r.app_id = s.app and r.room_uuid = s.series and r.incarnation = s.incarnation
      offset 0
    ) r
    where s.verifies and t.ctid = r.room
    returning 1
  ),
  regained as (
    update ingest.gap t set state = 'repaired', updated_at = ingest.clock()
    from moved join stood s using (place)
    cross join lateral (
      select g.ctid as at from ingest.gap g
      where g.app_id = s.app and g.stream = s.stream and g.series = s.series and g.incarnation = s.incarnation
        and g.unit = 'time' and g.state = 'lost'
      offset 0
    ) g
    where t.ctid = g.at
    returning 1
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
  select p.place, m.version::int as version, p.verified,
         exists (select from fence f where (f.shard, f.owner, f.epoch) = (p.shard, p.owner, p.epoch)) as owned
  from page p left join moved m using (place)`,
)

interface Settled extends pg.QueryResultRow {
  readonly place: number
  readonly version: number | null
  readonly owned: boolean
  readonly verified: boolean
}

interface Waiting {
  readonly page: PageCommit
  /** It is of the log that tells whether the room is there. */
  readonly verifies: boolean
  /** Commits the page by itself. */
  readonly alone: () => Promise<CommitResult>
  readonly resolve: (result: CommitResult | Promise<CommitResult>) => void
}

/** From one statement to the next, ms: what comes meanwhile goes together. Who comes after a pause waits for nobody. */
const SETTLE_EVERY_MS = 200

/** So many wait for no time to pass, but for the statement before. */
const MANY = 32

/** Answers of one statement at most. */
const MOST_TOGETHER = 500

/** Settles empty answers of many apps and rooms in one statement. A process that dies leaves those unsettled that waited for it. */
export class EmptyAnswers {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #memory: string
  #waiting: Waiting[] = []
  #settledAt = Number.NEGATIVE_INFINITY
  #hasTimer = false
  #underWay = 0

  constructor(pool: pg.Pool, clock: Clock, memory: string) {
    this.#pool = pool
    this.#clock = clock
    this.#memory = memory
  }

  /** Throws as `alone` does. `writes`: the tables of its stream. */
  add(page: PageCommit, writes: readonly Table[], alone: Waiting['alone']): Promise<CommitResult> {
    const verifies = page.source !== 'feed' && writes.includes(room)
    return new Promise(resolve => {
      this.#waiting.push({ page, verifies, alone, resolve })
      if (!this.#hasTimer) void this.#settleSoon()
      this.#settleMany()
    })
  }

  async #settleSoon(): Promise<void> {
    this.#hasTimer = true
    const wait = this.#settledAt + SETTLE_EVERY_MS - this.#clock.monotonic()
    if (wait > 0) await this.#clock.sleep(wait)
    this.#hasTimer = false
    this.#settleAll()
  }

  #settleMany(): void {
    if (this.#waiting.length >= MANY && this.#underWay === 0) this.#settleAll()
  }

  #settleAll(): void {
    if (this.#waiting.length === 0) return
    this.#settledAt = this.#clock.monotonic()
    const all = this.#waiting
    this.#waiting = []
    for (let i = 0; i < all.length; i += MOST_TOGETHER) void this.#settle(all.slice(i, i + MOST_TOGETHER))
  }

  /**
   * Where the statement failed each goes by itself, also where nobody knows whether it was committed: the version tells. So does
   * a log that was not moved.
   */
  async #settle(together: readonly Waiting[]): Promise<void> {
    const pages = encodeJson(
      together.map(({ page, verifies }, place) => ({ place, verifies, ...valuesOf(page) })),
    )
    this.#underWay += 1
    const bound = bind(emptyAnswers, { pages, memory: this.#memory })
    const rows = await query<Settled>(this.#pool, bound).catch(() => [])
    this.#underWay -= 1
    const byPlace = new Map(rows.map(row => [row.place, row]))
    for (const [place, { verifies, alone, resolve }] of together.entries()) {
      const row = byPlace.get(place)
      resolve(!row || (verifies && row.version === null) ? alone() : resultOf(row))
    }
    this.#settleMany()
  }
}

function valuesOf(page: PageCommit) {
  const { app, region, stream, series, room, version, cursor, streamState, fence, settles, caughtUp } = page
  const incarnation = room.kind === 'incarnation' ? room.incarnation : null
  return {
    ...{ app, region, stream, series, incarnation, version, cursor, stream_state: streamState, ...fence },
    ...debitValues(settles, caughtUp),
    age: page.age?.() ?? 0,
  }
}

function resultOf({ version, owned, verified }: Settled): CommitResult {
  if (version !== null) return { outcome: 'committed', version, stored: {}, diverged: 0, deadLetters: {} }
  if (!owned) return { outcome: 'fenced' }
  return { outcome: verified ? 'stale' : 'unverified' }
}
