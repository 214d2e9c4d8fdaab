import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../support/databases.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type Case, now } from './edges.ts'
import { channels, comingAndGoing, ends, roles, stays, toldLate } from './edges-classes.ts'
import { days } from './edges-days.ts'
import { intervals, links, weeks } from './edges-people.ts'
import { before, foundOnce, lateTeachers, polls, toldAtOnce, unknownEnds } from './edges-told.ts'
import { connectAs } from './filled.ts'
import { whileMistaken } from './mutants.ts'

const edges = [
  ...[channels, stays, comingAndGoing, ends, toldLate, roles, days, links, intervals, weeks],
  ...[polls, unknownEnds, before, lateTeachers, toldAtOnce, foundOnce],
]

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await cloneDatabase()
  client = await connectAs(database.url)
  await client.query(
    `create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
       as $$ select timestamptz '${now}' $$`,
  )
  for (const { rows } of edges) await client.query(rows)
})

afterAll(async () => {
  await client?.end()
  await database?.drop()
})

async function answer({ meanwhile = '', query }: Case): Promise<readonly unknown[]> {
  await client.query(`savepoint asked; ${meanwhile}`)
  const { rows } = await client.query<unknown[]>({ text: query, rowMode: 'array' })
  await client.query('rollback to asked')
  return rows
}

describe.each(edges)('$about', ({ cases, mutants }) => {
  it.each(cases)('$name', async one => {
    await client.query('begin')
    try {
      expect(await answer(one)).toEqual(one.expected)
    } finally {
      await client.query('rollback')
    }
  })

  it.each(mutants)('would not overlook a mistake in $view: $mistake', async mutant => {
    const answers = await whileMistaken(client, mutant, async () => {
      const list: unknown[] = []
      for (const one of cases) list.push(await answer(one))
      return list
    })
    expect(answers).not.toEqual(cases.map(({ expected }) => expected))
  })
})
