import { readdirSync, readFileSync } from 'node:fs'
import { streams } from '../../src/streams/index.ts'
import type { Page, SubstreamPage, WindowPage } from '../../src/streams/page.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import type { Json } from '../../src/tables/json.ts'
import type { ShippedName } from '../support/streams.ts'

const newYear = 1_767_225_600

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
function parseExact(text: string): Json {
  return JSON.parse(text, (_, value, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value,
  )
}

/** A page of the calls that began in the first hour of 2026, asked for some minutes later on Premium. */
export function windowPageOf(parts: Partial<WindowPage>): WindowPage {
  return {
    series: { key: '', ask: {}, step: 1 },
    range: { from: newYear, to: newYear + 3_600 },
    number: 1,
    items: [],
    isFull: (parts.items?.length ?? 0) >= 100,
    hasMore: false,
    now: newYear + 4_000,
    receivedAt: newYear * 1_000 + 250,
    details: { availableData: 604_800, timeFrame: 10_800, dataDelay: 300 },
    ...parts,
  }
}

/** The first page about a call of twenty minutes. */
export function detailPageOf(parts: Partial<SubstreamPage>): SubstreamPage {
  return {
    item: {
      stream: 'call-sessions',
      key: 'c1',
      part: `${newYear + 60}`,
      from: newYear + 60,
      to: newYear + 1_260,
      ask: null,
    },
    number: 1,
    asked: {},
    items: [],
    isFull: (parts.items?.length ?? 0) >= 100,
    now: newYear + 0.25,
    ...parts,
  }
}

const fixtures = new URL('../fixtures/', import.meta.url)

function folderOf(stream: StreamName): URL {
  return new URL(`${streams[stream as ShippedName].operation.family}/${stream}/`, fixtures)
}

/** Streams of all families that have fixtures. */
export function fixtureStreams(): readonly string[] {
  return readdirSync(fixtures).flatMap(family => readdirSync(new URL(`${family}/`, fixtures)))
}

export function fixtureCases(stream: StreamName): readonly string[] {
  return readdirSync(folderOf(stream))
}

/** What a page held, and what it must become. */
export function fixture(stream: StreamName, name: string): { readonly input: Json; readonly expected: Json } {
  const read = (file: string) =>
    parseExact(readFileSync(new URL(`${name}/${file}`, folderOf(stream)), 'utf8'))
  return { input: read('page.json'), expected: read('rows.json') }
}
