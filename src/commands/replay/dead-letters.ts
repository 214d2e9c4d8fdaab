import type { Reach, Standing, StoredDeadLetter } from '../../postgres/dead-letters.ts'
import { readJson } from '../../postgres/encode.ts'
import { canonicalJson } from '../../streams/canonical-json.ts'
import {
  type ReadingSettings,
  type Reject,
  rejectReasons,
  roomStreamNames,
  type Stream,
  type WindowSeries,
} from '../../streams/stream.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Json } from '../../tables/json.ts'

/** What became of dead letters that were tried again. */
export interface DeadLetterReport {
  /** Read from their bytes and stored; closed. */
  readonly stored: number
  /** What they are about has been read by the daemon since, or is in rows that were rebuilt; closed. */
  readonly read: number
  /** Asked for again: they close when a replay comes after the answer. */
  readonly asked: number
  /** Still cannot be read. */
  readonly unread: number
  /** Not whole, and what they are about cannot be had any more. */
  readonly gone: number
}

/** What trying letters again needs of the database. */
export interface DeadLetterStore {
  readonly letters: () => AsyncIterable<StoredDeadLetter>
  /**
   * Stores rows, or only looks whether they are stored where their place is not known. False where they are not: the
   * database refuses them, or their place is taken.
   */
  readonly keep: (letter: StoredDeadLetter, rows: RowSet, hasPlace: boolean) => Promise<boolean>
  readonly standing: (letter: StoredDeadLetter, available: Reach) => Promise<Standing>
  readonly askAgain: (letter: StoredDeadLetter, available: Reach) => Promise<void>
  readonly close: (ids: readonly string[]) => Promise<void>
}

export interface DeadLetterReaders {
  readonly stream: (letter: StoredDeadLetter) => Stream | undefined
  /** The question of a window; undefined where nobody asks it any more. */
  readonly series: (letter: StoredDeadLetter) => WindowSeries | undefined
  readonly available: (letter: StoredDeadLetter) => Reach
  readonly settings: ReadingSettings
}

/** Rebuilds what is derived from raw rows; answers what could still not be read, or undefined where some is left. */
export type RebuildAll = () => Promise<ReadonlySet<string> | undefined>

/** Tells parts of raw rows apart, in whatever order their fields stand. */
export function nameOfPart({ item }: Pick<Reject, 'item'>): string {
  return canonicalJson(item as Json)
}

/**
 * Tries letters again: what the streams read now is stored beside what is there, what the daemon has read since is left
 * to that, and what is not whole is asked for again where it can be had. Events and items of logs are stored raw, and
 * their tables are rebuilt; only then their letters close.
 */
export async function replayDeadLetters(
  store: DeadLetterStore,
  readers: DeadLetterReaders,
  rebuildAll: RebuildAll,
): Promise<DeadLetterReport> {
  const counts = { stored: 0, read: 0, asked: 0, unread: 0, gone: 0 }
  const raw: string[] = []
  const parts: { readonly id: string; readonly name: string }[] = []

  async function tryAgain(letter: StoredDeadLetter): Promise<void> {
    const isItem = rejectReasons.some(reason => reason === letter.reason)
    if (isItem && isOfLog(letter)) {
      const item = contentOf(letter)
      if (isPart(letter) && item !== undefined) parts.push({ id: letter.id, name: nameOfPart({ item }) })
      else if (await isRestored(letter, [item])) raw.push(letter.id)
      else counts.unread += 1
      return
    }
    const available = readers.available(letter)
    const standing = await store.standing(letter, available)
    if (standing === 'read') {
      await store.close([letter.id])
      counts.read += 1
    } else if (!letter.isCut && (await isRestored(letter, itemsOf(letter, isItem)))) {
      if (isOfLog(letter)) raw.push(letter.id)
      else {
        await store.close([letter.id])
        counts.stored += 1
      }
    } else if (isItem || !isPage(letter)) counts.unread += 1
    else if (standing === 'gone') counts.gone += 1
    else {
      if (standing === 'again') await store.askAgain(letter, available)
      counts.asked += 1
    }
  }

  function itemsOf(letter: StoredDeadLetter, isItem: boolean): readonly unknown[] {
    const value = contentOf(letter)
    if (isItem) return [value]
    const stream = readers.stream(letter)
    if (!stream || !isPage(letter)) return []
    const answer = stream.operation.answer.safeParse(value)
    return answer.success ? stream.read(answer.data).items : []
  }

  async function isRestored(letter: StoredDeadLetter, items: readonly unknown[]): Promise<boolean> {
    // One entry tells no change of its player, and the whole list is soon read again.
    if (letter.stream === 'cloud-players') return false
    const all = items.map(item => readItem(letter, item))
    if (all.length === 0 || all.includes(undefined)) return false
    for (const [index, rows] of all.entries()) {
      if (!(await store.keep(letter, rows!, hasPlace(letter, items[index])))) return false
    }
    return true
  }

  /** Undefined where something of it can still not be read, or makes no row. */
  function readItem(letter: StoredDeadLetter, item: unknown): RowSet | undefined {
    const stream = readers.stream(letter)
    const { rows, rejects } = (stream && toRows(stream, letter, item)) ?? { rows: {}, rejects: [] }
    if (rejects.length > 0) return undefined
    const { 'classroom.room_event': event, 'classroom.widget_event': widget } = rows
    const kept: RowSet = event
      ? { 'classroom.room_event': event }
      : widget
        ? { 'classroom.widget_event': widget }
        : rows
    return Object.values(kept).some(list => list.length > 0) ? kept : undefined
  }

  function toRows(stream: Stream, letter: StoredDeadLetter, item: unknown) {
    const { receivedAt } = letter
    const series = readers.series(letter)
    if (stream.kind === 'window') {
      const page = { number: 1, items: [item], hasMore: false, now: receivedAt / 1_000, receivedAt }
      return series && stream.toRows({ ...page, series, range: everything, details: undefined })
    }
    if (stream.kind === 'substream') {
      const asked = { key: letter.series, part: '', ...everything, ask: null }
      const page = { number: 1, asked: {}, items: [item], receivedAt }
      return stream.toRows({ ...page, item: { stream: stream.name, ...asked } }, null)
    }
    const page = { series: letter.series, cursor: null, purpose: 'read', items: [item] } as const
    const told = { answeredAt: receivedAt, receivedAt, settings: readers.settings }
    return stream.toRows({ ...page, ...told, nextId: onwards }, {})
  }

  for await (const letter of store.letters()) await tryAgain(letter)
  if (raw.length + parts.length === 0) return counts
  const unread = await rebuildAll()
  if (!unread) return { ...counts, unread: counts.unread + raw.length + parts.length }
  const understood = parts.filter(({ name }) => !unread.has(name)).map(({ id }) => id)
  await store.close([...raw, ...understood])
  return {
    ...counts,
    stored: counts.stored + raw.length,
    read: counts.read + understood.length,
    unread: counts.unread + parts.length - understood.length,
  }
}

const everything = { from: 0, to: 2 ** 40 } as const

/** There is more of it, or else one item would be taken for a whole list. */
const onwards = 'onwards'

function isOfLog({ stream }: StoredDeadLetter): boolean {
  return stream === 'app-events' || (isOfRoom(stream) && stream !== 'recordings' && stream !== 'resources')
}

export function isOfRoom(stream: string): boolean {
  return roomStreamNames.some(name => name === stream)
}

/** Something in an event or item that is kept raw itself. */
function isPart({ stream, detail }: StoredDeadLetter): boolean {
  if (stream === 'poll') return detail.startsWith('changeProperties.extra.pollDetails')
  return stream.endsWith('-events') && /^data\.\w+\.\d/.test(detail)
}

/** An answer that could not be read, and no refusal, of which there is nothing to read. */
function isPage({ reason }: StoredDeadLetter): boolean {
  return reason === 'malformed' || reason === 'too_large'
}

/** An item of a quiz or poll has its place by its number, or by all items before it, which a letter does not tell. */
function hasPlace({ stream }: StoredDeadLetter, item: unknown): boolean {
  if (stream !== 'popup-quiz' && stream !== 'poll') return true
  const { sequence, data } = Object(item)
  return (sequence ?? Object(data).sequence ?? null) !== null
}

function contentOf({ body }: StoredDeadLetter): unknown {
  try {
    return readJson(body.toString('utf8'))
  } catch {
    return undefined
  }
}
