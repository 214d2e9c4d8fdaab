import { breaksRule, spentNextId } from './refusal.ts'
import type { Switches } from './switches.ts'
import type { Room } from './world.ts'

export interface Page<Item> {
  readonly total: number
  readonly count: number
  /** Null where the listing ends. */
  readonly nextId: string | number | null
  readonly list: readonly Item[]
}

export interface PageRequest {
  readonly nextId: string | undefined
  readonly most: number
  /** Names the same page again instead of the next one. */
  readonly loops: boolean
}

/** Readings of one listing that have begun and not ended. */
interface Readings {
  last: number
  readonly open: Set<number>
}

/** Readings that were given up are forgotten beyond this number. */
const mostOpen = 64
const positions = 10_000_000
/** Added to a position where the page without items before it was served. */
const behindEmpty = positions / 2

interface Entered {
  readonly reading: number
  readonly position: number
  readonly isBehindEmpty: boolean
}

/**
 * Cuts listings into pages. A nextId holds a position and, where it is refused once its listing has ended,
 * the reading it belongs to. Where it stays valid, the last one leads to the last page and what came since.
 */
export class Pager {
  readonly #switches: Switches
  readonly #readings = new WeakMap<Room, Map<string, Readings>>()

  constructor(switches: Switches) {
    this.#switches = switches
  }

  page<Item>(room: Room, listing: string, items: readonly Item[], request: PageRequest): Page<Item> {
    const readings = this.#readingsOf(room, listing)
    const { reading, position, isBehindEmpty } = this.#enter(readings, request.nextId)
    if (
      this.#switches.emptyPages === 'between' &&
      position > 0 &&
      position < items.length &&
      !isBehindEmpty
    ) {
      const nextId = this.#ticket(reading * positions + position + behindEmpty)
      return { total: items.length, count: 0, nextId, list: [] }
    }
    const list = items.slice(position, position + request.most)
    const end = position + list.length
    const hasMore = end < items.length || this.#switches.logEnd === 'same'
    const next = request.loops ? position : hasMore ? end : undefined
    if (next === undefined || (list.length === 0 && request.nextId !== undefined))
      readings.open.delete(reading)
    const nextId = next === undefined ? null : this.#ticket(reading * positions + next)
    return { total: items.length, count: list.length, nextId, list }
  }

  #enter(readings: Readings, nextId: string | undefined): Entered {
    if (nextId === undefined) return { reading: this.#begin(readings), position: 0, isBehindEmpty: false }
    const ticket = this.#number(nextId)
    const reading = Math.floor(ticket / positions)
    if (this.#switches.tail === 'refused' && !readings.open.has(reading)) throw spentNextId()
    const place = ticket % positions
    return { reading, position: place % behindEmpty, isBehindEmpty: place >= behindEmpty }
  }

  #begin(readings: Readings): number {
    if (this.#switches.tail === 'valid') return 0
    const reading = ++readings.last
    readings.open.add(reading)
    readings.open.delete(reading - mostOpen)
    return reading
  }

  #ticket(number: number): string | number {
    return this.#switches.nextIdType === 'number' ? number : `n${number.toString(36)}`
  }

  #number(ticket: string): number {
    const { nextIdType } = this.#switches
    const isTicket = nextIdType === 'number' ? /^\d{1,15}$/ : /^n[0-9a-z]{1,9}$/
    if (!isTicket.test(ticket)) throw breaksRule('nextId is not one of ours')
    return nextIdType === 'number' ? Number(ticket) : Number.parseInt(ticket.slice(1), 36)
  }

  #readingsOf(room: Room, listing: string): Readings {
    const ofRoom = this.#readings.get(room) ?? new Map<string, Readings>()
    this.#readings.set(room, ofRoom)
    const readings = ofRoom.get(listing) ?? { last: 0, open: new Set<number>() }
    ofRoom.set(listing, readings)
    return readings
  }
}
