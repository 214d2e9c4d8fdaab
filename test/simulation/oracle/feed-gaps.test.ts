import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineFeedGaps } from './feed-gaps.ts'
import type { StoredGap } from './gaps.ts'

const second = 1_000
const begin = Date.UTC(2026, 0, 5, 8)
const deadline = 40 * second

/** The feed was asked every ten seconds; the third answer was never stored, and everything else was. */
const outcomes = ['committed', 'committed', 'unread', 'committed', 'committed'] as const
const sentAt = (n: number) => begin + n * 10 * second
const debits = outcomes.map((outcome, n) => ({
  ...{ app: 'alpha', scope: 'alpha', sent: sentAt(n), dead: sentAt(n) + deadline, outcome },
  ...{ settled: outcome === 'committed' ? sentAt(n) + second : null, toldAll: true, gap: null },
  ...{ behind: 0, behindNext: 0 },
}))
const arrivals = outcomes.map((_, n) => ({
  ...{ app: 'alpha', operation: 'appEvents', target: '/eu/edu/polling/apps/alpha/v2/rooms/sequences' },
  ...{ time: sentAt(n) + 20, status: 200 },
}))
const examination = {
  sandbox: {
    arrivals: { list: () => arrivals, count: arrivals.length },
    settings: { switches: { roomMemorySeconds: 3600 } },
  },
  rows: async () => debits,
  ...{ end: sentAt(100), isEnd: true },
} as unknown as Examination

const exact: StoredGap = {
  ...{ app: 'alpha', stream: 'app-events', series: '', incarnation: null, unit: 'time' },
  ...{
    from: BigInt(sentAt(1)),
    to: BigInt(sentAt(2) + deadline),
    recoverable: sentAt(2) + deadline + 3_000 * second,
    seen: sentAt(3),
    reason: 'unread_answer',
    state: 'repaired',
  },
}

const ms = (n: number) => BigInt(n)
const found = (...gaps: readonly StoredGap[]) => examineFeedGaps(examination, [], gaps)

describe('the oracle of gaps in the feed', () => {
  it('finds nothing where the gap reaches from the answer before to when the missing one could no longer arrive', async () => {
    expect(await found(exact)).toEqual([])
  })

  it.each([
    ['one that begins an answer too early', { from: exact.from - ms(10 * second) }],
    ['one that begins a second too early', { from: exact.from - ms(second) }],
    ['one that begins a second too late', { from: exact.from + ms(second) }],
    ['one that ends too late', { to: exact.to + ms(second) }],
    ['one that ends too early', { to: exact.to - ms(second) }],
    ['one of another time', { from: exact.from + ms(60 * second), to: exact.to + ms(60 * second) }],
    ['one of another app', { app: 'beta' }],
    ['one for another reason', { reason: 'pause' }],
    ['one that nobody promised', { state: 'absent' }],
    ['one that is lost though no room is gone', { state: 'lost' }],
    [
      'one that can be had for longer than the provider remembers',
      { recoverable: sentAt(2) + 2 * 3_600 * second },
    ],
    ['one that could be had for much longer than is told', { recoverable: sentAt(2) + 1_200 * second }],
  ] as const)('finds %s', async (_, change) => {
    expect(await found({ ...exact, ...change })).toContainEqual(expect.objectContaining({ kind: 'gap' }))
  })

  it('finds nothing where the time of the ledger is behind that of the world, and more so from then on', async () => {
    const [before, after] = [15 * second, 40 * second]
    const behindOf = (n: number) => (n < 2 ? before : after)
    const behind = debits.map((one, n) => ({ ...one, behind: behindOf(n), behindNext: behindOf(n + 1) }))
    const late = arrivals.map((one, n) => ({ ...one, time: one.time + behindOf(n) }))
    const sandbox = { ...examination.sandbox, arrivals: { list: () => late, count: late.length } }
    const told = { ...examination, sandbox, rows: async () => behind } as unknown as Examination
    expect(await examineFeedGaps(told, [], [exact])).toEqual([])
    const untold = { ...told, rows: async () => debits } as Examination
    expect(await examineFeedGaps(untold, [], [exact])).not.toEqual([])
  })

  it('finds an answer that is said to have been refused, and one that is told of long after the feed was asked again', async () => {
    const settled = debits.map(one => (one.outcome === 'unread' ? { ...one, outcome: 'refused' } : one))
    const refused = { ...examination, rows: async () => settled } as unknown as Examination
    expect(await examineFeedGaps(refused, [], [])).toMatchObject([
      { text: expect.stringContaining('nobody stored') },
    ])
    const later = { ...debits[4]!, sent: sentAt(9), dead: sentAt(9) + deadline, settled: sentAt(9) + second }
    const arrival = { ...arrivals[4]!, time: sentAt(9) + 20 }
    const all = [...arrivals, arrival]
    const sandbox = { ...examination.sandbox, arrivals: { list: () => all, count: all.length } }
    const asked = { ...examination, sandbox, rows: async () => [...debits, later] } as unknown as Examination
    expect(await examineFeedGaps(asked, [], [exact])).toEqual([])
    expect(await examineFeedGaps(asked, [], [{ ...exact, seen: sentAt(16) }])).toMatchObject([
      { text: expect.stringContaining('told late') },
    ])
  })

  it('finds answers that are said to have told all though events waited, where each holds one', async () => {
    const settings = { switches: { roomMemorySeconds: 3600, appFeed: 'consuming', feedShape: 'object' } }
    const told = { ...examination, sandbox: { ...examination.sandbox, settings } } as unknown as Examination
    const lesson = (events: number) => {
      const room = {
        app: 'alpha',
        muted: false,
        events: Array.from({ length: events }, () => ({ at: begin })),
      }
      return [room] as unknown as Parameters<typeof examineFeedGaps>[1]
    }
    expect(await examineFeedGaps(told, lesson(1), [exact])).toEqual([])
    expect(await examineFeedGaps(told, lesson(3), [exact])).toMatchObject([
      { text: expect.stringContaining('to have told all, and 2 waited') },
      { text: expect.stringContaining('to have told all, and 1 waited') },
    ])
  })

  it('knows that what one region was told no other has to tell, where all of them are one', async () => {
    const switches = { roomMemorySeconds: 3600, appFeed: 'consuming', feedShape: 'object', regions: 'one' }
    const beside = arrivals.map(one => ({
      ...one,
      target: one.target.replace('eu', 'ap'),
      time: one.time + 1,
    }))
    const all = arrivals.flatMap((one, n) => [one, beside[n]!])
    const sandbox = { arrivals: { list: () => all, count: all.length }, settings: { switches } }
    const told = {
      ...{ ...examination, sandbox },
      rows: async () => debits.flatMap(debit => [debit, { ...debit, scope: 'alpha/ap' }]),
    } as unknown as Examination
    const events = [begin, begin]
    const rooms = [{ app: 'alpha', muted: false, events: events.map(at => ({ at })) }]
    const findings = await examineFeedGaps(told, rooms as unknown as Parameters<typeof examineFeedGaps>[1], [
      exact,
    ])
    // The first answer alone leaves something behind.
    expect(findings.filter(({ text }) => text.includes('to have told all'))).toHaveLength(1)
  })

  it('finds a pause longer than the provider remembers that is told of as a missing answer, or as mended', async () => {
    const settings = { switches: { roomMemorySeconds: 9 } }
    const told = {
      ...{ ...examination, isCalm: true },
      sandbox: { ...examination.sandbox, settings },
    } as unknown as Examination
    const silent = expect.objectContaining({
      text: expect.stringContaining('nothing says that it was silent'),
    })
    const pause = { ...exact, from: exact.from - ms(60 * second), reason: 'pause' } as const
    expect(await examineFeedGaps(told, [], [exact])).toContainEqual(silent)
    expect(await examineFeedGaps(told, [], [{ ...pause, state: 'repaired' }])).toContainEqual(silent)
    expect(await examineFeedGaps(told, [], [{ ...pause, state: 'lost' }])).not.toContainEqual(silent)
  })

  it('finds one that is still open in the end, and an answer of which nobody tells', async () => {
    expect(await found({ ...exact, state: 'open' })).toMatchObject([{ kind: 'owed' }])
    expect(await found()).toMatchObject([{ kind: 'gap', text: expect.stringContaining('nobody stored') }])
  })
})
