import { z } from 'zod'
import type { Page } from '../stream.ts'

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
export const mostListed = 20_000

/**
 * Goes on with a listing by one page that names `ids`. Only the first page begins one: a page that does not follow
 * the last one that was stored belongs to a listing that broke off. It is complete when no page follows and as many
 * different IDs were named as it says that there are.
 */
export function readOn(before: Listing | null, page: Page, ids: readonly string[]): Progress {
  const begun = page.cursor === null ? { seen: [], total: null } : before
  const follows = page.cursor === null || before?.next === page.cursor
  const seen = new Set([...(begun && follows ? begun.seen : []), ...ids])
  if (!begun || !follows || seen.size > mostListed) return { seen, state: 'torn', listing: null }
  const total = page.total ?? begun.total
  if (page.nextId !== undefined) {
    return { seen, state: 'under way', listing: { next: page.nextId, seen: [...seen], total } }
  }
  return { seen, state: seen.size === total ? 'complete' : 'incomplete', listing: null }
}
