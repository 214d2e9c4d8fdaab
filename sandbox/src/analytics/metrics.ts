import { maxima } from '../../../src/provider/analytics/index.ts'
import { type Call, type CallSession, past } from '../calls.ts'
import { befalls, hashOf, hashOn, shareOf } from '../hash.ts'
import type { Settings } from '../options.ts'
import type { Switches } from '../switches.ts'
import { isBadCall } from './quality.ts'
import type { Asked } from './ranges.ts'
import { invalid } from './refusals.ts'
import { callInQuestion } from './sessions.ts'
import { withUnknown } from './thin.ts'
import { type AnalyticsContext, inSeconds } from './visit.ts'
import { ownVitals, receiverVitals, senderVitals, vitalAt } from './vitals.ts'

/** A metric ID that no document names. */
const unknownMid = 20_031
/** Remote users of whom a session keeps values: those who speak and were there first. */
const mostPeers = 2

const vitals = { ...ownVitals, ...senderVitals, ...receiverVitals }

/** One metric of a session, of itself (peer 0) or of a remote user, and the Unix seconds of its values. */
interface Series {
  readonly mid: number
  readonly peer: number
  readonly moments: readonly number[]
}

/** The same with the session that it is of, and its values. */
export interface TrueSeries extends Series {
  readonly sid: string
  readonly values: readonly (number | string)[]
}

export interface MetricPoints {
  /** Values that are numbers. */
  readonly points: number
  /** Values that are words. */
  readonly malformed: number
}

interface Reading {
  readonly call: Call
  /** Both ends included. */
  readonly asked: Asked
  readonly settings: Settings
  readonly now: number
}

/** Quality metrics of sessions. A session that nobody knows has no entry. */
export function readMetrics(context: AnalyticsContext): object {
  const sids = context.query.list('sids', maxima.sids)
  if (!sids) throw invalid('sids')
  const call = callInQuestion(context)
  if (!call) return { metrics: [] }
  const wanted = new Set(sids)
  const { start, end } = context.asked
  const reading = { ...context, call, asked: { start, end: end - unservedSeconds(context.settings) } }
  const metrics = sessionsWithMetrics(reading)
    .filter(({ sid }) => wanted.has(sid))
    .map(session => withUnknown(context.settings, { sid: session.sid, data: dataOf(session, reading) }))
  return { metrics }
}

/** Seconds at the end of a question of which no answer tells. */
export function unservedSeconds({ switches }: Pick<Settings, 'switches'>): number {
  return switches.metricsEnd === 'exclusive' ? 1 : 0
}

/** How many values the sessions of a call have from its beginning to `now` of which an answer about all of it tells. */
export function countPoints(call: Call, settings: Settings, now: number): MetricPoints {
  const end = inSeconds(past(call.destroyedAt, now) ?? now) - unservedSeconds(settings)
  const reading = { call, settings, now, asked: { start: 0, end } }
  let [points, malformed] = [0, 0]
  for (const session of sessionsWithMetrics(reading)) {
    for (const series of seriesOf(session, reading)) {
      const isWord = wordsAmong(session, series, reading)
      const isUnmeasured = unmeasuredAmong(session, series, reading)
      const words = isWord ? series.moments.filter(isWord).length : 0
      const unmeasured = isUnmeasured ? series.moments.filter(isUnmeasured).length : 0
      malformed += words
      points += series.moments.length - words - unmeasured
    }
  }
  return { points, malformed }
}

/** All values of the sessions of a call from its beginning to `now`, a series at a time; what was not measured is none. */
export function* seriesOfCall(call: Call, settings: Settings, now: number): Generator<TrueSeries> {
  const reading = { call, settings, now, asked: { start: 0, end: inSeconds(now) } }
  for (const session of sessionsWithMetrics(reading)) {
    for (const series of seriesOf(session, reading)) {
      const isUnmeasured = unmeasuredAmong(session, series, reading)
      const moments = isUnmeasured ? series.moments.filter(each => !isUnmeasured(each)) : series.moments
      const values = moments.map(valuesOf(session, series, reading))
      yield { sid: session.sid, ...series, moments, values }
    }
  }
}

function sessionsWithMetrics({ call, settings, now }: Reading): readonly CallSession[] {
  const { vanishingSid } = settings.quirks
  return call.sessions.filter(({ sid, joinedAt }) => {
    return joinedAt <= now && !befalls(vanishingSid, 'vanishing', sid)
  })
}

function dataOf(session: CallSession, reading: Reading): readonly object[] {
  const { settings } = reading
  return seriesOf(session, reading).flatMap(series => {
    const { mid, peer, moments } = series
    const valueAt = valuesOf(session, series, reading)
    const isUnmeasured = unmeasuredAmong(session, series, reading)
    const pairAt = pairsOf(session, settings)
    const isUnsaid = peer === 0 && settings.switches.ownPeer === 'absent'
    return partsOf(session, moments, settings).map(part => {
      const kvs = part.map(moment => pairAt(moment, isUnmeasured?.(moment) ? null : valueAt(moment)))
      return withUnknown(settings, { mid, kvs, ...(!isUnsaid && { peer_uid: peer }) })
    })
  })
}

function partsOf({ sid }: CallSession, moments: readonly number[], { quirks }: Settings) {
  const half = Math.ceil(moments.length / 2)
  const isParted = befalls(quirks.partedMetric, 'parted', sid) && half < moments.length
  return isParted ? [moments.slice(0, half), moments.slice(half)] : [moments]
}

/** The value of each moment. */
function valuesOf(session: CallSession, series: Series, reading: Reading) {
  const { call } = reading
  const { mid, peer } = series
  const quality = isBadCall(call.callId) ? 'bad' : 'usual'
  const vital = vitals[mid]
  const hash = hashOf(session.sid, mid, peer)
  const isWord = wordsAmong(session, series, reading)
  return (moment: number): number | string => {
    if (isWord?.(moment)) return 'n/a'
    return vital ? vitalAt(vital, hash, moment, quality) : hashOn(hash, moment) % 100
  }
}

/** How a value is told with its moment. A word may stand in no pair. */
function pairsOf({ sid }: CallSession, { quirks, switches }: Settings) {
  const form = forms[switches.kvs]
  return (moment: number, value: number | string | null): unknown => {
    const isPair = typeof value !== 'string' || !befalls(quirks.strangePair, 'strange pair', sid, moment)
    if (isPair) return form(moment, value)
    return befalls(0.5, 'no pair', sid, moment) ? null : `${value} at ${moment}`
  }
}

/** The document does not show what a pair looks like. */
const forms: Readonly<Record<Switches['kvs'], (moment: number, value: number | string | null) => unknown>> = {
  pairs: (moment, value) => [moment, value],
  objects: (k, v) => ({ k, v }),
  triples: (moment, value) => [moment, value, moment % 7],
  words: (moment, value) => `${moment}=${value}`,
}

function seriesOf(session: CallSession, reading: Reading): readonly Series[] {
  const { settings } = reading
  const moments = momentsOf(session, reading)
  const own = session.speaks ? { ...ownVitals, ...senderVitals } : ownVitals
  const isStrange = befalls(settings.quirks.unknownMid, 'unknown', session.sid)
  return [
    ...midsOf(own).map(mid => ({ mid, peer: 0, moments })),
    ...peersOf(session, reading).flatMap(peer => {
      const together = momentsWith(peer, moments, reading)
      return midsOf(receiverVitals).map(mid => ({ mid, peer, moments: together }))
    }),
    ...(isStrange ? [{ mid: unknownMid, peer: 0, moments }] : []),
  ]
}

function midsOf(table: Readonly<Record<number, unknown>>): readonly number[] {
  return Object.keys(table).map(Number)
}

/** At whole multiples of their distance, so that slices of a session fit together. */
function momentsOf({ joinedAt, leftAt }: CallSession, { asked, settings, now }: Reading): readonly number[] {
  const step = Math.max(1, Math.floor(settings.switches.metricSeconds))
  const first = Math.ceil(Math.max(asked.start, inSeconds(joinedAt)) / step) * step
  const last = Math.min(asked.end, inSeconds(past(leftAt, now) ?? now))
  const count = Math.max(0, Math.floor((last - first) / step) + 1)
  return Array.from({ length: count }, (_, n) => first + n * step)
}

/** Whoever comes later takes nobody's place, so that what is known of a past moment never changes. */
function peersOf(session: CallSession, { call, now }: Reading): readonly number[] {
  const until = past(session.leftAt, now) ?? now
  const met = call.sessions.filter(other => {
    const leave = other.leftAt ?? Number.POSITIVE_INFINITY
    return other.speaks && other.uid !== session.uid && other.joinedAt <= until && leave >= session.joinedAt
  })
  return [...new Set(met.map(({ uid }) => uid))].slice(0, mostPeers)
}

function momentsWith(peer: number, moments: readonly number[], { call, now }: Reading): readonly number[] {
  const stays = call.sessions
    .filter(({ uid, joinedAt }) => uid === peer && joinedAt <= now)
    .map(({ joinedAt, leftAt }) => [inSeconds(joinedAt), inSeconds(past(leftAt, now) ?? now)] as const)
  return moments.filter(moment => stays.some(([join, leave]) => join <= moment && moment <= leave))
}

/** A call of so many sessions has so many values that each of its answers would hold a word, and it would never be whole. */
const crowded = 100

/** Which values are words; nothing where none is. */
function wordsAmong({ sid }: CallSession, { mid, peer }: Series, { call, settings }: Reading) {
  const share = call.sessions.length > crowded ? 0 : settings.quirks.malformedValue
  const hash = hashOf('word', sid, mid, peer)
  return share > 0 ? (moment: number) => shareOf(hashOn(hash, moment)) < share : undefined
}

/** Of which moments nothing was measured; nothing where that is of none. */
function unmeasuredAmong(session: CallSession, series: Series, reading: Reading) {
  const share = reading.settings.quirks.unmeasuredValue
  const hash = hashOf('unmeasured', session.sid, series.mid, series.peer)
  const isWord = wordsAmong(session, series, reading)
  return share > 0
    ? (moment: number) => shareOf(hashOn(hash, moment)) < share && !isWord?.(moment)
    : undefined
}
