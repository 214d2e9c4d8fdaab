import type { WirePage } from './players-wire.ts'

/** A moment at which something was said and then stored, ms since the epoch. */
export interface Heard {
  /** When the request arrived at the provider. */
  readonly arrived: number
  /** When the answer was committed. */
  readonly committed: number
}

/** What the answers that were committed said of a player. */
export interface Known {
  readonly first: Heard
  last: Heard
  /** Fields that any entry ever showed. */
  readonly shown: Set<string>
  /** The status as it changed from entry to entry. */
  readonly statuses: (Heard & { readonly to: string })[]
  /** Complete readings without it since it was last listed, the first few of them. */
  missing: Absence[]
}

export interface Absence extends Heard {
  /** `certain`: all pages agree with each other; `possible`: only the last one with what was listed. */
  readonly reading: 'certain' | 'possible'
}

/** How many absences decide everything that can be decided. */
const enough = 4

/** What a client that heard these pages can know of the players of one app. Knows no world and no database. */
export class PlayersModel {
  readonly players = new Map<string, Known>()
  /** Complete readings. */
  complete = 0
  #reading:
    | { readonly ids: Set<string>; readonly totals: (number | undefined)[]; next: string | undefined }
    | undefined

  /** Takes a page that was committed, in the order of the commits. */
  hear({ cursor, entries, total, next, arrived }: WirePage, committed: number): void {
    const heard = { arrived, committed }
    for (const { id, status, shown } of entries) this.#see(id, status, shown, heard)
    const reading =
      cursor === null
        ? { ids: new Set<string>(), totals: [], next }
        : this.#reading?.next === cursor
          ? this.#reading
          : undefined
    this.#reading = reading
    if (!reading) return
    for (const { id } of entries) reading.ids.add(id)
    reading.totals.push(total)
    reading.next = next
    if (next === '' || next === cursor) this.#end(reading, heard)
  }

  #see(id: string, status: string | undefined, shown: readonly string[], heard: Heard): void {
    const known = this.players.get(id) ?? {
      ...{ first: heard, last: heard, shown: new Set<string>() },
      ...{ statuses: [], missing: [] },
    }
    this.players.set(id, known)
    known.last = heard
    known.missing = []
    for (const field of shown) known.shown.add(field)
    if (status !== undefined && status !== known.statuses.at(-1)?.to) {
      known.statuses.push({ ...heard, to: status })
    }
  }

  #end(
    { ids, totals }: { readonly ids: ReadonlySet<string>; readonly totals: readonly unknown[] },
    heard: Heard,
  ) {
    this.#reading = undefined
    if (totals.at(-1) !== ids.size) return
    this.complete += 1
    const reading = totals.every(total => total === ids.size) ? 'certain' : 'possible'
    for (const [id, { missing }] of this.players) {
      if (!ids.has(id) && missing.length < enough) missing.push({ ...heard, reading })
    }
  }
}
