import { z } from 'zod'
import { blindSeconds } from '../../provider/players/index.ts'
import type { Page } from '../page.ts'

/** A listing under way, between two of its pages. */
export const Listing = z.object({
  /** nextId that its next page is asked with. */
  next: z.string(),
  /** IDs on its pages so far. */
  seen: z.array(z.string()).readonly(),
  /** How many there are in all, as the last page that said so has it. */
  total: z.number().nullable(),
})
export type Listing = z.infer<typeof Listing>

/** What a listing has shown up to the end of one page. */
export interface Progress {
  readonly seen: ReadonlySet<string>
  /** `torn`: some of its pages were never read, so that it proves nothing. */
  readonly state: 'under way' | 'complete' | 'incomplete' | 'torn'
  /** For the next page; null where none follows, or where it could prove nothing. */
  readonly listing: Listing | null
}

/** A listing of more than this is not counted: no project is granted so many players. */
const mostListed = 20_000

/**
 * Goes on with a listing by one page that names `ids`. Only the first page begins one: a page that does not follow
 * the last one that was stored belongs to a listing that broke off. It is complete when no page follows and as many
 * different IDs were named as it says that there are.
 */
export function readOn(before: Listing | null, page: Page, ids: readonly string[]): Progress {
  const begun = page.cursor === null ? { seen: [], total: null } : before
  const follows = page.cursor === null || before?.next === page.cursor
  const seen = new Set([...(begun && follows ? begun.seen : []), ...ids])
  if (!begun || !follows || page.looping || seen.size > mostListed)
    return { seen, state: 'torn', listing: null }
  const total = page.total ?? begun.total
  if (page.nextId !== undefined) {
    return { seen, state: 'under way', listing: { next: page.nextId, seen: [...seen], total } }
  }
  return { seen, state: seen.size === total ? 'complete' : 'incomplete', listing: null }
}

/** ms since the epoch */
const ourTime = z.int().min(0).max(253_402_300_799_999)

/** What is remembered of a player while it lives, and for one listing longer. */
const Player = z.object({
  id: z.string(),
  /** As last listed; null while no entry told it. */
  status: z.string().nullable(),
  /** When it was created, else first seen, Unix seconds. */
  since: z.number(),
  /** How many complete listings in a row lacked it, and when the first of them ended, ms since the epoch. */
  missed: z.object({ lists: z.int(), at: ourTime }).nullable(),
  /** When its last change is said to have been shown, ms since the epoch; null while it has none. */
  changedAt: ourTime.nullable().default(null),
})
export type Player = z.infer<typeof Player>

/** The players of a project between two pages. */
export const KnownPlayers = z.object({
  players: z.array(Player).readonly().default([]),
  listing: Listing.nullable().default(null),
})
export type KnownPlayers = z.infer<typeof KnownPlayers>

/** The status of a player that is gone. */
export const destroyed = 'destroyed'

/** A player that so many complete listings in a row lacked is gone. */
const listsUntilDestroyed = 2

/** What one page names. */
export interface Sighting {
  readonly id: string
  /** Undefined of an entry that does not tell it. */
  readonly status: string | undefined
  /** Unix seconds. */
  readonly since: number | undefined
}

export interface Change {
  readonly id: string
  readonly from: string | null
  readonly to: string
  /** When a page first showed it; of a player that is gone, when it was first known to be missing; ms since the epoch. */
  readonly at: number
}

export interface Moment {
  /** The provider's clock, Unix seconds. */
  readonly now: number
  /** Our clock, ms since the epoch. */
  readonly receivedAt: number
}

export interface Seen {
  readonly players: ReadonlyMap<string, Player>
  readonly changes: readonly Change[]
  /** Players of which a page told where they play for the first time, as far as is remembered. */
  readonly fresh: ReadonlySet<string>
}

/** Our clock, but after the last change: machines whose clocks differ take turns with the list, and one may be set back. */
function afterLast(known: Player | undefined, { receivedAt }: Moment): number {
  return Math.max(receivedAt, (known?.changedAt ?? -1) + 1)
}

/** Who is seen is not missing. A status that an entry leaves out is as it was, unless the player had been gone. */
export function see(before: readonly Player[], sightings: readonly Sighting[], moment: Moment): Seen {
  const players = new Map(before.map(player => [player.id, player]))
  const changes: Change[] = []
  const fresh = new Set<string>()
  for (const { id, status, since } of sightings) {
    const known = players.get(id)
    const from = known?.status ?? null
    const kept = from === destroyed ? null : from
    const at = afterLast(known, moment)
    const hasChanged = status !== undefined && status !== from
    players.set(id, {
      id,
      status: status ?? kept,
      since: since ?? known?.since ?? moment.now,
      changedAt: hasChanged ? at : (known?.changedAt ?? null),
      missed: null,
    })
    if (hasChanged) changes.push({ id, from, to: status, at })
    if (!known || (from === null && status !== undefined)) fresh.add(id)
  }
  return { players, changes, fresh }
}

interface Missed {
  readonly players: readonly Player[]
  readonly losses: readonly Change[]
}

/**
 * Counts who is missing from a complete listing. Of a player that was created so lately that it may be invisible it says nothing.
 * One that is gone is told once more by the next complete listing before it is forgotten, so that it is not lost with
 * a page of which Postgres refused an entry.
 */
export function miss(seen: Seen['players'], { state, ...progress }: Progress, moment: Moment): Missed {
  const all = [...seen.values()]
  if (state !== 'complete') return { players: bounded(all, progress.seen), losses: [] }
  const players: Player[] = []
  const losses: Change[] = []
  for (const player of all) {
    if (progress.seen.has(player.id) || moment.now - player.since <= blindSeconds) {
      players.push(player)
      continue
    }
    const missed = {
      lists: (player.missed?.lists ?? 0) + 1,
      at: player.missed?.at ?? afterLast(player, moment),
    }
    const isGone = missed.lists >= listsUntilDestroyed
    const isTold = player.status === destroyed
    if (isGone)
      losses.push({ id: player.id, from: isTold ? null : player.status, to: destroyed, at: missed.at })
    if (isTold) continue
    players.push({ ...player, ...(isGone && { status: destroyed, changedAt: missed.at }), missed })
  }
  return { players: bounded(players, progress.seen), losses }
}

/** Where listings are never complete, players that are long gone are not remembered without end. */
function bounded(players: readonly Player[], seen: ReadonlySet<string>): readonly Player[] {
  if (players.length <= mostListed) return players
  return players.toSorted((a, b) => Number(seen.has(b.id)) - Number(seen.has(a.id))).slice(0, mostListed)
}
