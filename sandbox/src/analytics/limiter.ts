import type { AnalyticsGroup, LimitMessage } from '../../../src/provider/analytics/index.ts'
import type { Rate } from '../../../src/provider/limits.ts'
import { type Reading, Tally } from '../request-count.ts'
import type { Switches } from '../switches.ts'
import type { ViolationKind } from '../violations.ts'

/** A request in the eyes of whoever counts it. */
export interface Counted {
  readonly app: string
  /** Key of the credential. */
  readonly key: string
  readonly operation: string
  readonly group: AnalyticsGroup
  /** What the plan of the app allows. */
  readonly rates: readonly Rate[]
  /** Unix milliseconds of the clock, never falling. */
  readonly time: number
}

export interface Ruling {
  /** The message of the refusal, by the one reading that the switches name. */
  readonly refusal: LimitMessage | undefined
  /** Limits that the request breaks in any reading. */
  readonly broken: readonly ViolationKind[]
}

type Length = 'second' | 'minute' | 'day'

const kinds: Readonly<Record<Length, Readonly<Record<Reading, ViolationKind>>>> = {
  second: { sliding: 'second-sliding', fixed: 'second-fixed' },
  minute: { sliding: 'minute-sliding', fixed: 'minute-fixed' },
  day: { sliding: 'day-rolling', fixed: 'day-utc' },
}

/**
 * Counts each request as it arrives, refused or not, twice over: as the provider of the switches does, which
 * refuses by it, and in the strictest way that the document allows, with the endpoints that may share a counter
 * and the apps of a credential together.
 */
export class Limiter {
  readonly #switches: Switches
  readonly #tallies = new Map<string, Tally>()

  constructor(switches: Switches) {
    this.#switches = switches
  }

  /** Request by request, in the order of arrival. */
  rule(counted: Counted): Ruling {
    const { rates, time } = counted
    const { counters, countersPer, limiter, day } = this.#switches
    const strict = this.#tally(`strict ${counted.key} ${counted.group}`)
    const holder = countersPer === 'app' ? `app ${counted.app}` : `key ${counted.key}`
    const own = this.#tally(`${holder} ${counters === 'separate' ? counted.operation : counted.group}`)
    strict.add(time)
    own.add(time)
    const refusing = rates.find(({ requests, window }) => {
      const dayReading: Reading = day === 'rolling' ? 'sliding' : 'fixed'
      return own.isBeyond(requests, window * 1_000, lengthOf(window) === 'day' ? dayReading : limiter)
    })
    const broken = rates.flatMap(({ requests, window }) => {
      const readings: readonly Reading[] = ['sliding', 'fixed']
      return readings
        .filter(reading => strict.isBeyond(requests, window * 1_000, reading))
        .map(reading => kinds[lengthOf(window)][reading])
    })
    return { refusal: refusing && messageOf(refusing), broken }
  }

  #tally(name: string): Tally {
    const tally = this.#tallies.get(name) ?? new Tally()
    this.#tallies.set(name, tally)
    return tally
  }
}

/** By its length in seconds, which a deployment may have changed. */
function lengthOf(window: number): Length {
  if (window < 60) return 'second'
  return window < 86_400 ? 'minute' : 'day'
}

/** Whatever is shorter than a day goes by the one message that speaks of frequency. */
function messageOf({ window }: Rate): LimitMessage {
  return lengthOf(window) === 'day' ? 'qpd limit error' : 'qps limit error'
}
