import type { StoreStatus, StreamLabels } from '../engine/ports.ts'
import type { ProcessStatus, ProviderStatus } from './process-status.ts'
import { allowedLag, allowedSilence, expiry } from './thresholds.ts'
import { countOf, duration, familyTexts, faultTexts, moment, refusalTexts } from './wording.ts'

/** What is judged: what the database told last, and what a process saw, as far as either is known. */
export interface Facts extends Partial<StoreStatus> {
  /** The moment of the verdict. */
  readonly at: string
  /** Since when the database does not answer; null while it does. */
  readonly databaseAwaySince: string | null
  readonly process?: ProcessStatus | undefined
}

/** What is judged, with all apps of which anything is known. */
export interface Known extends Facts {
  readonly known: ReadonlySet<string>
}

/**
 * What failed so long ago, seconds, and was not tried since, is not said to fail now; nor what failed so long before others
 * were answered. What a provider refuses for a limit is told when it goes on for so long.
 */
const triedWithin = 900
const othersWithin = 120
const refusalPatience = 120

/** A provider may fail for so long before that is told, seconds. */
const providerPatience = 30

/** So far behind a read replica may be, seconds. */
const replicaPatience = 60

/**
 * What is about to expire is told when nothing of it was read for so long, seconds: a first start begins with what expires
 * next, and one round of all series takes minutes.
 */
const expiryPatience = (stream: string) => (stream.startsWith('realtime-') ? 120 : 600)

/** How long a stream of an app is left alone on purpose, seconds; undefined of one that is off, or of an app that is not configured. */
export type PauseOf = (app: string, stream: string) => number | undefined

interface Delay {
  readonly app: string
  /** How grave it is, as a multiple of what is allowed. */
  readonly weight: number
  readonly text: string
}

/** All that is later than it may be, the gravest first. */
export function delaysOf(facts: Known, pauseOf: PauseOf): readonly Delay[] {
  return [
    ...fullDatabase(facts),
    ...failedApps(facts),
    ...refusedApps(facts),
    ...lateStreams(facts),
    ...failingStreams(facts),
    ...expiringStreams(facts),
    ...silentStreams(facts, pauseOf),
    ...staleReplica(facts),
    ...unknownZones(facts),
  ].toSorted((a, b) => b.weight - a.weight)
}

/** Before all that is late because of it. */
function fullDatabase({ at, process }: Facts): readonly Delay[] {
  const since = process?.databaseFullSince
  if (!since) return []
  const text = `The disk of the database is full: pages cannot be stored since ${moment(since, at)}; free it, or let the database grow`
  return [{ app: '', weight: Number.POSITIVE_INFINITY, text }]
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
export function replicaText({ at, replicaAt }: Facts): string | undefined {
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
export function refusedApps(facts: Known): readonly Delay[] {
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

type FailingProvider = ProviderStatus & { readonly failing: NonNullable<ProviderStatus['failing']> }

/** Those that fail for longer than a moment, the longest first: one failed request is no proof, nor an old one. */
export function providersAway({ at, process }: Facts): readonly FailingProvider[] {
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
export function textOfFailing({ failing }: FailingProvider, at: string, forWhom = ''): string {
  const { kind, since, kindSince } = failing
  const before = since === kindSince ? '' : `, after other failures since ${moment(since, at)}`
  return `${faultTexts[kind]}${forWhom} since ${moment(kindSince, at)}${before}`
}

/** Backlog that can expire: for how long it still can be had, the oldest of it was not read, and may wait for its turn. */
export function waiting({ at, process }: Facts) {
  return (process?.reading ?? []).flatMap(({ app, stream, oldest }) => {
    if (!oldest) return []
    const { expiresAt, since, turnSeconds: turn } = oldest
    return [
      { app, stream, expiresAt, left: secondsFrom(at, expiresAt), unmoved: secondsFrom(since, at), turn },
    ]
  })
}

export function acceptedBy(process: ProcessStatus | undefined) {
  const accepted = new Set(process?.acceptedLosses.map(({ app, stream }) => JSON.stringify([app, stream])))
  return ({ app, stream }: StreamLabels) => accepted.has(JSON.stringify([app, stream]))
}

/** A stream, with its app where there are several. */
export function named(facts: Known, { app, stream }: StreamLabels): string {
  return `${stream}${ofApp(facts, app)}`
}

export function ofApp(facts: Known, app: string): string {
  return facts.known.size > 1 ? ` of app ${app}` : ''
}

export function secondsFrom(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1_000
}
