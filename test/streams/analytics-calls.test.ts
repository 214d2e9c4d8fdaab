import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RangeLimits } from '../../src/planning/windows.ts'
import { callDetailsLimits } from '../../src/provider/analytics/index.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { allCalls, calls } from '../../src/streams/calls.ts'
import { windowPageOf } from './pages.ts'

const newYear = 1_767_225_600
const hour = 3_600

/** As many calls as asked for, one second apart, the newest first. */
function callsFrom(newest: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    call_id: `c${count - i}`,
    cname: 'algebra-7b',
    created_ts: newest - i,
    destroyed_ts: newest - i + 60,
    finished: true,
  }))
}

function call(parts: object) {
  return { call_id: 'c1', cname: 'algebra-7b', created_ts: newYear, finished: true, ...parts }
}

describe('the search for calls', () => {
  it('knows a page again of which it could read nothing', () => {
    const listedOf = (cname: string) =>
      calls.toRows(windowPageOf({ items: [call({ cname, call_id: null }), call({ call_id: [cname] })] }))
        .listed
    expect(listedOf('a')).toHaveLength(2)
    expect(listedOf('a')).toEqual(listedOf('a'))
    expect(listedOf('b')).not.toEqual(listedOf('a'))
  })

  it('always says which page and how large', () => {
    const bounds = { start: newYear, end: newYear + hour }
    const asked = calls.request('app & co', allCalls, bounds, 3)
    expect(requestLine(calls.operation, asked).target).toBe(
      '/beta/analytics/call/lists?start_ts=1767225600&end_ts=1767229200&appid=app%20%26%20co&page_no=3&page_size=100',
    )
  })

  it('finds the calls, whether the page is full and whether calls are left out', () => {
    const full = callsFrom(newYear, 100)
    const answer = { code: 200, message: null, total_size: 100, page_no: 1, page_size: 100, call_lists: full }
    expect(calls.read({ ...answer, has_more: true })).toEqual({
      ...{ items: full, isFull: true, hasMore: true, total: 100 },
    })
    const short = { ...answer, call_lists: full.slice(1) }
    expect(calls.read({ ...short, total_size: '99' })).toEqual({
      ...{ items: full.slice(1), isFull: false, hasMore: false, total: 99 },
    })
  })

  it('takes a page for full that holds as many as it says it takes, be they fewer than were asked for', () => {
    const isFull = (page_size: unknown, count: number) =>
      calls.read({ code: 200, page_size, call_lists: callsFrom(newYear, count) }).isFull
    expect([isFull(50, 50), isFull(50, 49), isFull(200, 100), isFull('50', 50)]).toEqual([
      true,
      false,
      true,
      false,
    ])
    expect([isFull(0, 0), isFull(0, 3)]).toEqual([false, false])
  })

  it('leaves of a call that cannot be stored when it begins, so that its second is read again', () => {
    const bad = call({ created_ts: newYear + 7, note: 1 })
    const items = [call({ call_id: 'c2', created_ts: newYear + 9 }), calls.standIn!(bad)]
    expect(calls.toRows(windowPageOf({ items }))).toMatchObject({
      rows: { 'analytics.call': [{ call_id: 'c2' }] },
      unfinished: [newYear + 7],
      isUncertain: false,
    })
    expect(calls.toRows(windowPageOf({ items: [calls.standIn!('bad')] }))).toMatchObject({
      isUncertain: true,
    })
  })

  it('refuses an answer that was never checked', () => {
    expect(() => calls.read({ code: 200, data: [] })).toThrow()
  })
})

describe('a page of calls', () => {
  const range = { from: newYear, to: newYear + hour }
  const reading = (items: readonly object[], hasMore: boolean) =>
    calls.toRows(windowPageOf({ range, items, hasMore })).reading

  it('is followed by the next one when it is full, whatever it says of calls that are left out', () => {
    expect(reading(callsFrom(newYear + 200, 100), true)).toBe('next')
    expect(reading(callsFrom(newYear + 200, 100), false)).toBe('next')
  })

  it('tells by which keys it is known when it comes again', () => {
    const items = callsFrom(newYear + 200, 3)
    expect(calls.toRows(windowPageOf({ range, items })).listed).toEqual(['c3', 'c2', 'c1'])
  })

  it('is the last one when it is not full and nothing is left out', () => {
    expect(reading(callsFrom(newYear + 200, 99), false)).toBe('whole')
    expect(reading([], false)).toBe('whole')
  })

  it('is the last one when a listed call began before the window, whatever else is left out', () => {
    expect(reading(callsFrom(newYear + 98, 100), true)).toBe('whole')
    expect(reading(callsFrom(newYear + 1, 3), true)).toBe('whole')
    expect(reading(callsFrom(newYear + 99, 100), true)).toBe('next')
  })

  it('asks for a narrower window when it is not full and calls are left out all the same', () => {
    expect(reading(callsFrom(newYear + 200, 99), true)).toBe('narrow')
    expect(reading([], true)).toBe('narrow')
  })

  it('of which one call has a wrong time is not taken for the last one', () => {
    const [first, ...others] = callsFrom(newYear + 200, 100)
    expect(reading([{ ...first, created_ts: 5 }, ...others], true)).toBe('next')
  })

  it('keeps a call that cannot be asked for, and says so', () => {
    const { rows, rejects, work } = calls.toRows(windowPageOf({ items: [call({ call_id: 'c\ud800' })] }))
    expect(rows['analytics.call']).toHaveLength(1)
    expect(work).toEqual([])
    expect(rejects).toMatchObject([
      { reason: 'out_of_range', detail: expect.stringMatching(/^call_id: .*sent$/) },
    ])
  })

  it('names each second of unfinished calls once', () => {
    const items = ['a', 'b'].map(call_id => call({ call_id, created_ts: newYear + 7, finished: false }))
    expect(calls.toRows(windowPageOf({ items })).unfinished).toEqual([newYear + 7])
  })

  it('lets nothing be final where a call that cannot be read does not tell when it begins', () => {
    const told = (item: object) => calls.toRows(windowPageOf({ items: [call({}), item] }))
    expect(told({ cname: 'a class' }).isUncertain).toBe(true)
    const placed = told({ cname: 'a class', created_ts: newYear + 9 })
    expect(placed).toMatchObject({ isUncertain: false, unfinished: [newYear + 9] })
  })

  it('keeps no secret of a field that nobody knows', () => {
    const items = [call({ chatToken: 'S3CRET' }), call({ call_id: 7, chatToken: 'S3CRET' })]
    expect(JSON.stringify(calls.toRows(windowPageOf({ items })))).not.toContain('S3CRET')
  })
})

describe('a room behind a channel', () => {
  const now = newYear + 10 * hour
  const hinted = (parts: object) =>
    calls.toRows(windowPageOf({ now, items: [call(parts)] })).hints.map(({ room, at }) => [room, at])

  it('is news while its call goes on, however long ago it began', () => {
    expect(hinted({ finished: false, destroyed_ts: newYear + 60 })).toEqual([['algebra-7b', now * 1_000]])
  })

  it('is news for as long as the provider may remember it', () => {
    const ended = now - 2 * hour + 1
    expect(hinted({ destroyed_ts: ended })).toEqual([['algebra-7b', ended * 1_000]])
    expect(hinted({ destroyed_ts: ended - 1 })).toEqual([])
    expect(hinted({ created_ts: now - 60, destroyed_ts: newYear })).toEqual([
      ['algebra-7b', (now - 60) * 1_000],
    ])
  })

  it('is none where the channel has no name that a room can have', () => {
    for (const cname of [null, '', 'x'.repeat(64), undefined]) {
      expect(hinted({ cname, finished: false })).toEqual([])
    }
  })

  it('is news once, with the latest sign of life of its calls', () => {
    const items = [600, 1_200, 900].map((end, i) =>
      call({ call_id: `c${i}`, created_ts: newYear, destroyed_ts: newYear + end }),
    )
    expect(calls.toRows(windowPageOf({ items })).hints).toEqual([
      { room: 'algebra-7b', change: 'news', at: (newYear + 1_200) * 1_000, streams: [] },
    ])
  })
})

describe.each(Object.entries(callDetailsLimits))('on the plan %s', (_, limits: RangeLimits) => {
  const work = (now: number, parts: object) =>
    calls.toRows(windowPageOf({ now, details: limits, items: [call(parts)] })).work

  it('every second of a call that has ended is asked for, in questions within the span', () => {
    fc.assert(
      fc.property(fc.integer({ min: -100, max: 30 * hour }), length => {
        const items = work(newYear + 40 * hour, { destroyed_ts: newYear + length })
        const [first] = items
        expect(first?.from).toBe(newYear)
        expect(items.at(-1)?.to).toBe(newYear + Math.max(0, length))
        for (const [i, { from, to }] of items.entries()) {
          expect(to - from).toBeLessThan(limits.timeFrame)
          if (i > 0) expect(from).toBeLessThanOrEqual(items[i - 1]!.to + 1)
        }
        expect(items.length).toBeLessThanOrEqual(1 + Math.max(0, length) / (limits.timeFrame - 1))
        expect(new Set(items.map(({ part }) => part)).size).toBe(items.length)
      }),
    )
  })

  it('a call that has ended, nobody says when, is asked for up to now, and no longer than the span', () => {
    fc.assert(
      fc.property(fc.integer({ min: -100, max: limits.availableData }), age => {
        const [item, ...others] = work(newYear + age, { destroyed_ts: undefined })
        const to = newYear + Math.max(0, Math.min(age, limits.timeFrame - 1))
        expect(item).toMatchObject({ part: String(newYear), from: newYear, to, ask: { end: 'unknown' } })
        expect(others).toEqual([])
      }),
    )
  })

  it('a call that goes on is asked for where its beginning will expire, and the cuts stay', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: limits.availableData }), age => {
        const now = newYear + age
        const items = work(now, { finished: false, destroyed_ts: now - 5 })
        const ended = work(now, { destroyed_ts: now })
        for (const item of items) {
          expect(item.to).toBeLessThan(now - limits.dataDelay)
          expect(ended).toContainEqual(item)
        }
        const backlog = now - limits.availableData * 0.75
        if (backlog > newYear + limits.timeFrame) expect(items.at(-1)!.to).toBeGreaterThan(backlog)
        if (age < limits.availableData / 2) expect(items).toEqual([])
      }),
    )
  })
})
