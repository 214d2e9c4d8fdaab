/** Asks every question of docs/sql.md of a school that is filled for it, and writes the results there; docs/tables.md besides. */
import { writeFile } from 'node:fs/promises'
import { tablesReference } from '../../scripts/tables-reference.ts'
import { startTestServer } from '../support/postgres.ts'
import { connectAs, filledOn } from './filled.ts'
import { ask, readQuestions, writeResults } from './questions.ts'

const server = await startTestServer()
try {
  const school = await filledOn(server)
  const client = await connectAs(school.readerUrl)
  const results: string[] = []
  for (const { query } of await readQuestions()) results.push(await ask(client, query))
  const tables = await tablesReference(async text => (await client.query(text)).rows)
  await client.end()
  await writeResults(results)
  await writeFile(new URL('../../docs/tables.md', import.meta.url), tables)
  process.stdout.write(`${results.length} results written to docs/sql.md, and docs/tables.md\n`)
} finally {
  await server.stop()
}
