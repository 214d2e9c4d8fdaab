import { readdirSync, readFileSync } from 'node:fs'
import type { Json } from '../../src/rows/json.ts'
import type { Page } from '../../src/streams/stream.ts'

/** A page that was answered at the turn of the year 2026 and arrived a quarter of a second later. */
export function pageOf(parts: Partial<Page>): Page {
  return {
    series: 'algebra-7b',
    cursor: null,
    purpose: 'read',
    items: [],
    nextId: undefined,
    answeredAt: 1_767_225_600_000,
    receivedAt: 1_767_225_600_250,
    ...parts,
    settings: { submitter: 'operator', sequenceScope: 'room', ...parts.settings },
  }
}

/** JSON in which integers above 2^53 are bigints, as the transport reads it. */
export function parseExact(text: string): Json {
  return JSON.parse(text, (_, value, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value,
  )
}

const fixtures = new URL('../fixtures/classroom/', import.meta.url)

export function fixtureStreams(): readonly string[] {
  return readdirSync(fixtures)
}

export function fixtureCases(stream: string): readonly string[] {
  return readdirSync(new URL(`${stream}/`, fixtures))
}

/** What a page held, and what it must become. */
export function fixture(stream: string, name: string): { readonly input: Json; readonly expected: Json } {
  const read = (file: string) =>
    parseExact(readFileSync(new URL(`${stream}/${name}/${file}`, fixtures), 'utf8'))
  return { input: read('page.json'), expected: read('rows.json') }
}
