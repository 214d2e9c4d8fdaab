import { readFile, writeFile } from 'node:fs/promises'
import type pg from 'pg'
import { psqlTable } from './psql-table.ts'

/** A question of docs/sql.md. */
export interface Question {
  readonly number: number
  readonly title: string
  readonly query: string
  /** As it is printed there. */
  readonly result: string
  /** The sentences on how to read it. */
  readonly reading: string
}

const file = new URL('../../docs/sql.md', import.meta.url)
const question =
  /^## (\d+)\. (.+)\n\n```sql\n([\s\S]*?)\n```\n\n```\n([\s\S]*?)```\n\n([\s\S]*?)(?=\n## |$(?![\s\S]))/gm

export async function readQuestions(): Promise<readonly Question[]> {
  const text = await readFile(file, 'utf8')
  return [...text.matchAll(question)].map(([, number, title, query, result, reading]) => ({
    number: Number(number),
    ...{ title: title!, query: query!, result: result!.trimEnd(), reading: reading!.trim() },
  }))
}

/** Puts other results in the place of those that are printed. */
export async function writeResults(results: readonly string[]): Promise<void> {
  const text = await readFile(file, 'utf8')
  let next = 0
  const written = text.replace(question, (whole: string) => {
    const result = results[next++]!
    return whole.replace(/\n```\n\n```\n[\s\S]*?```\n/, () => `\n\`\`\`\n\n\`\`\`\n${result}\n\`\`\`\n`)
  })
  await writeFile(file, written)
}

const asText = { getTypeParser: () => (value: string) => value }

/** What psql would print for a query. */
export async function ask(client: pg.Client, query: string): Promise<string> {
  const result = await client.query<(string | null)[]>({ text: query, rowMode: 'array', types: asText })
  return psqlTable(result)
}
