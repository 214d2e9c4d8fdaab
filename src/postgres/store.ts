import type pg from 'pg'
import type { DeadLetter, Store } from '../engine/ports.ts'
import { type CommitSettings, Commits } from './commit/commit.ts'
import { query } from './connect.ts'
import { encodeText } from './encode.ts'
import { type GapSettings, gapStore } from './gaps.ts'
import { keepHouse } from './housekeeping.ts'
import { Masks } from './masks.ts'
import { makePartitions, type Retention } from './partitions.ts'
import { seriesStore } from './progress.ts'
import type { Ages } from './prune.ts'
import { bind, statement } from './statement.ts'
import type { Keeping } from './unkept.ts'
import { windowStore } from './windows.ts'
import { itemStore } from './work-queue.ts'

export interface StoreSettings extends CommitSettings, GapSettings {
  /** How long tables keep their rows; absent: forever. */
  readonly retention?: Retention & Ages
  /** What is kept of people; absent: all. */
  readonly keeping?: Keeping
}

export function createStore(pool: pg.Pool, settings: StoreSettings): Store {
  const { keeping, retention = {}, streams } = settings
  const masks = new Masks(pool, keeping)
  const commits = new Commits(pool, settings, masks)
  const inClass = new Set(
    streams.filter(({ operation }) => operation.family === 'classroom').map(({ name }) => name),
  )
  const series = seriesStore(pool, settings)
  return {
    ...series,
    ...gapStore(pool, settings),
    ...windowStore(pool, series.closeSeries),
    ...itemStore(pool),
    // An app begins anew in a database that was put back, where others may be forgotten, and as many.
    noteApp: (fence, app, facts) => {
      masks.drop(app)
      return series.noteApp(fence, app, facts)
    },
    commit: page => commits.page(page),
    dryRun: page => commits.dryRun(page),
    commitWindow: page => commits.window(page),
    commitItem: page => commits.item(page),
    deadLetter: letter =>
      masks.run(letter.app, mask => {
        const body = mask.letter(letter.body, letter.series, inClass.has(letter.stream))
        return deadLetter(pool, { ...letter, body }, mask.count)
      }),
    prepare: () => makePartitions(pool, retention),
    housekeeping: (confirmed, signal) => keepHouse(pool, retention, confirmed, signal),
  }
}

const letterStatement = statement(
  'set_aside',
  `with again as (
     update ingest.dead_letter t set occurrences = t.occurrences + 1, last_seen_at = ingest.clock()
     where :alike::boolean and t.app_id = :app and t.stream = :stream and t.reason = :reason and t.detail = :detail
     returning 1
   ), known as (
     select from ingest.dead_letter t
     where t.app_id = :app and t.stream = :stream and t.series = :series and t.reason = :reason
       and t.content_hash = sha256(:body::bytea)
   ), letter as (
     insert into ingest.dead_letter as t (app_id, stream, series, reason, detail, body, received_at, last_seen_at)
     select :app, :stream, :series, :reason, :detail, :body::bytea, ingest.clock(), ingest.clock()
     where not exists (select from again)
       and (exists (select from known) or ingest.letters_left(:app, :stream, :reason) > 0)
     on conflict (app_id, stream, series, reason, content_hash) do update
       set occurrences = t.occurrences + 1, last_seen_at = ingest.clock()
     returning (xmax = 0) as fresh
   ), unkept as (
     insert into ingest.unkept_letter as u (app_id, stream, series, reason, letters, last_seen_at)
     select :app, :stream, :series, :reason, 1, ingest.clock()
     where not exists (select from again) and not exists (select from letter)
     on conflict (app_id, stream, series, reason) do update
       set letters = u.letters + 1, last_seen_at = excluded.last_seen_at
     returning 1
   )
   select exists (select from letter where fresh) or exists (select from unkept) as fresh,
          ingest.hold_forgotten(:app, :forgotten::bigint)`,
)

/** At most this much of a page that could not be used is kept. */
export const LONGEST_LETTER = 64 * 1024

async function deadLetter(pool: pg.Pool, letter: DeadLetter, forgotten: number): Promise<'new' | 'again'> {
  const body = Buffer.from(letter.body.subarray(0, LONGEST_LETTER))
  const values = {
    ...letter,
    series: encodeText(letter.series),
    body,
    alike: letter.alike === 'by detail',
    forgotten,
  }
  const [row] = await query<{ fresh: boolean }>(pool, bind(letterStatement, values))
  return row!.fresh ? 'new' : 'again'
}
