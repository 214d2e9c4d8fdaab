import { describe, expect, it } from 'vitest'
import { examineAges, type Kept, kept, readKept } from './ages.ts'
import type { Examination } from './examination.ts'

const wake = Date.UTC(2026, 0, 6, 8)
const moments = { from: wake, to: wake + 600_000 }
const old = wake - kept - 1
const young = moments.to - kept

interface World {
  readonly oldLetters?: number
  readonly youngLetters?: number
  readonly complete?: boolean
  readonly doubted?: boolean
}

/** Before: one letter that is too old by then, two that are not, values of an old day, and a room that is whole. */
const before: Kept = {
  rows: new Map([
    ['ingest.dead_letter: a', { count: 1, at: old, until: old, isByDay: false, stays: old + kept }],
    ['ingest.dead_letter: b', { count: 2, at: young, until: young, isByDay: false, stays: young + kept }],
    ['analytics.usage_realtime: c', { count: 3, at: old, until: old, isByDay: true, stays: old + kept }],
  ]),
  complete: new Map([['app room room-events', true]]),
  doubted: new Map([['app 2026-01-05 room-events', false]]),
}

async function judge({ oldLetters = 0, youngLetters = 2, complete = true, doubted = false }: World = {}) {
  const rows = async (query: string) => {
    if (query.includes('room_complete')) return [{ key: 'app room room-events', complete }]
    if (query.includes('complete_day')) return [{ key: 'app 2026-01-05 room-events', doubted }]
    if (query.includes('from ingest.dead_letter'))
      return [
        { key: 'a', count: oldLetters, at: old },
        { key: 'b', count: youngLetters, at: young },
      ]
    if (query.includes('from analytics.usage_realtime')) return [{ key: 'c', count: 3, at: old }]
    return []
  }
  const sandbox = { arrivals: { count: 0, list: () => [] }, truth: () => [] }
  const examination = { rows, sandbox } as unknown as Examination
  return (await examineAges(examination, before, moments)).map(({ kind, text }) => `${kind}: ${text}`)
}

/** When a room of a day may go that had its last event at a moment; both as people read them. */
async function roomStays(begun: string, last: string): Promise<number | undefined> {
  const rows = async (query: string) => {
    if (query.includes('pg_class')) return [{ table: 'room_event' }]
    if (query.includes('from classroom.room group')) return [{ key: 'a r', at: Date.parse(begun) }]
    return query.includes('from classroom.room_event') ? [{ key: 'a r', count: 1, at: 0 }] : []
  }
  const truth = () => [{ kind: 'event', app: 'a', roomUuid: 'r', at: Date.parse(last) }]
  const sandbox = { arrivals: { count: 0, list: () => [] }, truth }
  const told = await readKept({ rows, sandbox } as unknown as Examination)
  return told.rows.get('classroom.room_event: a r')?.stays
}

describe('a room', () => {
  it('stays until what came of its day is kept, and as long as rooms are kept', async () => {
    const early = await roomStays('2026-01-06T00:05:00Z', '2026-01-06T00:10:00Z')
    expect(early).toBe(Date.parse('2026-01-07T06:00:00Z'))
    const late = await roomStays('2026-01-05T23:58:00Z', '2026-01-06T00:10:00Z')
    expect(late).toBe(Date.parse('2026-01-07T02:10:00Z'))
  })
})

describe('what is kept for some time', () => {
  it('is well where the old is gone and the young is there', async () => {
    expect(await judge()).toEqual([])
  })

  it.each([
    ['what stays for ever', { oldLetters: 1 }, /^duplicate: ingest.dead_letter kept too long: .*a: 1 rows/],
    ['what goes too early', { youngLetters: 1 }, /^lost: ingest.dead_letter not kept: .*b: 1 of 2 rows/],
    ['a log that is said to have confirmed less', { doubted: true }, /^complete: .*said not to be confirmed/],
    ['a claim that is forgotten', { complete: false }, /^complete: .*room-events: true before, false now/],
  ])('is found wrong by %s', async (_, world, said) => {
    expect(await judge(world)).toEqual([expect.stringMatching(said)])
  })
})
