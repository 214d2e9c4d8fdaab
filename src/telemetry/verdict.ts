import type { StreamStatus } from '../engine/ports.ts'
import {
  acceptedBy,
  delaysOf,
  type Facts,
  type Known,
  named,
  ofApp,
  type PauseOf,
  providersAway,
  refusedApps,
  replicaText,
  secondsFrom,
  textOfFailing,
  waiting,
} from './delays.ts'
import type { ProcessStatus } from './process-status.ts'
import { countOf, duration, lossTexts, moment } from './wording.ts'

/** From best to worst. */
export const verdictStates = ['well', 'starting', 'behind', 'losing', 'stopped'] as const
export type VerdictState = (typeof verdictStates)[number]

export interface Verdict {
  readonly state: VerdictState
  /** One sentence with the cause. */
  readonly sentence: string
}

/** The database may be slow for so long before that is told, seconds. */
const databasePatience = 10

/** So long a process may take until its first page. */
const startPatience = 120

/** The state of the whole and one sentence with its cause; the worst that is found wins. */
export function judge({ streams, ...told }: Facts, pauseOf: PauseOf = () => 0): Verdict {
  const isNamed = ({ app, stream }: StreamStatus) => pauseOf(app, stream) !== undefined
  const judged: Facts = { ...told, ...(streams && { streams: streams.filter(isNamed) }) }
  const facts = { ...judged, known: appsOf(judged) }
  const found: readonly (readonly [VerdictState, string | undefined])[] = [
    ['stopped', whyStopped(facts)],
    ['losing', whyLosing(facts, pauseOf)],
    ['behind', whyBehind(facts, pauseOf)],
    ['starting', whyStarting(facts)],
  ]
  const [state, cause] = found.find(([, cause]) => cause !== undefined) ?? ['well', wellText(facts)]
  return { state, sentence: `${withRefusal(facts, state, cause!)}.` }
}

/** What is late or expires may be so because the provider refuses it: then that alone says what to do. */
function withRefusal(facts: Known, state: VerdictState, cause: string): string {
  const [refusal] = refusedApps(facts).toSorted((a, b) => b.weight - a.weight)
  if ((state !== 'behind' && state !== 'losing') || !refusal) return cause
  const isTold = cause.startsWith(refusal.text) || cause.includes(inSentence(refusal.text))
  return isTold ? cause : sentenceOf(cause, [inSentence(refusal.text)])
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

function whyLosing(facts: Known, pauseOf: PauseOf): string | undefined {
  const { at, process } = facts
  const isAccepted = acceptedBy(process)
  const lost = (facts.gaps ?? []).filter(each => each.lostToday > 0 && !isAccepted(each))
  const [worst] = lost.toSorted((a, b) => b.lostToday - a.lostToday)
  if (worst) {
    const all = sum(lost.map(({ lostToday }) => lostToday))
    const rest = all - worst.lostToday
    // What was lost stays so for a day: what is wrong now must not hide behind it.
    const [delay] = delaysOf(facts, pauseOf)
    return sentenceOf(
      `Data was lost within the last 24 hours: ${countOf(worst.lostToday, 'range')} of ${named(facts, worst)} (${lossTexts[worst.reason] ?? worst.reason})`,
      [
        ...(rest > 0 ? [`${countOf(rest, 'more range')} of other streams or for other reasons`] : []),
        ...(delay ? [`now ${inSentence(delay.text)}`] : []),
      ],
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

function whyBehind(facts: Known, pauseOf: PauseOf): string | undefined {
  const delays = delaysOf(facts, pauseOf)
  const [worst] = delays
  if (!worst) return undefined
  const apps = new Set(delays.map(({ app }) => app)).size
  const all = facts.known.size
  const others = apps < all ? [`${apps} of ${countOf(all, 'app')} behind, the others drain normally`] : []
  return sentenceOf(worst.text, [...others, ...consequences(facts)])
}

function whyStarting({ at, process, owners }: Facts): string | undefined {
  if (!process || secondsFrom(process.startedAt, at) >= startPatience) return undefined
  if (process.reading.some(({ readAt }) => readAt !== null)) return undefined
  const others = owners?.filter(({ owner }) => owner !== process.owner) ?? []
  const isOthers = others.length > 0 && (process.apps.length === 0 || others.length === owners?.length)
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

/** The stream that has failed the longest, as words. */
function longestSilence({ reading }: ProcessStatus, at: string): string | undefined {
  const [first] = reading
    .flatMap(({ stream, failing }) => (failing ? [{ stream, since: failing.since }] : []))
    .toSorted((a, b) => a.since.localeCompare(b.since))
  return first && `${first.stream} ${duration(secondsFrom(first.since, at))} behind`
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

function inSentence(text: string): string {
  return text.replace(/^(The|Every|Nothing)\b/, word => word.toLowerCase())
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
