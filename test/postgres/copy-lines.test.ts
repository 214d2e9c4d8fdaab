import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CopyRoom } from '../../src/postgres/commit/copy-in.ts'
import type { Columns } from '../../src/tables/table.ts'

const columns = { name: { type: 'text' }, data: { type: 'jsonb' }, size: { type: 'double precision' } }

/** The lines of a table, as the protocol has them: in one message, and one that ends them. */
function linesOf(messages: Buffer): Buffer {
  const end = 1 + messages.readInt32BE(1)
  expect(messages.toString('latin1', 0, 1)).toBe('d')
  expect(messages.toString('latin1', end)).toBe('c\0\0\0\x04')
  return messages.subarray(5, end)
}

/** As the documentation of COPY tells how its text format is read. */
function readLines(bytes: Buffer): readonly (readonly (string | null)[])[] {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  expect(text === '' || text.endsWith('\n')).toBe(true)
  const told: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' }
  const readValue = (value: string) =>
    value === '\\N' ? null : value.replace(/\\(.)/g, (_, letter: string) => told[letter]!)
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => line.split('\t').map(readValue))
}

/** What Postgres takes as it is. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ maxLength: 200 }),
    fc.constantFrom(
      'é',
      'Zoë',
      `${'a'.repeat(47)}ü!`,
      `${'a'.repeat(48)}ü!`,
      '👩‍🏫 \\ \t',
      '雪'.repeat(9_000),
    ),
  )
  .filter(each => !each.includes('\0') && !each.includes('\u001a'))

describe('lines of COPY', () => {
  it('are read as what was written', () => {
    const row = fc.record({ name: fc.option(text), data: fc.dictionary(text, text, { maxKeys: 3 }) })
    const room = new CopyRoom()
    fc.assert(
      fc.property(fc.array(row, { maxLength: 8 }), rows => {
        const written = rows.map((each, size) => ({ ...each, size }))
        room.clear()
        room.add(columns as unknown as Columns, [{ before: ['app\t1', 7], rows: written }])
        const read = readLines(linesOf(room.taken()))
        expect(read).toHaveLength(rows.length)
        for (const [n, [app, incarnation, name, data, size]] of read.entries()) {
          expect([app, incarnation, name, size]).toEqual(['app\t1', '7', rows[n]!.name, String(n)])
          expect(JSON.parse(data!)).toEqual(rows[n]!.data)
        }
      }),
      { numRuns: 300 },
    )
  })
})
