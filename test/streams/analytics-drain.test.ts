import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { TrueCall } from '../../sandbox/src/index.ts'
import {
  type AnalyticsStage,
  demoCredential,
  hour,
  playAnalytics,
} from '../../sandbox/test/analytics-play.ts'
import { callDetailsLimits } from '../../src/provider/analytics/index.ts'
import { type Operation, type Parameters, requestLine } from '../../src/provider/operation.ts'
import { askSessions } from '../../src/streams/call-sessions.ts'
import { allCalls, calls } from '../../src/streams/calls.ts'
import { streams } from '../../src/streams/index.ts'
import type { Reject, SubstreamResult, WindowResult, WorkItem } from '../../src/streams/page.ts'
import type { Substream } from '../../src/streams/stream.ts'
import type { CallRow, CallSessionRow, SessionSeriesRow } from '../../src/tables/analytics.ts'
import type { Json } from '../../src/tables/json.ts'

/** All that the streams made of what the provider served. */
function createHaul() {
  const found = {
    calls: new Map<string, CallRow>(),
    sessions: new Map<string, CallSessionRow>(),
    points: new Map<string, Set<string>>(),
    rejects: [] as Reject[],
    work: new Map<string, WorkItem>(),
    take: ({ rows, rejects, work }: WindowResult | SubstreamResult) => {
      for (const row of rows['analytics.call'] ?? []) found.calls.set(row.call_id, row)
      for (const row of rows['analytics.call_session'] ?? []) {
        found.sessions.set(`${row.call_id} ${row.sid}`, row)
      }
      for (const row of rows['analytics.session_series'] ?? []) addPoints(row)
      for (const item of work) found.work.set(`${item.stream} ${item.key} ${item.part}`, item)
      found.rejects.push(...rejects)
    },
  }
  function addPoints({ call_id, sid, peer_uid, mid, at }: SessionSeriesRow): void {
    const points = found.points.get(call_id) ?? new Set()
    for (const second of at) points.add(`${sid} ${peer_uid} ${mid} ${second}`)
    found.points.set(call_id, points)
  }
  return found
}

type Haul = ReturnType<typeof createHaul>

async function ask(stage: AnalyticsStage, operation: Operation, parameters: Parameters): Promise<unknown> {
  await stage.clock.advance(1_001)
  const { body } = await stage.get(requestLine(operation, parameters).target, demoCredential)
  return operation.answer.parse(body)
}

/** Searches the calls of a range, in halves where it holds more than is listed. */
async function readCalls(stage: AnalyticsStage, haul: Haul, from: number, to: number): Promise<void> {
  for (let number = 1; ; number++) {
    const bounds = { start: from, end: to }
    const answer = await ask(stage, calls.operation, calls.request('demo', allCalls, bounds, number))
    const toRows = calls.toRows({
      ...{ series: allCalls, range: { from, to }, number, now: stage.now(), receivedAt: 0 },
      ...{ ...calls.read(answer), details: callDetailsLimits.premium },
    })
    haul.take(toRows)
    if (toRows.reading === 'whole') return
    if (toRows.reading === 'next') continue
    expect(to - from, 'more in one second than is listed').toBeGreaterThan(1)
    const middle = Math.floor((from + to) / 2)
    await readCalls(stage, haul, from, middle)
    return readCalls(stage, haul, middle, to)
  }
}

async function fetchItem(
  stage: AnalyticsStage,
  haul: Haul,
  item: WorkItem,
  request: Substream['request'] = streams[item.stream as 'call-sessions' | 'call-metrics'].request,
): Promise<void> {
  const stream = streams[item.stream as 'call-sessions' | 'call-metrics']
  let streamState: Json = null
  for (let number = 1; ; number++) {
    const asked = request('demo', item, number)
    const answer = await ask(stage, stream.operation, asked)
    const toRows = stream.toRows(
      { item, number, asked, now: stage.now(), ...stream.read(answer) },
      streamState,
    )
    haul.take(toRows)
    if (toRows.reading === 'whole') return
    streamState = toRows.streamState
  }
}

async function drain(stage: AnalyticsStage, from: number, to: number): Promise<Haul> {
  const haul = createHaul()
  const length = 15 * hour
  for (let begin = from; begin < to; begin += length) {
    await readCalls(stage, haul, begin, Math.min(to, begin + length))
  }
  // What is over by now can be asked for once the delay has passed.
  await stage.clock.advance((callDetailsLimits.premium!.dataDelay + 1) * 1_000)
  // What is fetched adds to the list while it is walked.
  for (const item of haul.work.values()) await fetchItem(stage, haul, item)
  return haul
}

const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

/** The calls that began in the time that was drained. */
function trueCalls(stage: AnalyticsStage, from: number, to: number): readonly TrueCall[] {
  const all = [...stage.sandbox.analytics('demo').calls()]
  return all.filter(({ item }) => item.created_ts >= from && item.created_ts < to)
}

const Entry = z.object({
  sid: z.string(),
  data: z.tuple([
    z.object({
      mid: z.number(),
      peer_uid: z.number(),
      kvs: z.array(z.tuple([z.number(), z.unknown()])),
    }),
  ]),
})

/** How many values of the sessions were set aside; the second at which two slices meet comes with both. */
function deadLetter(rejects: readonly Reject[], sids: ReadonlySet<string>): number {
  const places = rejects.flatMap(({ item }) => {
    const { sid, data } = Entry.parse(item)
    const [{ mid, peer_uid, kvs }] = data
    return sids.has(sid) ? kvs.map(([second]) => `${sid} ${peer_uid} ${mid} ${second}`) : []
  })
  return new Set(places).size
}

describe('what the streams make of a provider', () => {
  it('is every call, session and value of it, of long calls and crowds too', async () => {
    const stage = playAnalytics({
      profile: { kind: 'calls', callsPerDay: 200, users: 4, minutes: 20, days: 2 },
      switches: { metricSeconds: 60 },
      quirks: {
        ...{ burstOfCalls: 130, crowd: 230, longCallHours: 25, backwardCall: 0.05 },
        ...{ unknownMid: 0.1, malformedValue: 0.002, vanishingSid: 0.05 },
      },
    })
    const from = stage.now() - 3 * hour
    await stage.clock.advance(25 * hour * 1_000)
    const to = stage.now() - hour
    const haul = await drain(stage, from, to)
    const truth = stage.sandbox.analytics('demo')

    const owned = trueCalls(stage, from, to)
    expect(owned.length).toBeGreaterThan(300)
    for (const { item } of owned) {
      expect(haul.calls.get(item.call_id)).toMatchObject({
        cname: item.cname,
        created_at: iso(item.created_ts),
        destroyed_at: iso(item.destroyed_ts),
        finished: item.finished,
      })
    }
    const measured = owned.filter(({ item }) => item.finished && item.destroyed_ts >= item.created_ts)
    expect(measured.length).toBeLessThan(owned.length)
    let words = 0
    for (const { callId, sessions } of measured) {
      const sids = sessions.map(({ sid }) => sid)
      const rows = [...haul.sessions.values()].filter(({ call_id }) => call_id === callId)
      expect(rows.map(({ sid }) => sid).sort(), callId).toEqual(sids.sort())
      const { points, malformed } = truth.points(callId)!
      expect(haul.points.get(callId)?.size ?? 0, callId).toBe(points)
      words += malformed
    }
    expect(words).toBeGreaterThan(0)
    const stays = measured.flatMap(({ sessions }) => sessions.map(({ sid }) => sid))
    expect(deadLetter(haul.rejects, new Set(stays))).toBe(words)
    expect(Object.values(stage.violations()).reduce((sum, count) => sum + count, 0)).toBe(0)
  })

  it.each([
    ['only lists what begins in the range', { callSearch: 'start' }],
    [
      'leaves calls out when it is under load',
      { hasMore: 'forced', hasMoreAbove: 20, hasMoreFloorSeconds: 1 },
    ],
    ['has no second page', { callListPages: 1 }],
    ['says of the whole search alone that calls are left out', { hasMore: 'omitted', callListPages: 2 }],
    ['puts fewer on a page than are asked for', { hasMore: 'omitted', mostPerPage: 30 }],
  ] as const)('is every call of one that %s', async (_, switches) => {
    const stage = playAnalytics({
      profile: { kind: 'calls', callsPerDay: 2_000, users: 2, minutes: 10, days: 2 },
      switches: { ...switches, metricSeconds: 60 },
    })
    const to = stage.now() - hour
    const haul = createHaul()
    await readCalls(stage, haul, to - 12 * hour, to)
    const ids = trueCalls(stage, to - 12 * hour, to).map(({ callId }) => callId)
    expect(ids.length).toBeGreaterThan(900)
    expect(ids.filter(id => !haul.calls.has(id))).toEqual([])
  })

  it('is every session and value of calls that end and do not say when', async () => {
    const stage = playAnalytics({
      profile: { kind: 'calls', callsPerDay: 100, users: 3, minutes: 20, days: 1 },
      switches: { callEnd: 'absent', metricSeconds: 600 },
      quirks: { longCallHours: 10 },
    })
    await stage.clock.advance(12 * hour * 1_000)
    const [from, to] = [stage.now() - 16 * hour, stage.now() - hour]
    const haul = await drain(stage, from, to)
    const truth = stage.sandbox.analytics('demo')
    const finished = trueCalls(stage, from, to).filter(({ item }) => item.finished)
    expect(finished.some(({ item }) => item.destroyed_ts - item.created_ts > 9 * hour)).toBe(true)
    for (const { callId, sessions } of finished) {
      expect(haul.calls.get(callId)).toMatchObject({ destroyed_at: null, finished: true })
      const rows = [...haul.sessions.values()].filter(({ call_id }) => call_id === callId)
      expect(rows.map(({ sid }) => sid).sort(), callId).toEqual(sessions.map(({ sid }) => sid).sort())
      expect(haul.points.get(callId)?.size ?? 0, callId).toBe(truth.points(callId)!.points)
    }
  })

  it('is every session without servers, also of one that leaves them out of each page', async () => {
    const stage = playAnalytics({
      profile: { kind: 'calls', callsPerDay: 240, users: 12, minutes: 20, days: 1 },
      switches: { mostPerPage: 3, serverFilter: 'after-paging' },
    })
    const call = [...stage.sandbox.analytics('demo').calls()].findLast(
      ({ sessions, destroyedAt }) => destroyedAt && sessions.some(({ platform }) => platform === 'Linux'),
    )!
    const { call_id, created_ts, destroyed_ts } = call.item
    const haul = createHaul()
    const item = {
      stream: 'call-sessions',
      key: call_id,
      part: '',
      from: created_ts,
      to: destroyed_ts,
    } as const
    await fetchItem(
      stage,
      haul,
      { ...item, ask: null },
      askSessions(() => 'exclude'),
    )
    const people = call.sessions.filter(({ platform }) => platform !== 'Linux')
    expect(haul.sessions.size).toBe(people.length)
  })
})
