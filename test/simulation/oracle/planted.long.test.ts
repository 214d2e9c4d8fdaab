import { expect, it } from 'vitest'
import { cloneDatabase } from '../../support/postgres.ts'
import { runSimulation } from '../run.ts'
import { examineAnalytics } from './analytics.ts'
import { examineClassroom } from './classroom.ts'
import { examineDays } from './days.ts'
import type { Examination, Finding } from './examination.ts'
import { type Column, columnsOf, foundAfter, otherValue } from './planted.ts'
import { examinePlayers } from './players.ts'

type Examine = (examination: Examination) => Promise<readonly Finding[]>

/** Filled when migrating, from the contract. */
const ofContract = 'metric'
/** A call that is over may be stored as one that goes on for longer than this run lasts: until it is searched for again. */
const unripe = 'call.finished'

/** Changes a cell of each column, and takes a row of each table away; answers what of it was not found. */
async function missed(
  examination: Examination,
  examine: Examine,
  schema: string,
): Promise<readonly string[]> {
  const columns = (await columnsOf(examination, schema)).filter(({ table }) => table !== ofContract)
  const passed: string[] = []
  for (const [table, own] of Map.groupBy(columns, one => one.table)) {
    const row = `where ctid = (select ctid from ${schema}.${table} limit 1)`
    const [{ count } = { count: 0 }] = await examination.rows<{ count: number }>(
      `select count(*)::int as count from ${schema}.${table}`,
    )
    if (count === 0) passed.push(`${table} is empty`)
    const cells = own.filter(({ isKey }) => !isKey)
    const change = (some: readonly Column[]) =>
      `update ${schema}.${table} set ${some.map(one => `"${one.column}" = ${otherValue(one)}`).join(', ')} ${row}`
    const together = await foundAfter(examination, examine, change(cells))
    const isNamed = ({ column }: Column) =>
      together.some(text => text.includes(`${schema}.${table} `) && text.includes(` ${column}: `))
    for (const cell of cells.filter(one => !isNamed(one))) {
      const alone = await foundAfter(examination, examine, change([cell]))
      const name = `${table}.${cell.column}`
      if (alone.length === 0 && name !== unripe) passed.push(name)
    }
    const key = own.findLast(({ isKey }) => isKey)!
    const moved = `update ${schema}.${table} set "${key.column}" = ${otherValue(key)} ${row}`
    const found = await foundAfter(examination, examine, moved)
    const isFound = (text: string) => /^duplicate|^different|^lost|history of/.test(text)
    if (!found.some(isFound)) passed.push(`${table} doubled`)
  }
  return passed
}

/** As short as holds a row of each table, and ends amid classes: nobody owes the holes of a log that is about to go. */
const minutes = 60_000
const length = 17 * minutes
const patience = 10 * minutes

it(
  'the oracle finds each cell that is changed, and gaps and claims that are not so',
  async () => {
    let passed: readonly string[] = ['nothing was examined']
    const found: Record<string, readonly string[]> = {}
    const inspect = async (examination: Examination) => {
      const after = (...statements: readonly string[]) =>
        foundAfter(examination, examineClassroom, ...statements)
      found.nothing = await after()
      const holes = `
        select g.id from ingest.gap g join classroom.room r
          on r.app_id = g.app_id and r.room_uuid = g.series and r.incarnation = g.incarnation
        where g.reason = 'hole' and g.state = 'absent' and r.valid_to is null and r.forgotten_at is null`
      const hole = `where id = (select max(id) from (${holes}) h)`
      found.wide = await after(`update ingest.gap set sequence_to = sequence_to + 1 ${hole}`)
      found.gone = await after(`delete from ingest.gap where id in (${holes})`)
      found.early = await after(
        `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
         values ('alpha', 'app-events', '', 'time', ingest.clock() - interval '20 minutes', ingest.clock() - interval '19 minutes',
                 'unread_answer', 'repaired', ingest.clock(), ingest.clock())`,
      )
      found.open = await after(`update ingest.gap set state = 'open' ${hole}`)
      found.event = await after(
        `delete from classroom.room_event where (app_id, room_uuid, incarnation, sequence) = (
           select app_id, room_uuid, incarnation, max(sequence) from classroom.room_event
           join ingest.room_complete c using (app_id, room_uuid, incarnation)
           where c.stream = 'room-events' and c.complete group by 1, 2, 3 limit 1)`,
      )
      found.unread = await after(`update ingest.progress set caught_up_at = null where stream = 'poll'`)
      const abroad = `update ingest.app set time_zone = 'Pacific/Kiritimati'`
      found.days = await foundAfter(examination, examineDays, abroad)
      found.noDays = await foundAfter(examination, examineDays)
      passed = [
        ...(await missed(examination, examineClassroom, 'classroom')),
        ...(await missed(examination, examinePlayers, 'players')),
        ...(await missed(examination, examineAnalytics, 'analytics')),
      ]
    }
    // Small, and of a provider that answers as the documents say: each change is examined by itself.
    const profile = { classes: 6, eventsPerMinute: 30, students: 3 }
    // So near to a midnight that it is another day on an island.
    const start = Date.UTC(2026, 0, 5, 12)
    const demands = { plan: 'enterprise', apps: ['alpha'], profile, quirks: {}, start } as const
    await runSimulation({ seed: 6, length, calm: 0, demands, cloneDatabase, inspect })
    expect(found.nothing).toEqual([])
    expect(found.wide).toContainEqual(
      expect.stringMatching(/^gap: .*(events are in it|neighbour to neighbour)/),
    )
    expect(found.gone).toContainEqual(expect.stringMatching(/^gap: .* not told of/))
    expect(found.early).toContainEqual(expect.stringMatching(/^gap: alpha feed/))
    expect(found.open).toContainEqual(expect.stringMatching(/^owed: /))
    expect(found.event).toContainEqual(expect.stringMatching(/^lost: /))
    expect(found.event).toContainEqual(expect.stringMatching(/^complete: .* room-events: said to be/))
    expect(found.unread).toContainEqual(
      expect.stringMatching(/^complete: .* poll: whole, and not said to be/),
    )
    expect(found.noDays).toEqual([])
    for (const what of ['calls of days', 'stays of days', 'stays with their day', 'classes with their day'])
      expect(found.days).toContainEqual(expect.stringContaining(`different: ${what} of alpha`))
    expect(found.days).toContainEqual(
      expect.stringMatching(/^different: days of alpha: the last that is told/),
    )
    expect(passed).toEqual([])
  },
  patience,
)
