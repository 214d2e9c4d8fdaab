import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'
import { type Call, type Session, seriesValue, type Value, type World } from './world.ts'

/** How a reading answers call analytics; all times are Unix seconds. */

export interface Question {
  readonly params: URLSearchParams
  readonly from: number
  readonly to: number
  /** The provider's clock. */
  readonly now: number
}

export function tellCalls(reading: Reading, { calls }: World, { params, from, to, now }: Question): Told {
  const number = Number(params.get('page_no') ?? 1)
  const size = Math.min(Number(params.get('page_size') ?? 20), 100)
  const matching = calls
    .filter(({ created, destroyed = now }) =>
      reading.searchMatches === 'start'
        ? created >= from && created <= to
        : created <= to && destroyed >= from,
    )
    .toSorted((a, b) => b.created - a.created)
  const listed = matching.slice((number - 1) * size, number * size).map(call => tellCall(reading, call, now))
  const none = { '[]': [], null: null, absent: undefined }[reading.noCalls]
  return {
    total_size: listed.length,
    page_no: number,
    page_size: size,
    has_more: matching.length > number * size,
    call_lists: listed.length > 0 ? listed : none,
  }
}

function tellCall(reading: Reading, { id, cname, created, destroyed }: Call, now: number): Told {
  const end = {
    'destroyed_ts 0': 0,
    'destroyed_ts absent': undefined,
    'destroyed_ts null': null,
    'destroyed_ts now': Math.floor(now),
  }[reading.ongoing]
  return {
    call_id: id,
    cname,
    created_ts: created,
    destroyed_ts: destroyed ?? end,
    finished: destroyed !== undefined,
    ...(reading.callExtra === 'none' ? {} : { ts: 4, mode: 1, permanented: true, vid: 12 }),
  }
}

export function tellSessions(reading: Reading, call: Call, { params }: Question): Told {
  const number = Number(params.get('page_no') ?? 1)
  const size = Math.min(Number(params.get('page_size') ?? 20), 100)
  const uids = params.get('uids')?.split(',')
  const wanted = call.sessions
    .filter(({ uid }) => !uids || uids.includes(String(uid)))
    .filter(({ platform }) => params.get('exclude_server_user') === 'false' || platform !== 'Linux')
    .toSorted((a, b) => b.join - a.join)
  const listed = wanted
    .slice((number - 1) * size, number * size)
    .map(session => tellSession(reading, call, session))
  return { total_size: listed.length, page_no: number, page_size: size, call_info: listed }
}

function tellSession(reading: Reading, { cname }: Call, session: Session): Told {
  const { sid, uid, join, leave, network, platform } = session
  return {
    ...{ sid, cname, uid, network, platform, speaker: true, sdk_version: '4.2.6', device_type: 'iPad' },
    ...{ join_ts: join, leave_ts: leave, finished: true },
    ...(reading.callExtra === 'none' ? {} : { account: '', location: { city: 'x' } }),
  }
}

export function tellMetrics(reading: Reading, call: Call, { params, from, to }: Question): Told {
  const sids = (params.get('sids') ?? '').split(',')
  const metrics = call.sessions
    .filter(({ sid }) => sids.includes(sid))
    .flatMap(({ sid, values }): readonly Told[] => {
      const within = values.filter(({ at }) => at >= from && at <= to)
      if (within.length > 0) return [{ sid, data: series(reading, within) }]
      return reading.noData === 'no entry' ? [] : [{ sid, data: [] }]
    })
  return { metrics }
}

function series(reading: Reading, values: readonly Value[]): readonly Told[] {
  const groups = Map.groupBy(values, ({ mid, peer }) => `${mid} ${peer}`)
  return [...groups.values()].map(group => ({
    mid: group[0]!.mid,
    kvs: group.map(({ at, value }) => pair(reading, at, value)),
    peer_uid: group[0]!.peer,
  }))
}

function pair(reading: Reading, at: number, value: number): unknown {
  switch (reading.pair) {
    case '[ts, value]':
      return [at, value]
    case 'with a third':
      return [at, value, 'more']
    case '{ts, value}':
      return { ts: at, value }
    case '{k, v}':
      return { k: at, v: value }
    case '{key, value}':
      return { key: at, value }
    case '{timestamp, value}':
      return { timestamp: at, value }
    case '{<ts>: value}':
      return { [String(at)]: value }
  }
}

export function tellInsight(reading: Reading, { params, from, to }: Question): Told {
  const step = params.get('aggregateGranularity') === '1d' ? 86_400 : 3_600
  return {
    data: entries(reading.insight, params.get('metric') ?? '', Math.ceil(from / step) * step, to + 1, step),
  }
}

export function tellRealtime(reading: Reading, { params, from, to, now }: Question): Told {
  const first = Math.floor(from / 20) * 20
  const last = Math.floor(to / 20) * 20
  const end = reading.realtimeEnd === 'inclusive' ? last + 20 : last
  // A window that still goes on has no value.
  return { data: entries(reading.realtime, params.get('metric') ?? '', first, Math.min(end, now - 20), 20) }
}

function entries(
  shape: Reading['insight'] | Reading['realtime'],
  metric: string,
  from: number,
  before: number,
  step: number,
): readonly Told[] {
  const told: Told[] = []
  for (let ts = from; ts < before; ts += step) {
    const value = seriesValue(metric, ts)
    switch (shape) {
      case 'ts and value':
        told.push({ ts, value })
        break
      case 'and more fields':
        told.push({ ts, [metric]: value, productType: 'Native', unit: '%', samples: 9 })
        break
      default:
        told.push({ ts, [metric]: value })
    }
  }
  return shape === 'descending' ? told.toReversed() : told
}
