/** Asks every question of docs/sql.md of a school that is filled for it, and writes the results there. */
import { startTestServer } from '../support/postgres.ts'
import { connectAs, filledOn } from './filled.ts'
import { ask, readQuestions, writeResults } from './questions.ts'

const server = await startTestServer()
try {
  const school = await filledOn(server)
  const client = await connectAs(school.readerUrl)
  const results: string[] = []
  for (const { query } of await readQuestions()) results.push(await ask(client, query))
  await client.end()
  await writeResults(results)
  process.stdout.write(`${results.length} results written to docs/sql.md\n`)
} finally {
  await server.stop()
}
