import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Parameters, requestLine } from '../../src/provider/operation.ts'
import { askSessions, callSessions, rowsOfSessions } from '../../src/streams/call-sessions.ts'
import { type CallSelection, everyCall } from '../../src/streams/calls/selection.ts'
import type { SubstreamPage, SubstreamResult, WorkItem } from '../../src/streams/page.ts'
import type { Substream } from '../../src/streams/stream.ts'
import type { Json } from '../../src/tables/json.ts'
import { detailPageOf } from './pages.ts'

const newYear = 1_767_225_600
const { item: slice } = detailPageOf({})

function session(sid: string, parts: object = {}) {
  return { sid, uid: 1_001, join_ts: newYear + 70, leave_ts: newYear + 700, finished: true, ...parts }
}

function sessions(count: number) {
  return Array.from({ length: count }, (_, i) => session(`s${String(i).padStart(4, '0')}`))
}

/** Reads pages one after the other, as long as the stream asks for more. */
function readPages(
  pages: readonly (readonly unknown[])[],
  asked: Parameters = {},
): readonly SubstreamResult[] {
  const harvests: SubstreamResult[] = []
  let streamState: Json = null
  for (const [index, items] of pages.entries()) {
    const toRows = callSessions.toRows(detailPageOf({ number: index + 1, asked, items }), streamState)
    harvests.push(toRows)
    if (toRows.reading === 'whole') break
    streamState = JSON.parse(JSON.stringify(toRows.streamState))
  }
  return harvests
}

function inPages(items: readonly unknown[]) {
  const count = Math.floor(items.length / 100) + 1
  return Array.from({ length: count }, (_, i) => items.slice(i * 100, i * 100 + 100))
}

function sidsOf(work: readonly WorkItem[]): readonly string[] {
  return work.flatMap(({ ask }) => (ask as { sids: string[] }).sids)
}

it('a page of sessions that counts more than it holds is not the last', () => {
  const isFull = (said: object, count: number) =>
    callSessions.read({ code: 200, ...said, call_info: sessions(count) }).isFull
  expect(isFull({ total_size: 5, page_no: 1, page_size: 100 }, 2)).toBe(true)
  expect(isFull({ total_size: 5 }, 2)).toBe(true)
  expect(isFull({ total_size: 2, page_no: 1, page_size: 100 }, 2)).toBe(false)
  // Whether the total is of the page or of all is not said: on a later page either is an end.
  expect(isFull({ total_size: 150, page_no: 2, page_size: 100 }, 50)).toBe(false)
  expect(isFull({ total_size: 50, page_no: 2, page_size: 100 }, 50)).toBe(false)
  // Nothing comes behind nothing, whatever is counted.
  expect(isFull({ total_size: 500, page_no: 2, page_size: 100 }, 0)).toBe(false)
})

describe('sessions that are counted', () => {
  const detailsOf = (pages: readonly Partial<SubstreamPage>[]) => {
    let streamState: Json = null
    let result: SubstreamResult | undefined
    for (const [index, parts] of pages.entries()) {
      result = callSessions.toRows(detailPageOf({ number: index + 1, ...parts }), streamState)
      if (result.reading === 'whole') break
      streamState = JSON.parse(JSON.stringify(result.streamState))
    }
    return result!.rejects.map(({ detail }) => detail)
  }
  const lacking = 'total_size: counts more than is listed'
  const page = (items: readonly unknown[], total?: number) => ({ items, total, isFull: items.length === 100 })

  it('are all there where one is listed twice, or could not be read on a page before', () => {
    expect(detailsOf([page([session('s1'), session('s1')], 2)])).toEqual([])
    const unreadable = [...sessions(99), { sid: 7 }]
    expect(detailsOf([page(unreadable, 101), page([session('last')], 101)])).toEqual([])
  })

  it('are not where a page before counted more than all list', () => {
    expect(detailsOf([page(sessions(100), 150), page([session('last')])])).toEqual([lacking])
    expect(detailsOf([page(sessions(100), 150), page([], undefined)])).toEqual([lacking])
    expect(detailsOf([page(sessions(100), 150), page(sessions(100), 150)])).toEqual([lacking])
  })
})

describe('the calls whose metrics are fetched', () => {
  const measured = (selection: Partial<CallSelection>, items: readonly unknown[], callId = 'c1') => {
    const toRows = rowsOfSessions(app => ({
      ...everyCall,
      ...(app === 'a1' ? selection : { everyNth: 1 }),
    }))
    const page = detailPageOf({ asked: { appid: 'a1' }, items })
    const { work } = toRows({ ...page, item: { ...page.item, key: callId } }, null)
    return work.some(({ isLeftOut }) => !isLeftOut)
  }

  it('are those of the channels that are named, and those of which nobody knows the channel', () => {
    expect(measured({ channels: ['x'] }, [session('s1', { cname: 'x' })])).toBe(true)
    expect(measured({ channels: ['x'] }, [session('s1', { cname: 'y' })])).toBe(false)
    expect(measured({ channels: ['x'] }, [session('s1')])).toBe(true)
  })

  it('are those of the channel that a page before the last one named', () => {
    const toRows = rowsOfSessions(() => ({ ...everyCall, channels: ['x'] }))
    const asked = { appid: 'a1', exclude_server_user: true }
    const workOf = (cname: string) => {
      const first = toRows(detailPageOf({ asked, items: [session('s1', { cname })] }), null)
      expect(first.reading).toBe('next')
      const last = toRows(detailPageOf({ asked, number: 2, items: [] }), first.streamState)
      return last.work.map(({ isLeftOut }) => isLeftOut)
    }
    expect([workOf('x'), workOf('y')]).toEqual([[undefined], [true]])
  })

  it('have so many users, however often each came', () => {
    const twice = [session('s1'), session('s2'), session('s3', { uid: 7 })]
    expect([2, 3].map(minUsers => measured({ minUsers }, twice))).toEqual([true, false])
    const toRows = rowsOfSessions(() => ({ ...everyCall, minUsers: 2 }))
    const first = toRows(detailPageOf({ asked: { appid: 'a1' }, items: sessions(100), isFull: true }), null)
    const rest = detailPageOf({ number: 2, asked: { appid: 'a1' }, items: [session('z')], isFull: false })
    const leftOut = (page: SubstreamPage) => toRows(page, first.streamState).work.map(one => one.isLeftOut)
    expect(new Set(leftOut(rest))).toEqual(new Set([true]))
    expect(new Set(leftOut({ ...rest, items: [session('z', { uid: 7 })] }))).toEqual(new Set([undefined]))
  })

  it('are one in so many, the same ones each time', () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `call ${n}`)
    const chosen = ids.filter(id => measured({ everyNth: 4 }, [session('s1')], id))
    expect(Math.abs(chosen.length - 250)).toBeLessThan(50)
    expect(ids.filter(id => measured({ everyNth: 4 }, [session('s2')], id))).toEqual(chosen)
  })

  it('leave the sessions of the others stored, and say what is left out of them', () => {
    const page = detailPageOf({ asked: { appid: 'a1' }, items: [session('s1')] })
    const resultOf = (minUsers: number) => rowsOfSessions(() => ({ ...everyCall, minUsers }))(page, null)
    const { rows, work } = resultOf(9)
    expect(rows['analytics.call_session']).toHaveLength(1)
    expect(work).toEqual(resultOf(0).work.map(item => ({ ...item, isLeftOut: true })))
    expect(work).toHaveLength(1)
  })
})

describe('the sessions of a call', () => {
  const target = (stream: Substream) => requestLine(stream.operation, stream.request('a1', slice, 2)).target

  it('are asked for with servers, unless the app wants none', () => {
    const asked =
      '/beta/analytics/call/sessions?start_ts=1767225660&end_ts=1767226860&appid=a1&call_id=c1&page_no=2&page_size=100'
    expect(target(callSessions)).toBe(`${asked}&exclude_server_user=false`)
    const others = askSessions(app => (app === 'a1' ? 'exclude' : 'include'))
    expect(target({ ...callSessions, request: others })).toBe(`${asked}&exclude_server_user=true`)
  })

  it('are found in the answer', () => {
    const answer = { code: 200, message: '', requestId: 'r', total_size: 1, page_no: 1, call_info: [{}] }
    expect(callSessions.read(answer)).toEqual({ items: [{}], isFull: false, total: 1 })
    expect(callSessions.read({ ...answer, page_size: 1 })).toEqual({ items: [{}], isFull: true, total: 1 })
    expect(() => callSessions.read({ code: 200 })).toThrow()
  })

  it('are read until a page is not full, and only then make work, twenty sids at a time', () => {
    const harvests = readPages(inPages(sessions(250)))
    expect(harvests.map(({ reading, work }) => [reading, work.length])).toEqual([
      ['next', 0],
      ['next', 0],
      ['whole', 13],
    ])
    const { work } = harvests[2]!
    expect(work.map(({ ask }) => (ask as { sids: string[] }).sids.length)).toEqual([
      ...Array.from({ length: 12 }, () => 20),
      10,
    ])
    expect(sidsOf(work)).toEqual(sessions(250).map(({ sid }) => sid))
    for (const { from, to, key } of work)
      expect({ from, to, key }).toEqual({ from: slice.from, to: slice.to, key: 'c1' })
  })

  it('are complete after an empty page behind a full one', () => {
    const harvests = readPages(inPages(sessions(100)))
    expect(harvests.map(({ reading }) => reading)).toEqual(['next', 'whole'])
    expect(sidsOf(harvests[1]!.work)).toHaveLength(100)
  })

  it('without servers are complete after an empty page alone, for a page may have been cut before', () => {
    const harvests = readPages([sessions(100), sessions(130).slice(100), []], { exclude_server_user: true })
    expect(harvests.map(({ reading }) => reading)).toEqual(['next', 'next', 'whole'])
    expect(sidsOf(harvests[2]!.work)).toHaveLength(130)
  })

  describe('of a call that has ended, nobody says when', () => {
    const { from, to } = slice
    const span = to - from
    const unknown = { end: 'unknown' } as const
    /** What is asked for further on where somebody stayed so long; the page came well after it all, or so long after the slice. */
    const further = (stay: object, item: Partial<WorkItem> = {}, after = 3 * span) => {
      const page = { item: { ...slice, ask: unknown, ...item }, now: to + after + 0.5 }
      const items = [{ sid: 's1', join_ts: from, finished: true, ...stay }]
      const { work } = callSessions.toRows(detailPageOf({ ...page, items }), null)
      return work
        .filter(({ stream }) => stream === 'call-sessions')
        .map(({ from, to, part, ask }) => [from, to, part, ask])
    }
    const by = to + 3 * span

    it('are asked for further on as long as somebody stayed, in slices as long as the first', () => {
      const next = [[to, to + span, String(to), { ...unknown, by }]]
      expect(further({ leave_ts: to + 60 })).toEqual(next)
      expect(further({ leave_ts: to + span + 60 })).toEqual(next)
      expect(further({ leave_ts: to + 60 }, { part: `${from}.2` })).toEqual(next)
    })

    it('are asked for up to when the first were told, since who comes and goes meanwhile is told later', () => {
      const until = { ...unknown, by: to + 90 }
      expect(further({ leave_ts: to + 60 }, {}, 90)).toEqual([[to, to + 90, String(to), until]])
      const second = { from: to, to: to + 60, part: String(to), ask: until }
      expect(further({ leave_ts: to + 61 }, second)).toEqual([[to + 60, to + 90, String(to + 60), until]])
      expect(further({ leave_ts: to + 120 }, { ...second, to: to + 90 })).toEqual([])
      expect(further({ leave_ts: null }, { ...second, to: to + 90 })).toEqual([])
    })

    it('are asked for further on where somebody may have stayed', () => {
      expect(further({ leave_ts: null })).toHaveLength(1)
      expect(further({ leave_ts: to - 60, finished: false })).toHaveLength(1)
    })

    it('are all there once nobody stayed longer, or at a time that has not come', () => {
      expect(further({ leave_ts: to })).toEqual([])
      expect(further({ leave_ts: to + 9e8 })).toEqual([])
    })

    it('are asked for once, whatever a slice was parted into, and not where the end is known', () => {
      expect(further({ leave_ts: to + 60 }, { part: `${from}.1` })).toEqual([])
      expect(further({ leave_ts: to + 60 }, { part: `${from}.2.1` })).toEqual([])
      expect(further({ leave_ts: to + 60 }, { ask: null })).toEqual([])
    })
  })

  it('are not all there where more are counted than any page lists', () => {
    const read = (total: number) => {
      const page = detailPageOf({ items: sessions(2), total, number: 2 })
      return callSessions.toRows(page, { sessions: [['s9', null, null]] })
    }
    expect(read(3).rejects).toEqual([])
    const { rejects, rows, work } = read(5)
    expect(rejects).toEqual([
      {
        reason: 'out_of_range',
        detail: 'total_size: counts more than is listed',
        item: { total_size: 5, listed: 3 },
      },
    ])
    expect([rows['analytics.call_session']?.length, work.length]).toEqual([2, 1])
    // Servers may be counted and left out.
    expect(
      callSessions.toRows(detailPageOf({ items: [], total: 5, asked: { exclude_server_user: true } }), null)
        .rejects,
    ).toEqual([])
  })

  it('come to an end where every page is the first one again', () => {
    const [page] = inPages(sessions(100))
    const harvests = readPages([page!, page!, page!])
    expect(harvests.map(({ reading }) => reading)).toEqual(['next', 'whole'])
    expect(sidsOf(harvests[1]!.work)).toHaveLength(100)
  })

  it('are read on behind a full page of which nothing could be read', () => {
    const harvests = readPages([Array.from({ length: 100 }, () => null), sessions(3)])
    expect(harvests.map(({ reading }) => reading)).toEqual(['next', 'whole'])
    expect(sidsOf(harvests[1]!.work)).toHaveLength(3)
  })

  it('come to an end where every page is one of which nothing can be read', () => {
    const page = Array.from({ length: 100 }, (_, i) => ({ sid: null, uid: i }))
    const harvests = readPages([page, page, page])
    expect(harvests.map(({ reading }) => reading)).toEqual(['next', 'whole'])
  })

  it('make the same work in whatever order they are listed', () => {
    const all = sessions(130)
    const work = readPages(inPages(all)).at(-1)!.work
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: 130 }), shuffled => {
        expect(readPages(inPages(shuffled)).at(-1)!.work).toEqual(work)
      }),
      { numRuns: 20 },
    )
  })

  it('make other work when a later listing knows more of them', () => {
    const parts = (count: number) =>
      readPages(inPages(sessions(count)))
        .at(-1)!
        .work.map(({ part }) => part)
    const before = parts(7)
    expect(before).toHaveLength(1)
    expect(parts(7)).toEqual(before)
    expect(parts(8)).not.toEqual(before)
  })

  it('that nobody can ask for are kept, and said', () => {
    const { rows, rejects, work } = readPages([[session('a,b'), session('\udfff'), session('s1')]])[0]!
    expect(rows['analytics.call_session']).toHaveLength(3)
    expect(rejects.map(({ reason }) => reason)).toEqual(['out_of_range', 'out_of_range'])
    expect(sidsOf(work)).toEqual(['s1'])
  })

  it('begin anew from a stream state that cannot be read', () => {
    for (const streamState of ['?', { sessions: 'none' }, { sessions: [[1, 2, 3]] }] as const) {
      const { reading, work } = callSessions.toRows(detailPageOf({ items: sessions(2) }), streamState)
      expect([reading, sidsOf(work)]).toEqual(['whole', ['s0000', 's0001']])
    }
  })
})
