import { allowedPerDay, type GroupFacts, windowsOf } from './forecast-facts.ts'
import { forecastWindows, sum } from './forecast-streams.ts'

/** Channels whose real time is asked for while a room or call goes on in them: how many the budget has room for. */
export interface LiveForecast {
  /** At a time. */
  readonly channels: number
  /** Questions of one channel. */
  readonly series: number
  /** Requests a day that one channel takes, where one after the other goes on all day. */
  readonly perChannel: number
  /** Requests a day that are left to all of them, and that so many take. */
  readonly left: number
  readonly taken: number
  /** How often each question is asked at least, seconds. */
  readonly every: number
}

/** A channel, and when the last room or call in it ended, Unix seconds; null while one goes on. */
export interface LiveChannel {
  readonly channel: string
  readonly endedAt: number | null
}

/**
 * A question about a channel waits until this share of what can be had is behind it; then it goes before the questions
 * about the whole project, so that nothing of it is lost.
 */
export const LIVE_PATIENCE = 0.7

/** What is kept for the questions that wait their turn then, as a share of what can be had. */
const TURN_SHARE = 0.05

/** Of the budget the whole project keeps so much where its interval wishes more than that. */
const PROJECT_SHARE = 0.5

/** Memory and progress are kept for no more, whatever the budget. */
const MOST_CHANNELS = 100

/** How many channels a limit group has room for; undefined where no stream of it asks for live ones. */
export function forecastLive(facts: GroupFacts): LiveForecast | undefined {
  const windows = windowsOf(facts)
  const series = sum(windows.map(({ perChannel = 0 }) => perChannel))
  if (series === 0) return undefined
  const allowed = allowedPerDay(facts)
  const project = forecastWindows(facts, windows, allowed)
  const wished = sum(project.map(each => each.wished))
  const least = sum(project.map(each => each.least))
  const left = Math.max(0, Math.floor(allowed - Math.max(least, Math.min(wished, allowed * PROJECT_SHARE))))
  const reachable = Math.min(...project.map(each => each.reachable))
  const every = reachable * (LIVE_PATIENCE + TURN_SHARE)
  const perChannel = every > 0 ? (series * 86_400) / every : Number.POSITIVE_INFINITY
  const channels = Math.min(MOST_CHANNELS, Math.floor(left / perChannel))
  const taken = channels > 0 ? Math.ceil(channels * perChannel) : 0
  return { channels, series, perChannel, left, taken, every }
}

/**
 * The channels to ask about from now on: those that are asked about already stay while they are listed, so that their
 * series have few holes; places that are free go to those that go on, in the order in which they are listed.
 */
export function chooseLive(
  listed: readonly LiveChannel[],
  isAsked: (channel: string) => boolean,
  most: number,
): readonly LiveChannel[] {
  const kept = listed.filter(({ channel }) => isAsked(channel))
  const others = listed.filter(each => each.endedAt === null && !isAsked(each.channel))
  return [...kept, ...others].slice(0, most)
}
