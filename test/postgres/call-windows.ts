import { at, back } from './analytics.ts'
import { app, me, type TestStore } from './harness.ts'

/** Series of the windows of calls: their progress and their gaps, in seconds after the clock of a test begins. */
export function callWindowsOf(db: TestStore) {
  return {
    begin: (series: string, backlogFrom = 0) =>
      db.store.beginWindows(me, app, 'calls', [series], at(backlogFrom)),
    progress: async (series: string) => {
      const found = (await db.store.windows(app, 'calls')).find(each => each.series === series)!
      const { covered, seen, lost, wanted } = found
      return {
        ...{ version: found.version, backlogFrom: found.backlogFrom - at(0) },
        ...{ covered: back(covered), seen: back(seen), lost: back(lost), wanted: back(wanted) },
      }
    },
    gaps: (series: string) =>
      db.rows(
        `select extract(epoch from range_from)::float8 - $2 as "from", extract(epoch from range_to)::float8 - $2 as "to",
                reason, state
         from ingest.gap where stream = 'calls' and series = $1 and unit = 'time' order by range_from`,
        [series, at(0)],
      ),
  }
}
