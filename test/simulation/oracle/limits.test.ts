import { describe, expect, it } from 'vitest'
import type { Arrival, Sandbox } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'
import { endsBeyond, examineLimits } from './limits.ts'

const second = 1_000
const day = 86_400 * second
const now = Date.UTC(2026, 0, 5, 8)

type Asked = Pick<Arrival, 'time' | 'operation'> & Partial<Pick<Arrival, 'app' | 'target'>>

function examine(asked: readonly Asked[], said: Partial<Examination> = {}) {
  const arrivals = asked.map(each => ({ app: 'one', target: targetOf(each), ...each }))
  const apps = ['one', 'two'].map(id => ({ id, rest: { key: 'shared', secret: 's' } }))
  const sandbox = { settings: { apps }, arrivals: { count: arrivals.length, list: () => arrivals } }
  return examineLimits({
    sandbox: sandbox as unknown as Sandbox,
    apps: [
      { id: 'one', plan: 'premium', regions: [] },
      { id: 'two', plan: 'standard', regions: [] },
    ],
    ...said,
  } as Examination)
}

/** A range of an hour that every plan serves. */
function targetOf({ operation, time }: Asked): string {
  const to = Math.floor(time / second) - 13 * 3_600
  const near = Math.floor(time / second) - 60
  if (operation?.startsWith('realtime')) return `/?startTs=${near - 600}&endTs=${near}`
  return operation?.startsWith('call')
    ? `/?start_ts=${to - 3_000}&end_ts=${to}`
    : `/?startTs=${to - 3_600}&endTs=${to}`
}

const every = (ms: number, count: number, operation: string, from = now) =>
  Array.from({ length: count }, (_, n) => ({ operation, time: from + n * ms }))

describe('how often may be asked', () => {
  it('one request too many in a sliding window is found, whatever second it falls in', () => {
    const rate = { requests: 3, window: 1 }
    expect(endsBeyond([0, 400, 900, 1_000], rate)).toEqual([])
    expect(endsBeyond([0, 400, 900, 999], rate)).toEqual([999])
  })

  it('the requests of a day are counted over any 24 hours', async () => {
    const spread = [...every(60_000, 40, 'usageInsight'), { operation: 'usageInsight', time: now + day }]
    expect(await examine(spread)).toEqual([])
    const early = [...spread.slice(0, 40), { operation: 'usageInsight', time: now + day - 1 }]
    expect((await examine(early))[0]?.text).toMatch(
      /^shared usage-insight: more than 40 requests within 86400 s, 1 times/,
    )
  })

  it('a tenth of a day is left to others where the configuration says so, and a minute as it is documented', async () => {
    const spread = every(60_000, 37, 'usageInsight')
    expect(await examine(spread)).toEqual([])
    expect((await examine(spread, { spares: true }))[0]?.text).toMatch(/more than 36 requests within 86400 s/)
    const fast = every(1_000, 4, 'usageInsight')
    expect((await examine(fast, { spares: true }))[0]?.text).toMatch(/more than 3 requests within 60 s/)
  })

  it('half as much may be asked in a minute once the configuration says so', async () => {
    const asked = every(30_000, 10, 'realtimeUsage')
    const tightenedAt = now + 60_000
    expect(await examine(asked)).toEqual([])
    expect((await examine(asked, { tightenedAt })).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^shared realtime: more than 1 requests within 60 s, 6 times/),
    ])
    expect(await examine(asked.slice(0, 4), { tightenedAt })).toEqual([])
    expect(await examine(every(60_000, 10, 'realtimeUsage'), { tightenedAt })).toEqual([])
  })

  it('a smaller plan holds once the configuration says so, and the former one before', async () => {
    const lowered = { app: 'one', at: now + 60_000, from: 'enterprise' } as const
    const fast = [...every(200, 5, 'callSearch'), ...every(200, 5, 'callSearch', now + 2 * 60_000)]
    const own = fast.map(each => ({ ...each, app: 'one' }))
    const apps = [{ id: 'one', plan: 'premium' as const, regions: [] }]
    expect((await examine(own, { lowered, apps })).map(({ text }) => text)).toEqual([
      expect.stringMatching(/more than 3 requests within 1 s, 2 times, first until 2026-01-05T08:02:00.600Z/),
    ])
    expect(await examine(own.slice(0, 5), { lowered, apps })).toEqual([])
  })

  it('apps of one credential and endpoints of one table count together, at the strictest plan', async () => {
    expect(await examine(every(1_000, 10, 'callSessions'))).toEqual([])
    const both = [
      ...every(1_000, 3, 'callSessions'),
      { operation: 'callMetrics', time: now + 2_500, app: 'two' },
    ]
    expect((await examine(both))[0]?.text).toMatch(/^shared call-details: more than 1 requests within 1 s/)
    expect(await examine(both, { counters: 'split' })).toEqual([])
  })

  it('a plan without access is not asked for anything', async () => {
    const [found] = await examine([{ operation: 'usageInsight', app: 'two', time: now }])
    expect(found?.text).toContain('no access')
  })

  it('players are listed and made as seldom as the document says', async () => {
    expect(await examine(every(4_000, 40, 'listPlayers'))).toEqual([])
    expect((await examine(every(3_900, 16, 'listPlayers')))[0]?.text).toContain(
      'more than 15 requests within 60 s',
    )
    expect((await examine(every(499, 3, 'createPlayer')))[0]?.text).toContain(
      'more than 2 requests within 1 s',
    )
  })
})

describe('what may be asked for', () => {
  const at = now / second
  const search = (from: number, to: number, more = '') =>
    examine([{ operation: 'callSearch', time: now, target: `/?start_ts=${from}&end_ts=${to}${more}` }])

  it.each([
    ['the youngest that there is', at - 3_600, at - 61, []],
    ['a second too young', at - 3_600, at - 60, ['the end is younger than 60 s']],
    ['the oldest that there is', at - 7 * 86_400 + 1, at - 7 * 86_400 + 9, []],
    ['a second too old', at - 7 * 86_400, at - 7 * 86_400 + 9, ['the start is older than 604800 s']],
    ['the longest that there is', at - 57_700, at - 101, []],
    ['a second too long', at - 57_701, at - 101, ['not shorter than 57600 s']],
  ])('%s', async (_, from, to, expected) => {
    const found = await search(from, to)
    expect(found.map(({ text }) => text.split(': ')[1])).toEqual(expected)
  })

  it('what grew old while its process stood still is not held against it', async () => {
    const from = at - 7 * 86_400 - 9
    const asked = {
      n: 1,
      operation: 'callSearch',
      time: now,
      target: `/?start_ts=${from}&end_ts=${from + 9}`,
    }
    const judge = async (stood: number, arrived = [1]) =>
      (
        await examine([asked], {
          askers: [{ name: 'one', arrived, stoodStill: [{ from: now - stood, to: now }] }],
        })
      ).length
    expect(await judge(10 * second)).toBe(0)
    expect(await judge(9 * second)).toBe(1)
    expect(await judge(10 * second, [2])).toBe(1)
  })

  it('more than may stand in one question is found', async () => {
    expect((await search(at - 3_600, at - 61, '&page_no=1&page_size=101'))[0]?.text).toContain(
      'more than 100 on a page',
    )
    expect((await search(at - 3_600, at - 61, '&page_no=1'))[0]?.text).toContain('one without the other')
    expect((await search(at - 3_600, at - 61, `&sids=${Array(21).join()},`))[0]?.text).toContain(
      'more than 20 sids',
    )
  })
})
