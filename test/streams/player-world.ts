import fc from 'fast-check'
import type { RowSet } from '../../src/tables/index.ts'

/** An entry of a list: what it does not say is absent. */
export interface Entry {
  readonly id: string
  readonly name?: string
  readonly status?: string
  readonly createTs?: number
}

/** One listing as the provider served it. */
export interface Listed {
  /** Seconds since the listing before. */
  readonly after: number
  readonly pages: readonly (readonly Entry[])[]
  /** What each page says that there are in all is right only when this is 0. */
  readonly off: number
  /** Pages that were read before it broke off; more than there are: all. */
  readonly read: number
}

export const begin = 1_767_225_600
const ids = ['p1', 'p2', 'p3', 'p4', 'p5'] as const
const often = fc.nat(9).map(n => n > 0)

/** Players are created 20, 15, 10, 5 and 0 seconds before the first listing. */
function createdAt(id: string): number {
  return begin - 5 * (5 - Number(id.slice(1)))
}

const entry = (id: string): fc.Arbitrary<Entry> =>
  fc.oneof(
    fc.constant({ id, createTs: createdAt(id) }),
    fc.record({
      id: fc.constant(id),
      createTs: fc.constant(createdAt(id)),
      name: fc.constantFrom('a', 'b'),
      status: fc.constantFrom('idle', 'connecting', 'running', 'failed'),
    }),
  )

/** Some of the players in any order; one that slips from page to page comes twice. */
const entries = fc
  .shuffledSubarray([...ids, ...ids], { minLength: 0 })
  .chain(some => fc.tuple(...some.map(entry)) as fc.Arbitrary<readonly Entry[]>)

export const listed: fc.Arbitrary<Listed> = fc.record({
  after: fc.constantFrom(3, 6, 15),
  pages: fc.tuple(entries, fc.array(fc.nat(10), { maxLength: 3 })).map(([all, cuts]) => cut(all, cuts)),
  off: often.map(isRight => (isRight ? 0 : 1)),
  read: often.chain(isWhole => (isWhole ? fc.constant(99) : fc.nat(2))),
})

function cut(all: readonly Entry[], cuts: readonly number[]): readonly (readonly Entry[])[] {
  const bounds = [0, ...cuts.filter(at => at < all.length).toSorted((a, b) => a - b), all.length]
  return bounds.slice(1).map((end, i) => all.slice(bounds[i], end))
}

/** What one page says of a player, however often it names it. */
function together(entries: readonly Entry[]): readonly Entry[] {
  return entries.length === 0 ? [] : [Object.assign({}, ...entries) as Entry]
}

export interface Known {
  readonly name: string | null
  readonly status: string | null
  readonly destroyed: boolean
  /** Every status that it came to. */
  readonly history: readonly string[]
}

/**
 * What is to be known of one player in the end, told from all that was read about it: the answer is looked for from
 * the end of time backwards, not remembered from page to page.
 */
export function expected(id: string, listings: readonly Listed[]): Known | undefined {
  let now = begin
  const events = listings.flatMap(({ after, pages, off, read }): (Entry | { lacked: number })[] => {
    now += after
    const isComplete = read >= pages.length && off === 0
    const own = pages.slice(0, read).flatMap(page => together(page.filter(each => each.id === id)))
    return own.length > 0 ? own : isComplete ? [{ lacked: now }] : []
  })
  const first = events.findIndex(event => 'id' in event)
  if (first < 0) return undefined
  const history: string[] = []
  let status: string | null = null
  for (const [i, event] of events.entries()) {
    if (i < first) continue
    const earlier = events[i - 1]
    const isGone =
      'lacked' in event &&
      earlier !== undefined &&
      'lacked' in earlier &&
      i - 1 >= first &&
      // Of who was created so lately a list need not tell.
      earlier.lacked - createdAt(id) > 10
    const next: string | null = isGone
      ? 'destroyed'
      : 'lacked' in event
        ? status
        : (event.status ?? (status === 'destroyed' ? null : status))
    if (next !== null && next !== status) history.push(next)
    status = next
  }
  const said = events.filter(event => 'id' in event)
  return {
    name: said.findLast(({ name }) => name !== undefined)?.name ?? null,
    status,
    destroyed: status === 'destroyed',
    history,
  }
}

/** The tables as the database keeps them: what a row leaves open stays, and a key of the history is kept once. */
export class Tables {
  readonly #players = new Map<string, { name: string | null; status: string | null; destroyed: boolean }>()
  readonly #history = new Map<string, Map<string, string>>()

  apply(rows: RowSet): void {
    for (const change of rows['players.cloud_player_change'] ?? []) {
      if (change.to_status === this.#players.get(change.player_id)?.status) continue
      const own = this.#history.get(change.player_id) ?? new Map<string, string>()
      this.#history.set(change.player_id, own.set(`${own.size} ${change.changed_at}`, change.to_status))
    }
    for (const row of rows['players.cloud_player'] ?? []) {
      const known = this.#players.get(row.player_id)
      const isBack = known?.destroyed === true && row.destroyed_at === null
      this.#players.set(row.player_id, {
        name: row.name ?? known?.name ?? null,
        status: row.status ?? (isBack ? null : (known?.status ?? null)),
        destroyed: row.destroyed_at !== null,
      })
    }
  }

  of(id: string): Known | undefined {
    const known = this.#players.get(id)
    return known && { ...known, history: [...(this.#history.get(id)?.values() ?? [])] }
  }
}

export const playerIds: readonly string[] = ids
