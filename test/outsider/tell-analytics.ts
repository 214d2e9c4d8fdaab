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
  const size = pageSize(reading, params)
  const matching = calls
    .filter(({ created, destroyed = now }) =>
      reading.searchMatches === 'start'
        ? created >= from && created <= to
        : created <= to && destroyed >= from,
    )
    .toSorted((a, b) => b.created - a.created)
  // No page is full where only the newest two are listed at all.
  const most = reading.hasMore === 'true on a short page' ? 2 : matching.length
  const listed = matching
    .slice(0, most)
    .slice((number - 1) * size, number * size)
    .map(call => tellCall(reading, call, now))
  const more = {
    'pages that follow': matching.length > number * size,
    'false though pages follow': false,
    'true on a short page': matching.length > most,
  }
  const none = { '[]': [], null: null, absent: undefined }[reading.noCalls]
  return {
    total_size: listed.length,
    page_no: number,
    page_size: size,
    has_more: more[reading.hasMore],
    call_lists: listed.length > 0 ? listed : none,
  }
}

function pageSize(reading: Reading, params: URLSearchParams): number {
  return Math.min(
    Number(params.get('page_size') ?? 20),
    reading.ownPageSize === 'as asked' ? 100 : Number(reading.ownPageSize),
  )
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
  const size = pageSize(reading, params)
  const uids = params.get('uids')?.split(',')
  const isListed = ({ platform }: Session) =>
    params.get('exclude_server_user') === 'false' || platform !== 'Linux'
  const isLate = reading.serverUsers === 'left out after paging'
  const listed = call.sessions
    .filter(({ uid }) => !uids || uids.includes(String(uid)))
    .filter(session => isLate || isListed(session))
    .toSorted((a, b) => b.join - a.join)
    .slice((number - 1) * size, number * size)
    .filter(isListed)
    .map(session => tellSession(reading, call, session))
  const again = reading.repeatedSession === 'none' || listed.length >= size ? [] : listed.slice(0, 1)
  const all = [...listed, ...again]
  return { total_size: all.length, page_no: number, page_size: size, call_info: all }
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
    ...(reading.ownPeer === 'absent' && group[0]!.peer === 0 ? {} : { peer_uid: group[0]!.peer }),
    ...(reading.metricExtra === 'none' ? {} : { orbit: 'low' }),
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
  const metric = params.get('metric') ?? ''
  return { data: entries(reading.insight, metric, metric, Math.ceil(from / step) * step, to + 1, step) }
}

export function tellRealtime(reading: Reading, { params, from, to, now }: Question): Told {
  const first = Math.floor(from / 20) * 20
  const last = Math.floor(to / 20) * 20
  const end = reading.realtimeEnd === 'inclusive' ? last + 20 : last
  const metric = params.get('metric') ?? ''
  const cname = params.get('cname') ?? ''
  const uids = params.get('uids')?.split(',') ?? []
  // A window that still goes on has no value.
  const of = (uid: string) =>
    entries(reading.realtime, metric, `${metric}${cname}${uid}`, first, Math.min(end, now - 20), 20)
  const users = uids.map(uid => ({ uid: Number(uid), values: of(uid) }))
  if (uids.length === 0) return { data: of('') }
  return { data: reading.perUser === 'alone' ? users : [...of(''), ...users] }
}

function entries(
  shape: Reading['insight'] | Reading['realtime'],
  metric: string,
  series: string,
  from: number,
  before: number,
  step: number,
): readonly Told[] {
  const told: Told[] = []
  for (let ts = from; ts < before; ts += step) {
    const value = seriesValue(series, ts)
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
