import { allowanceOf } from './contract.ts'
import type { Examination } from './examination.ts'
import { promisedSeries, type Series } from './promised.ts'

/** The margins that the documents of the program tell of, seconds. */
export const margins = {
  /** Two clocks that are told to the second. */
  clock: 2,
  /**
   * A first start goes back so much less than the reach, and by one round of its limit group at its fastest, of which
   * this share of a day's requests goes at once, and the rest at a little under half of the pace of the day.
   */
  firstStart: 60,
  atOnce: 0.4,
  restOfPace: 0.4,
  /** Questions keep this from the reach, and this where the provider has not told the time. */
  question: 15,
  unknownClock: 120,
  /** What leaves the reach is in the ledger within this, while there is anything to ask. */
  notice: 900,
  /** How often the newest values of real time are asked for. */
  realtimeRound: 300,
  /** So long after its end a range is searched again for calls that turn up late, unless an operator says otherwise. */
  callLateness: 3_600,
  /** Most of a pause after a fault, as a share of what is available; the same of what is not served at once. */
  pause: 0.1,
  repair: 0.25,
  /** Share of what is available that must be open for what cannot be read to be told from what is beside it. */
  parted: 0.85,
  /** A refusal tells no number: half of what is available is found in five steps, and twice the delay in three. */
  lessons: 8,
} as const

/** All that a credential's series of a group ask in turn. */
function roundOf(examination: Examination, { app, operation, stream }: Series): readonly Series[] {
  const { settings } = examination.sandbox
  const keyOf = (id: string) => settings.apps.find(one => one.id === id)?.rest?.key ?? id
  const isJoint = examination.counters !== 'split'
  return promisedSeries(examination).filter(other => {
    const isOfGroup = isJoint ? familyOf(other.stream) === familyOf(stream) : other.operation === operation
    return isOfGroup && keyOf(other.app) === keyOf(app)
  })
}

function familyOf(stream: Series['stream']): string {
  return stream.startsWith('realtime') ? 'realtime' : stream
}

/** How long one round takes at the rate of a window of that length, seconds; at the strictest of the plans that share it. */
function roundAt(examination: Examination, series: Series, window: 60 | 86_400): number {
  const members = roundOf(examination, series)
  return (members.length * window) / mostIn(examination, members, window)
}

function mostIn(examination: Examination, members: readonly Series[], window: 60 | 86_400): number {
  const [series] = members as [Series]
  const group = familyOf(series.stream) as Parameters<typeof allowanceOf>[0]
  const plans = examination.apps.filter(({ id }) => members.some(({ app }) => app === id))
  const rates = plans.flatMap(({ plan }) => allowanceOf(group, plan)?.rates ?? [])
  return Math.min(...rates.filter(rate => rate.window === window).map(({ requests }) => requests))
}

/** Unix seconds from which on all of a series is owed: it was within the reach, and there was time to ask for it. */
export function owedFrom(examination: Examination, series: Series): number {
  const { firstStart, question, unknownClock } = margins
  const lead =
    firstStart + question + unknownClock + roundAt(examination, series, 60) + waitOf(examination, series) + 30
  return (
    examination.start / 1_000 -
    series.allowance.availableData +
    lead +
    aheadAtStart(examination) +
    series.step
  )
}

/** A machine whose clock is ahead begins so much later, seconds: nobody has told it the time yet. */
function aheadAtStart({ clocks = [], start }: Examination): number {
  return Math.max(0, ...clocks.filter(({ from }) => from <= start + 1_000).map(({ ahead }) => ahead)) / 1_000
}

/** In how many seconds a first round is over, for what of it does not go at once. */
function waitOf(examination: Examination, series: Series): number {
  const members = roundOf(examination, series)
  const daily = mostIn(examination, members, 86_400)
  const later = Math.max(0, members.length - Math.floor(daily * margins.atOnce))
  return (later * 86_400) / (daily * margins.restOfPace)
}

/** In how many seconds each series is asked once at an even pace. */
export function evenRound(examination: Examination, series: Series): number {
  return roundAt(examination, series, 86_400)
}

/** At an even pace, seconds in which a project finds out what an hour serves, where others take turns with it. */
export function secondsOfLessons(examination: Examination, series: Series): number {
  const members = roundOf(examination, series)
  const sharing = new Set(members.map(({ app }) => app)).size
  return (margins.lessons * sharing * 86_400) / mostIn(examination, members, 86_400)
}

/** A hole is looked at for so long, ms, before it is taken to be natural. */
export const mostReadAgain = 60_000

/** Whether the log of a room tells an event so late that nobody waits for it. */
export function isToldTooLate({
  at,
  loggedFrom = at,
}: {
  readonly at: number
  readonly loggedFrom?: number
}) {
  return loggedFrom > at + mostReadAgain
}
