import type { StoreStatus, StreamStatus } from '../engine/ports.ts'
import type { ProcessStatus, ProviderStatus } from './process-status.ts'
import { allowedLag, allowedSilence, expiry } from './thresholds.ts'
import { countOf, duration, familyTexts, faultTexts, lossTexts, moment, refusalTexts } from './wording.ts'

/** From best to worst. */
export const verdictStates = ['well', 'starting', 'behind', 'losing', 'stopped'] as const
export type VerdictState = (typeof verdictStates)[number]

export interface Verdict {
  readonly state: VerdictState
  /** One sentence with the cause. */
  readonly sentence: string
}

/** What is judged: what the database told last, and what a process saw, as far as either is known. */
export interface Facts extends Partial<StoreStatus> {
  /** The moment of the verdict. */
  readonly at: string
  /** Since when the database does not answer; null while it does. */
  readonly databaseAwaySince: string | null
  readonly process?: ProcessStatus | undefined
}

/** What is judged, with all apps of which anything is known. */
interface Known extends Facts {
  readonly known: ReadonlySet<string>
}

/** The database may be slow for so long, and the provider fail, before that is told, seconds. */
const databasePatience = 10
const providerPatience = 30

/**
 * What failed so long ago, seconds, and was not tried since, is not said to fail now; nor what failed so long before others
 * were answered. What a provider refuses for a limit is told when it goes on for so long.
 */
const triedWithin = 900
const othersWithin = 120
const refusalPatience = 120

/** So far behind a read replica may be, seconds. */
const replicaPatience = 60

/** So long a process may take until its first page. */
const startPatience = 120

/**
 * What is about to expire is told when nothing of it was read for so long, seconds: a first start begins with what expires
 * next, and one round of all series takes minutes.
 */
const expiryPatience = (stream: string) => (stream.startsWith('realtime-') ? 120 : 600)

/** How long a stream of an app is left alone on purpose, seconds; undefined of an app that the configuration does not name. */
export type PauseOf = (app: string, stream: string) => number | undefined

/** The state of the whole and one sentence with its cause; the worst that is found wins. */
export function judge({ streams, ...told }: Facts, pauseOf: PauseOf = () => 0): Verdict {
  const isNamed = ({ app, stream }: StreamStatus) => pauseOf(app, stream) !== undefined
  const judged: Facts = { ...told, ...(streams && { streams: streams.filter(isNamed) }) }
  const facts = { ...judged, known: appsOf(judged) }
  const found: readonly (readonly [VerdictState, string | undefined])[] = [
    ['stopped', whyStopped(facts)],
    ['losing', whyLosing(facts)],
    ['behind', whyBehind(facts, pauseOf)],
    ['starting', whyStarting(facts)],
  ]
  const [state, cause] = found.find(([, cause]) => cause !== undefined) ?? ['well', wellText(facts)]
  return { state, sentence: `${withRefusal(facts, state, cause!)}.` }
}

/** What is late or expires may be so because the provider refuses it: then that alone says what to do. */
function withRefusal(facts: Known, state: VerdictState, cause: string): string {
  const [refusal] = refusedApps(facts).toSorted((a, b) => b.weight - a.weight)
  const isTold = (state !== 'behind' && state !== 'losing') || !refusal || cause.startsWith(refusal.text)
  return isTold ? cause : sentenceOf(cause, [refusal.text.replace(/^T/, 't')])
}

function whyStopped(facts: Known): string | undefined {
  const { at, databaseAwaySince, process, owners } = facts
  if (process?.isDraining) return 'Stopping: pages in hand are finished, and nothing else is asked for'
  if (isDatabaseAway(facts))
    return sentenceOf(
      `The database does not answer since ${moment(databaseAwaySince!, at)}, so nothing is asked of the provider`,
      consequences(facts),
    )
  if (!process && replicaText(facts)) return replicaText(facts)
  const away = providersAway(facts)
  if (process && away.length > 0 && away.length === process.providers.length)
    return sentenceOf(
      `The provider ${textOfFailing(away[0]!, at)}`,
      [longestSilence(process, at), ...consequences(facts)].filter(text => text !== undefined),
    )
  const isTakingOver = process && secondsFrom(process.startedAt, at) < startPatience
  if (owners?.length === 0 && !isTakingOver) {
    const last = lastRead(facts)
    const who = process
      ? 'Nobody owns the apps; why this process does not, its log says'
      : 'No daemon drains this database'
    return `${who}; ${last === undefined ? 'nothing was stored yet' : `the last page was stored at ${moment(last, at)}`}`
  }
  return undefined
}

/** One that stores pages is only slow to tell its status. */
function isDatabaseAway({ at, databaseAwaySince, process }: Facts): boolean {
  if (databaseAwaySince === null || secondsFrom(databaseAwaySince, at) < databasePatience) return false
  return !process?.reading.some(({ readAt }) => readAt !== null && secondsFrom(databaseAwaySince, readAt) > 0)
}

/** Streams that read the details of calls: what a budget cannot bring is lost of both. */
const details = ['call-sessions', 'call-metrics']

function whyLosing(facts: Known): string | undefined {
  const { at, process } = facts
  const isAccepted = acceptedBy(process)
  const lost = (facts.gaps ?? []).filter(each => each.lostToday > 0 && !isAccepted(each))
  const [worst] = lost.toSorted((a, b) => b.lostToday - a.lostToday)
  if (worst) {
    const all = sum(lost.map(({ lostToday }) => lostToday))
    const rest = all - worst.lostToday
    return sentenceOf(
      `Data was lost within the last 24 hours: ${countOf(worst.lostToday, 'range')} of ${named(facts, worst)} (${lossTexts[worst.reason] ?? worst.reason})`,
      rest > 0 ? [`${countOf(rest, 'more range')} of other streams or for other reasons`] : [],
    )
  }
  const [ahead] = (process?.lossAhead ?? [])
    .filter(({ app, share }) => share > 0 && !details.some(stream => isAccepted({ app, stream })))
    .toSorted((a, b) => b.share - a.share)
  if (ahead)
    return sentenceOf(
      `${percent(ahead.share)} of the details of calls${ofApp(facts, ahead.app)} will be lost at today's pace: the budget ${ahead.group} is too small for them`,
      [lostText(facts)],
    )
  const [stuck] = waiting(facts)
    .filter(each => each.unmoved > Math.max(each.left, each.turn) && !isAccepted(each))
    .toSorted((a, b) => a.left - b.left)
  if (!stuck) return undefined
  const until = stuck.left > 0 ? `expires at ${moment(stuck.expiresAt, at)}` : 'can no longer be had'
  return sentenceOf(
    `The oldest data of ${named(facts, stuck)} that waits to be read ${until}, and none of it was read for ${duration(stuck.unmoved)}`,
    [lostText(facts)],
  )
}

interface Delay {
  readonly app: string
  /** How grave it is, as a multiple of what is allowed. */
  readonly weight: number
  readonly text: string
}

function whyBehind(facts: Known, pauseOf: PauseOf): string | undefined {
  const delays = [
    ...failedApps(facts),
    ...refusedApps(facts),
    ...lateStreams(facts),
    ...failingStreams(facts),
    ...expiringStreams(facts),
    ...silentStreams(facts, pauseOf),
    ...staleReplica(facts),
    ...unknownZones(facts),
  ].toSorted((a, b) => b.weight - a.weight)
  const [worst] = delays
  if (!worst) return undefined
  const apps = new Set(delays.map(({ app }) => app)).size
  const all = facts.known.size
  const others = apps < all ? [`${apps} of ${countOf(all, 'app')} behind, the others drain normally`] : []
  return sentenceOf(worst.text, [...others, ...consequences(facts)])
}

function staleReplica(facts: Facts): readonly Delay[] {
  const text = replicaText(facts)
  return text ? [{ app: '', weight: 1, text }] : []
}

/** Everything is stored all the same; only what is said of days is said of other ones. */
function unknownZones(facts: Known): readonly Delay[] {
  return (facts.unknownZones ?? []).map(({ app, zone }) => ({
    ...{ app, weight: 1 },
    text: `Postgres does not know the time zone ${zone}${ofApp(facts, app)}, so its days are those of UTC: update the time zone data of Postgres and restart Penstock, or name an older zone in apps[].timeZone`,
  }))
}

/** A daemon writes each second. */
function replicaText({ at, replicaAt }: Facts): string | undefined {
  if (!replicaAt || secondsFrom(replicaAt, at) < replicaPatience) return undefined
  return `The read replica has seen nothing that was written since ${moment(replicaAt, at)}: it does not follow, or no daemon runs`
}

/** Services that fail an app, while others answer. */
function failedApps(facts: Known): readonly Delay[] {
  const { at } = facts
  return providersAway(facts).map(each => ({
    app: each.app,
    weight: secondsFrom(each.failing.since, at) / providerPatience,
    text: `The provider ${textOfFailing(each, at, ` for ${familyTexts[each.family]}${ofApp(facts, each.app)}`)}`,
  }))
}

/** Of services that answer otherwise. What the plan does not have need not be asked for twice. */
function refusedApps(facts: Known): readonly Delay[] {
  const { at, process } = facts
  return (process?.providers ?? []).flatMap(({ app, family, refusals = [] }) =>
    refusals
      .filter(({ kind, since, last }) => kind === 'no_access' || secondsFrom(since, last) >= refusalPatience)
      .map(({ kind, since, last, requests }) => ({
        ...{ app, weight: secondsFrom(since, at) / refusalPatience },
        text: `The provider has refused ${countOf(requests, 'request')} for ${familyTexts[family]}${ofApp(facts, app)} since ${moment(since, at)}, the last at ${moment(last, at)}: ${refusalTexts[kind]}`,
      })),
  )
}

function lateStreams(facts: Known): readonly Delay[] {
  return (facts.process?.reading ?? []).flatMap(each => {
    const allowed = allowedLag(each.stream)
    if (each.lateSeconds <= allowed) return []
    const text = `${named(facts, each)} is ${duration(each.lateSeconds)} late (${duration(allowed)} is allowed)`
    return [{ app: each.app, weight: each.lateSeconds / allowed, text }]
  })
}

function failingStreams(facts: Known): readonly Delay[] {
  const { at, process } = facts
  return (process?.reading ?? []).flatMap(({ app, stream, failing }) => {
    const lasts = failing ? secondsFrom(failing.since, failing.last) : 0
    const allowed = allowedSilence(stream)
    if (!failing || lasts <= allowed) return []
    const text = `Every page of ${named(facts, { app, stream })} has failed since ${moment(failing.since, at)}, the last at ${moment(failing.last, at)} (${failing.reason})`
    return [{ app, weight: lasts / allowed, text }]
  })
}

function expiringStreams(facts: Known): readonly Delay[] {
  const isAccepted = acceptedBy(facts.process)
  return waiting(facts)
    .filter(
      each =>
        each.left < expiry(each.stream) && each.unmoved >= expiryPatience(each.stream) && !isAccepted(each),
    )
    .map(each => ({
      app: each.app,
      weight: expiry(each.stream) / Math.max(1, each.left),
      text: `The oldest data of ${named(facts, each)} that waits to be read expires in ${duration(each.left)}`,
    }))
}

/** Of apps that this process does not own, the database alone tells: of streams that always have something to ask for. */
function silentStreams(facts: Known, pauseOf: PauseOf): readonly Delay[] {
  const { at, process, databaseAwaySince, streams = [], owners = [] } = facts
  if (databaseAwaySince !== null || owners.length === 0) return []
  const own = new Set(process?.apps)
  return streams.flatMap(({ app, stream, lastCommit, open }) => {
    const pause = pauseOf(app, stream)
    if (
      own.has(app) ||
      pause === undefined ||
      lastCommit === null ||
      open === 0 ||
      !/^(app-events|cloud-players|calls|realtime-.*)$/.test(stream)
    )
      return []
    const silence = secondsFrom(lastCommit, at)
    const allowed = allowedSilence(stream) + pause
    if (silence <= allowed) return []
    const text = `Nothing of ${named(facts, { app, stream })} was stored for ${duration(silence)} (${duration(allowed)} is allowed)`
    return [{ app, weight: silence / allowed, text }]
  })
}

function whyStarting({ at, process, owners }: Facts): string | undefined {
  if (!process || secondsFrom(process.startedAt, at) >= startPatience) return undefined
  if (process.reading.some(({ readAt }) => readAt !== null)) return undefined
  const isOthers = owners?.length && !owners.some(({ owner }) => owner === process.owner)
  if (isOthers) return undefined
  if (process.apps.length === 0) return 'Starting: the apps are being taken over'
  return 'Starting: the first pages are being read'
}

function wellText(facts: Facts): string {
  const last = lastRead(facts)
  const read =
    last === undefined ? 'nothing was due yet' : `last read ${duration(secondsFrom(last, facts.at))} ago`
  return `Draining normally: ${read}, nothing in the backlog is at risk`
}

/** What the cause means for the data. */
function consequences(facts: Facts): readonly string[] {
  const { at, process, gaps = [] } = facts
  const deadlines = [
    ...(process?.reading ?? []).map(({ oldest }) => oldest?.expiresAt),
    ...gaps.map(({ recoverableUntil }) => recoverableUntil),
  ]
  const [first] = deadlines.filter(each => each != null && secondsFrom(at, each) > 0).toSorted()
  const isSoon = first != null && secondsFrom(at, first) < 86_400
  return [lostText(facts), ...(isSoon ? [`the first data expires at ${moment(first, at)}`] : [])]
}

function lostText({ gaps = [] }: Facts): string {
  const lost = sum(gaps.map(({ lostToday }) => lostToday))
  return lost === 0 ? 'nothing lost yet' : `${countOf(lost, 'range')} lost within 24 hours`
}

type FailingProvider = ProviderStatus & { readonly failing: NonNullable<ProviderStatus['failing']> }

/** Those that fail for longer than a moment, the longest first: one failed request is no proof, nor an old one. */
function providersAway({ at, process }: Facts): readonly FailingProvider[] {
  const providers = process?.providers ?? []
  const answered = new Map<string, string>()
  for (const { family, answeredAt } of providers) {
    if (answeredAt !== null && answeredAt > (answered.get(family) ?? '')) answered.set(family, answeredAt)
  }
  return providers
    .filter((each): each is FailingProvider => each.failing !== null)
    .filter(({ family, failing: { since, last } }) => {
      const isStale = secondsFrom(last, at) > triedWithin
      return (
        !isStale &&
        secondsFrom(since, last) >= providerPatience &&
        secondsFrom(last, answered.get(family) ?? last) < othersWithin
      )
    })
    .toSorted((a, b) => a.failing.since.localeCompare(b.failing.since))
}

/** It says since when it fails as it does now; how long it has failed at all, where that is longer. */
function textOfFailing({ failing }: FailingProvider, at: string, forWhom = ''): string {
  const { kind, since, kindSince } = failing
  const before = since === kindSince ? '' : `, after other failures since ${moment(since, at)}`
  return `${faultTexts[kind]}${forWhom} since ${moment(kindSince, at)}${before}`
}

/** The stream that has failed the longest, as words. */
function longestSilence({ reading }: ProcessStatus, at: string): string | undefined {
  const [first] = reading
    .flatMap(({ stream, failing }) => (failing ? [{ stream, since: failing.since }] : []))
    .toSorted((a, b) => a.since.localeCompare(b.since))
  return first && `${first.stream} ${duration(secondsFrom(first.since, at))} behind`
}

/** Backlog that can expire: for how long it still can be had, the oldest of it was not read, and may wait for its turn. */
function waiting({ at, process }: Facts) {
  return (process?.reading ?? []).flatMap(({ app, stream, oldest }) => {
    if (!oldest) return []
    const { expiresAt, since, turnSeconds: turn } = oldest
    return [
      { app, stream, expiresAt, left: secondsFrom(at, expiresAt), unmoved: secondsFrom(since, at), turn },
    ]
  })
}

function lastRead({ process, streams = [] }: Facts): string | undefined {
  const all = [
    ...(process?.reading ?? []).map(({ readAt }) => readAt),
    ...streams.map(({ lastCommit }) => lastCommit),
  ]
  const times = all.filter(each => each !== null).map(each => Date.parse(each))
  return times.length > 0 ? new Date(Math.max(...times)).toISOString() : undefined
}

function appsOf({ process, streams = [] }: Facts): ReadonlySet<string> {
  return new Set([...(process?.apps ?? []), ...streams.map(({ app }) => app)])
}

function acceptedBy(process: ProcessStatus | undefined) {
  const accepted = new Set(process?.acceptedLosses.map(({ app, stream }) => JSON.stringify([app, stream])))
  return ({ app, stream }: { readonly app: string; readonly stream: string }) =>
    accepted.has(JSON.stringify([app, stream]))
}

/** A stream, with its app where there are several. */
function named(facts: Known, { app, stream }: { readonly app: string; readonly stream: string }): string {
  return `${stream}${ofApp(facts, app)}`
}

function ofApp(facts: Known, app: string): string {
  return facts.known.size > 1 ? ` of app ${app}` : ''
}

function secondsFrom(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1_000
}

function sentenceOf(cause: string, rest: readonly string[]): string {
  return [cause, ...rest].join('; ')
}

function percent(share: number): string {
  return `${Math.max(1, Math.round(share * 100))} %`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
