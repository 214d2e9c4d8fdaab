import type { RangeLimits } from './windows.ts'

/** What a config asks of one limit group of an app, and what the plan allows: the input of a forecast. */
export interface GroupFacts {
  readonly group: string
  readonly limits: GroupLimits
  /** The same group in the plans above, the nearest first. */
  readonly higher: readonly GroupLimits[]
  /** Apps that count against the same counter, this one included. */
  readonly sharers: number
  /** Streams that ask for each call in the order in which they need each other. */
  readonly streams: readonly StreamFacts[]
  /** What the operator expects; without it nothing is said about how many calls there will be. */
  readonly expected: ExpectedCalls | undefined
}

export interface GroupLimits extends RangeLimits {
  /** Name of the plan. */
  readonly plan: string
  /** Requests in any `window` seconds. */
  readonly rates: readonly { readonly requests: number; readonly window: number }[]
}

export type StreamFacts = WindowFacts | DetailFacts

/** Series of a window stream that are cut alike; a stream with several granularities is several of these. */
export interface WindowFacts {
  readonly kind: 'windows'
  readonly stream: string
  /** Word for the step, where the stream has several. */
  readonly granularity?: string
  /** How many questions are asked over the same ranges. */
  readonly series: number
  /** How many each channel takes besides, where live channels are asked for. */
  readonly perChannel?: number
  /** Seconds that a value stands for; 1 where items have any time. */
  readonly step: number
  /** How often the newest data are asked for, seconds. */
  readonly every: number
  /** How long a range may still change, seconds. */
  readonly allowedLateness: number
  /** Calls of one page, where an answer lists calls and comes in pages. */
  readonly pageSize?: number
}

/** A stream that asks for each call, slice by slice. */
export interface DetailFacts {
  readonly kind: 'details'
  readonly stream: string
  /** User sessions of one request. */
  readonly batch: number
  /** It asks for one call in so many. */
  readonly everyNth: number
  /** What shows that a page is the last: that it is not full, that it is empty, or that their number is known. */
  readonly end: 'short-page' | 'empty-page' | 'known'
}

export interface ExpectedCalls {
  readonly callsPerDay: number
  readonly usersPerCall: number
  readonly callMinutes: number
}

export function windowsOf({ streams }: GroupFacts): readonly WindowFacts[] {
  return streams.filter(stream => stream.kind === 'windows')
}

/** Requests a day that are left to one app. */
export function allowedPerDay({ limits, sharers }: GroupFacts): number {
  const perDay = limits.rates.map(({ requests, window }) => (requests * 86_400) / window)
  return Math.floor(Math.min(...perDay) / Math.max(1, sharers))
}
