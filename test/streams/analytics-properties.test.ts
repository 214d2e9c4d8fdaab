import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { streams } from '../../src/streams/index.ts'
import type { SubstreamResult, WindowResult, WindowSeries } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { substreamNames, windowStreamNames } from '../support/streams.ts'
import { anyItem, kvs, mutated } from './analytics-arbitraries.ts'
import { detailPageOf, fixture, fixtureCases, windowPageOf } from './pages.ts'

const names = [...windowStreamNames, ...substreamNames] as const
type Name = (typeof names)[number]

const ask = {
  productType: 'Native',
  metric: 'userCount',
  aggregateGranularity: 'hour',
  cname: 'algebra-7b',
  uids: '1,2',
}

function toRows(
  name: Name,
  items: readonly unknown[],
  streamState: Json = null,
  series: WindowSeries = { key: 'k', ask, step: 20 },
): WindowResult | SubstreamResult {
  const stream = streams[name]
  return stream.kind === 'window'
    ? stream.toRows(windowPageOf({ items, series }))
    : stream.toRows(detailPageOf({ items }), streamState)
}

/** Columns that with the app tell the rows of a table apart; a row of many values is told apart by the first ones. */
const keys: Readonly<Record<string, readonly string[]>> = {
  'analytics.call': ['call_id'],
  'analytics.call_session': ['call_id', 'sid'],
  'analytics.session_series': ['call_id', 'sid', 'peer_uid', 'mid'],
  'analytics.usage_insight': ['metric', 'granularity', 'at'],
  'analytics.quality_insight': ['product', 'metric', 'granularity', 'at'],
  'analytics.usage_realtime': ['product', 'metric', 'cname', 'at'],
  'analytics.quality_realtime': ['product', 'metric', 'cname', 'uid', 'at'],
}

function expectSound({ rows, rejects, work }: WindowResult | SubstreamResult): void {
  for (const [table, of] of Object.entries(rows)) {
    const seen = of.map(row => JSON.stringify(keys[table]!.map(column => Reflect.get(row, column))))
    expect(new Set(seen).size, table).toBe(seen.length)
  }
  for (const { at, value } of rows['analytics.session_series'] ?? []) {
    expect(at.length).toBe(value.length)
    expect(new Set(at).size).toBe(at.length)
    expect(value.every(Number.isFinite) && at.every(Number.isSafeInteger)).toBe(true)
  }
  for (const { from, to, part } of work) {
    expect(to).toBeGreaterThanOrEqual(from)
    expect(part).not.toBe('')
  }
  for (const { detail } of rejects) expect(detail).not.toBe('')
}

const Input = z.object({
  streamState: z.unknown().optional(),
  page: z.object({
    items: z.array(z.unknown()),
    series: z
      .object({ key: z.string(), ask: z.record(z.string(), z.string()), step: z.number() })
      .default({ key: 'k', ask, step: 20 }),
  }),
})

/** A page of a fixture as it stands there. */
function pageOfCase(name: Name, caseName: string) {
  const { streamState, page } = Input.parse(fixture(name, caseName).input)
  return { caseName, streamState: (streamState ?? null) as Json, ...page }
}

describe.each(names)('%s', name => {
  it('never throws, whatever items and whatever stream state it is given', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 6 }), fc.jsonValue(), (items, streamState) => {
        expectSound(toRows(name, items, streamState as Json))
      }),
      { numRuns: 300 },
    )
  })

  it.each(fixtureCases(name).map(caseName => pageOfCase(name, caseName)))(
    'reads $caseName with any part of it changed',
    ({ items, streamState, series }) => {
      fc.assert(
        fc.property(mutated(items), changed => {
          if (Array.isArray(changed)) expectSound(toRows(name, changed, streamState, series))
        }),
      )
    },
  )

  it('keeps no secret, wherever it comes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('c1', 7, undefined), (beside, key) => {
        const hidden = { restSecret: 'S3CRET', list: [{ userToken: ['S3CRET'] }, beside] }
        const item = {
          ...{
            call_id: key,
            created_ts: 1_767_225_660,
            sid: key,
            ts: 1_767_225_660,
            userCount: 'x',
            ...hidden,
          },
          data: [hidden, { mid: 20_001, peer_uid: 0, kvs: [hidden], ...hidden }],
          values: [{ ts: 1_767_225_660, userCount: 1, ...hidden }, hidden],
        }
        const { data, values, ...plain } = item
        expect(
          JSON.stringify(toRows(name, [item, { ...plain, uid: 1 }, [item], { ...item, uid: 1 }])),
        ).not.toContain('S3CRET')
      }),
      { numRuns: 50 },
    )
  })
})

/** Tables in which each item makes rows of its own. */
it.each([
  ['calls', 'calls-that-ended-and-one-that-goes-on', 'analytics.call'],
  ['call-sessions', 'users-of-a-call', 'analytics.call_session'],
  ['call-metrics', 'metrics-of-two-sessions', 'analytics.session_series'],
  ['quality-insight', 'a-day-in-hours-has-25-entries', 'analytics.quality_insight'],
] as const)('%s: an item that is spoiled spoils no other', (name, caseName, table) => {
  const { items, series } = pageOfCase(name, caseName)
  fc.assert(
    fc.property(fc.nat(items.length - 1), fc.jsonValue(), (index, other) => {
      const without = toRows(name, items.toSpliced(index, 1), null, series).rows[table]
      const spoiled = toRows(name, items.toSpliced(index, 1, other), null, series)
      expect(spoiled.rows[table]).toEqual(without)
      expect(spoiled.rejects.length).toBeGreaterThan(0)
    }),
  )
})

it('of the pairs of a metric each second is kept once with its last value, and each bad one is set aside', () => {
  fc.assert(
    fc.property(kvs, entries => {
      const data = [{ mid: 20_001, peer_uid: 0, kvs: entries.map(({ pair }) => pair) }]
      const { rows, rejects } = toRows('call-metrics', [{ sid: 's1', data }])
      const [row] = rows['analytics.session_series'] ?? []
      const read = (row?.at ?? []).map((at, i) => [at, row?.value[i]] as const)

      const good = entries.flatMap(entry => (entry.kind === 'good' ? [entry] : []))
      const seconds = [...new Set(good.map(({ at }) => at))]
      expect(read.map(([at]) => at).sort()).toEqual(seconds.sort())
      for (const [at, value] of read) expect(value).toBe(good.findLast(entry => entry.at === at)?.value)

      const bad = entries.filter(({ kind }) => kind === 'bad').map(({ pair }) => pair)
      const aside = rejects.flatMap(({ item }) => (item as { data: { kvs: unknown[] }[] }).data[0]!.kvs)
      expect(aside).toEqual(bad)
      expect(rejects.length).toBe(bad.length === 0 ? 0 : 1)
    }),
    { numRuns: 500 },
  )
})
