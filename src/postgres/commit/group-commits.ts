import type pg from 'pg'
import type { CommitResult, PageCommit } from '../../engine/ports.ts'
import { CopyRoom } from './copy-in.ts'
import type { GroupPage, GroupSettings } from './group-pages.ts'
import { carefully, commitTogether, type GroupResult } from './group-transaction.ts'

/** When pages go together. */
export interface Grouping {
  /** Fewer than so many go by themselves: that is one round trip, and a group is many. */
  readonly least: number
  /** Groups of an app that are written at one time: while one is committed, the other is made. */
  readonly writers: number
}

const usualGrouping: Grouping = { least: 2, writers: 2 }

/** Pages and rows of a group at most. */
const MOST_PAGES = 64
const MOST_ROWS = 20_000

/** Rooms of COPY that are kept for the next groups, of all apps, and bytes of each at most. */
const MOST_ROOMS = 2
const KEPT_BYTES = 4_194_304

/** After a group that was cut off so many pages go by themselves: where each answer takes long, a transaction takes longest. */
const PAGES_ALONE = 64

interface Waiting extends GroupPage {
  /** Commits the page by itself, in one statement. */
  readonly alone: () => Promise<CommitResult>
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

interface Line {
  waiting: Waiting[]
  writers: number
  /** Those beside which nothing is written, in the order in which they came. */
  readonly sole: (() => Promise<void>)[]
  isSole: boolean
  /** How many pages do not wait for a group. */
  alone: number
}

/**
 * Commits what waits together, in one transaction. Nobody waits for others to come: a page that finds a writer free goes at
 * once and by itself, so that groups are made of what came while both were busy.
 */
export class GroupCommits {
  readonly #pool: pg.Pool
  readonly #settings: GroupSettings
  readonly #grouping: Grouping
  /** Of each app, by who writes for it. */
  readonly #lines = new Map<string, Line>()
  readonly #copyRooms: CopyRoom[] = []

  constructor(pool: pg.Pool, settings: GroupSettings, grouping = usualGrouping) {
    this.#pool = pool
    this.#settings = settings
    this.#grouping = grouping
  }

  /** Throws as `alone` does. */
  add(one: GroupPage, alone: Waiting['alone']): Promise<CommitResult> {
    const [key, line] = this.#lineOf(one.page)
    if (line.alone > 0) {
      line.alone -= 1
      return alone()
    }
    return new Promise((resolve, reject) => {
      line.waiting.push({ ...one, alone, resolve, reject })
      this.#write(key, line)
    })
  }

  /**
   * Commits a page when nothing else is being written for its app, and before what waits: its statement sees the moment at
   * which it began, also where it waits for others then, and among many it would be overtaken each time. Throws as `alone` does.
   */
  addSole(page: PageCommit, alone: Waiting['alone']): Promise<CommitResult> {
    const [key, line] = this.#lineOf(page)
    return new Promise((resolve, reject) => {
      line.sole.push(() => alone().then(resolve, reject))
      this.#write(key, line)
    })
  }

  #lineOf({ app, fence }: PageCommit): readonly [key: string, line: Line] {
    const key = `${fence.owner} ${fence.epoch} ${app}`
    const line = this.#lines.get(key) ?? { waiting: [], writers: 0, sole: [], isSole: false, alone: 0 }
    this.#lines.set(key, line)
    return [key, line]
  }

  #write(key: string, line: Line): void {
    if (line.isSole || (line.sole.length > 0 && line.writers > 0)) return
    const sole = line.sole.shift()
    if (sole) {
      line.isSole = true
      void sole().then(() => {
        line.isSole = false
        this.#writeOn(key, line)
      })
      return
    }
    while (line.writers < this.#grouping.writers && line.waiting.length > 0) {
      const { group, left } = divide(line.waiting)
      line.waiting = left
      line.writers += 1
      void this.#commit(group, line).then(() => {
        line.writers -= 1
        this.#writeOn(key, line)
      })
    }
  }

  #writeOn(key: string, line: Line): void {
    if (line.writers + line.waiting.length + line.sole.length + line.alone === 0) this.#lines.delete(key)
    this.#write(key, line)
  }

  /** Settles every page of the group, one way or the other. */
  async #commit(group: readonly Waiting[], line: Line): Promise<void> {
    const isGroup = group.length >= this.#grouping.least
    const results = isGroup ? await this.#together(group, line) : group.map(() => carefully)
    const others = group.flatMap((each, index) => {
      const result = results[index]!
      if (result === carefully) return each.alone().then(each.resolve, each.reject)
      each.resolve(result as CommitResult)
      return []
    })
    await Promise.all(others)
  }

  /**
   * What became of each page. Where the group failed, all of them go by themselves, also where nobody knows whether it was
   * committed: then their versions are no longer the stored ones.
   */
  async #together(group: readonly Waiting[], line: Line): Promise<readonly GroupResult[]> {
    const client = await this.#pool.connect().catch(() => undefined)
    if (!client) return group.map(() => carefully)
    const copyRoom = this.#copyRooms.pop() ?? new CopyRoom()
    let isBroken = false
    try {
      await client.query('begin')
      const results = await commitTogether(client, this.#settings, group, copyRoom)
      await client.query('commit')
      // Of a group that failed it may not all have been sent.
      if (this.#copyRooms.length < MOST_ROOMS && copyRoom.size <= KEPT_BYTES) this.#copyRooms.push(copyRoom)
      return results
    } catch {
      isBroken = await client.query('rollback').then(
        () => false,
        () => true,
      )
      if (isBroken) line.alone = PAGES_ALONE
      return group.map(() => carefully)
    } finally {
      client.release(isBroken)
    }
  }
}

/** The next group, each room once and in the order of rooms, and those who wait on. */
function divide(waiting: readonly Waiting[]): { readonly group: Waiting[]; readonly left: Waiting[] } {
  const group: Waiting[] = []
  const left: Waiting[] = []
  const rooms = new Set<string>()
  let rows = 0
  for (const each of waiting) {
    const { series } = each.page
    const fits = group.length < MOST_PAGES && (rows < MOST_ROWS || group.length === 0) && !rooms.has(series)
    ;(fits ? group : left).push(each)
    if (!fits) continue
    rooms.add(series)
    rows += rowsOf(each.page)
  }
  return { group: group.sort((a, b) => (a.page.series < b.page.series ? -1 : 1)), left }
}

function rowsOf({ rows }: PageCommit): number {
  return Object.values(rows).reduce((sum, each) => sum + (each?.length ?? 0), 0)
}
