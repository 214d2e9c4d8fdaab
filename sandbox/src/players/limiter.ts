import { type PlayerGroup, playerRates } from '../../../src/provider/players/index.ts'
import { type Reading, Tally } from '../request-count.ts'
import type { Switches } from '../switches.ts'
import type { ViolationKind } from '../violations.ts'

/** A request in the eyes of whoever counts it. */
export interface Counted {
  readonly app: string
  /** Key of the credential. */
  readonly key: string
  readonly operation: string
  /** Of a player that is to be made. */
  readonly isNamed: boolean
  /** Of a list. */
  readonly filter: string | undefined
  /** Unix milliseconds of the clock, never falling. */
  readonly time: number
}

export interface Ruling {
  /** Whether it is refused, by the one reading that the switches name. */
  readonly isRefused: boolean
  /** Limits that the request breaks in any reading. */
  readonly broken: readonly ViolationKind[]
}

const readings: readonly Reading[] = ['sliding', 'fixed']

/** Counts each request as it arrives, refused or not, in seconds and minutes of either kind. */
export class PlayerLimiter {
  readonly #switches: Switches
  readonly #tallies = new Map<string, Tally>()

  constructor(switches: Switches) {
    this.#switches = switches
  }

  /** Request by request, in the order of arrival. */
  rule(counted: Counted): Ruling {
    const { countersPer, limiter } = this.#switches
    const { group, counter } = this.#groupOf(counted)
    const holder = countersPer === 'app' ? `app ${counted.app}` : `key ${counted.key}`
    const tally = this.#tally(`${holder} ${group} ${counter}`)
    tally.add(counted.time)
    const beyond = readings.flatMap(reading =>
      playerRates[group]
        .filter(({ requests, window }) => tally.isBeyond(requests, window * 1_000, reading))
        .map(({ window }) => ({ reading, window })),
    )
    return {
      isRefused: beyond.some(({ reading }) => reading === limiter),
      broken: beyond.map(({ reading, window }): ViolationKind => {
        return `players-${window < 60 ? 'second' : 'minute'}-${reading}`
      }),
    }
  }

  /** Whose limits hold for a request, and with which others it is counted. */
  #groupOf({ operation, isNamed, filter }: Counted): {
    readonly group: PlayerGroup
    readonly counter: string
  } {
    const isSplit = this.#switches.playerLimits === 'split'
    if (operation === 'deletePlayer') return { group: 'players-delete', counter: '' }
    if (operation === 'createPlayer') {
      return { group: isSplit && !isNamed ? 'players-create-unnamed' : 'players-create', counter: '' }
    }
    if (!isSplit) return { group: 'players-list', counter: '' }
    return filter === undefined
      ? { group: 'players-list-all', counter: '' }
      : { group: 'players-list', counter: filter }
  }

  #tally(name: string): Tally {
    const tally = this.#tallies.get(name) ?? new Tally()
    this.#tallies.set(name, tally)
    return tally
  }
}
