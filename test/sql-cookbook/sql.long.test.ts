import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { connectAs, type FilledSchool, filledSchool, trueSchool } from './filled.ts'
import { mutants, whileMistaken } from './mutants.ts'
import type { Oracle } from './oracle.ts'
import { oracles } from './oracles.ts'
import { ask, readQuestions } from './questions.ts'

const questions = await readQuestions()

let school: FilledSchool
let sandbox: Sandbox
let reader: pg.Client
let superuser: pg.Client

beforeAll(async () => {
  school = await filledSchool()
  sandbox = await trueSchool()
  reader = await connectAs(school.readerUrl)
  superuser = await connectAs(school.url)
})

afterAll(async () => {
  await reader?.end()
  await superuser?.end()
  await school?.drop()
})

describe('docs/sql.md', () => {
  it('has twenty-seven questions in order, each with one query and a sentence on how to read its answer', () => {
    expect(questions.map(({ number }) => number)).toEqual(Array.from({ length: 27 }, (_, n) => n + 1))
    for (const { title, query, reading } of questions) {
      expect(title, query).toMatch(/\?$/)
      expect(query.match(/;/g), title).toHaveLength(1)
      expect(reading, title).toMatch(/\.$/)
    }
  })

  it.each(questions)('$number: $title', async ({ query, result }) => {
    const answer = await ask(reader, query)
    expect(answer, 'npm run docs:sql writes the answers anew').toBe(result)
    expect(answer, 'an answer that says nothing explains nothing').not.toMatch(/\(0 rows\)$/)
  })

  it('names no table or view that is not there', async () => {
    const { rows } = await reader.query<{ name: string }>(
      `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace`,
    )
    const names = new Set(rows.map(({ name }) => name))
    const text = await readFile('docs/sql.md', 'utf8')
    const said = [...text.matchAll(/\b(?:classroom|analytics|players|ingest)\.[a-z_]+\b/g)].map(
      ([name]) => name,
    )
    expect(said.length).toBeGreaterThan(30)
    expect(said.filter(name => !names.has(name))).toEqual([])
  })
})

async function differences({ examine }: Oracle, client: pg.Client): Promise<readonly unknown[]> {
  const { told, truth } = await examine(client, sandbox)
  const [said, known] = [told, truth].map(list => new Set(list.map(line => JSON.stringify(line))))
  return [
    ...[...said!.difference(known!)].map(line => `not true: ${line}`),
    ...[...known!.difference(said!)].map(line => `not told: ${line}`),
    ...(told.length === truth.length ? [] : [`${told.length} rows instead of ${truth.length}`]),
  ]
}

async function findsSomething(client: pg.Client): Promise<boolean> {
  for (const oracle of oracles) if ((await differences(oracle, client)).length > 0) return true
  return false
}

describe('what the views say is what happened in the school', () => {
  it.each(oracles)('$name', async oracle => {
    const { truth } = await oracle.examine(reader, sandbox)
    expect(truth.length, 'there is nothing to compare').toBeGreaterThan(0)
    expect(await differences(oracle, reader)).toEqual([])
  })
})

describe('a mistake in a view is found', () => {
  it.each(mutants)('$view: $mistake', async mutant => {
    expect(await whileMistaken(superuser, mutant, () => findsSomething(superuser))).toBe(true)
  })
})
