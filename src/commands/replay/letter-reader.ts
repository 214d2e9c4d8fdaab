import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import type { Availability, StoredDeadLetter } from '../../postgres/dead-letters.ts'
import { readJson } from '../../postgres/encode.ts'
import { configuredStreams } from '../../streams/index.ts'
import { type ReadingSettings, type Reject, rejectReasons } from '../../streams/page.ts'
import { canonicalJson } from '../../streams/parts/items.ts'
import type { Stream } from '../../streams/stream.ts'
import { roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Json } from '../../tables/json.ts'
import { appSettings } from '../app-settings.ts'
import { deploymentOf, engineSettings } from '../engine-settings.ts'

/** What one item of a letter says. */
interface ReadItem {
  readonly rows: RowSet
  /** Whether the item tells its place in the log. */
  readonly hasPlace: boolean
}

/** A question has no range here: an item of any time counts. */
const everything = { from: 0, to: 2 ** 40 } as const

/** There is more of it, or else one item would be taken for a whole list. */
const onwards = 'onwards'

/** Reads dead letters as the daemon reads what they are about. */
export class LetterReader {
  readonly #config: Config
  readonly #streams: ReadonlyMap<string, Stream>
  readonly #apps: ReadonlyMap<string, AppConfig>
  readonly #settings: ReadingSettings
  /** How long a room can be read, ms. */
  readonly #roomMemory: number

  constructor(config: Config) {
    const { reading, roomMemory } = engineSettings(config)
    this.#config = config
    this.#streams = new Map(
      configuredStreams(deploymentOf(config), config.streams).map(stream => [stream.name, stream]),
    )
    this.#apps = new Map(config.apps.map(app => [app.id, app]))
    this.#settings = reading
    this.#roomMemory = roomMemory
  }

  streamOf({ stream }: StoredDeadLetter): Stream | undefined {
    return this.#streams.get(stream)
  }

  /** How long what the letter is about can be had. */
  availabilityOf({ app, stream }: StoredDeadLetter): Availability {
    const group = this.#config.streams[stream]?.operation.limitGroup ?? ''
    const found = this.#apps.get(app)
    const seconds = (found && allowanceOf(found, group)?.availableData) ?? 0
    return { rooms: this.#roomMemory, ranges: seconds * 1_000 }
  }

  /** What its items say; undefined where some of it cannot be read, or makes no row. */
  read(letter: StoredDeadLetter): readonly ReadItem[] | undefined {
    const stream = this.streamOf(letter)
    // One entry tells no change of its player, and the whole list is soon read again.
    if (!stream || (stream.kind === 'snapshot' && stream.scope === 'app')) return undefined
    const items = isItem(letter) ? [contentOf(letter)] : itemsOf(stream, letter)
    const read = items.flatMap(item => {
      const rows = this.#rowsOf(stream, letter, item)
      return rows ? [{ rows, hasPlace: hasPlace(stream, item) }] : []
    })
    return read.length > 0 && read.length === items.length ? read : undefined
  }

  #rowsOf(stream: Stream, letter: StoredDeadLetter, item: unknown): RowSet | undefined {
    const result = this.#toRows(stream, letter, item)
    if (!result || result.rejects.length > 0) return undefined
    const { [roomEvent.name]: event, [widgetEvent.name]: widget } = result.rows
    const kept: RowSet = event
      ? { [roomEvent.name]: event }
      : widget
        ? { [widgetEvent.name]: widget }
        : result.rows
    return Object.values(kept).some(list => list.length > 0) ? kept : undefined
  }

  #toRows(stream: Stream, letter: StoredDeadLetter, item: unknown) {
    const { receivedAt } = letter
    if (stream.kind === 'window') {
      const series = this.#seriesOf(letter)
      const page = { number: 1, items: [item], hasMore: false, now: receivedAt / 1_000, receivedAt }
      return series && stream.toRows({ ...page, series, range: everything, details: undefined })
    }
    if (stream.kind === 'substream') {
      const asked = { key: letter.series, part: '', ...everything, ask: null }
      const page = { number: 1, asked: {}, items: [item], now: receivedAt / 1_000 }
      return stream.toRows({ ...page, item: { stream: stream.name, ...asked } }, null)
    }
    const page = { series: letter.series, cursor: null, purpose: 'read', items: [item] } as const
    const told = { answeredAt: receivedAt, receivedAt, settings: this.#settings }
    return stream.toRows({ ...page, ...told, nextId: onwards }, {})
  }

  /** The question of a window; undefined where the configuration asks it no longer. */
  #seriesOf({ app, stream, series }: StoredDeadLetter) {
    const found = this.#apps.get(app)
    const settings = found && appSettings(this.#config, found).windows[stream]
    return settings?.series.find(({ key }) => key === series)
  }
}

/** One item that could not be read; else it is an answer. */
export function isItem({ reason }: StoredDeadLetter): boolean {
  return rejectReasons.some(each => each === reason)
}

/** An answer that could not be read, and no refusal, of which there is nothing to read. */
export function isPage({ reason }: StoredDeadLetter): boolean {
  return reason === 'malformed' || reason === 'too_large'
}

/** The name of the part of a stored event or item that the letter is about; undefined where it is about no part. */
export function partOf(stream: Stream, letter: StoredDeadLetter): string | undefined {
  const { detail } = letter
  const isPart = stream.writes.includes(widgetEvent)
    ? detail.startsWith('changeProperties.extra.pollDetails')
    : stream.writes.includes(roomEvent) && /^data\.\w+\.\d/.test(detail)
  const item = isPart ? contentOf(letter) : undefined
  return item === undefined ? undefined : nameOfPart({ item })
}

/** Tells parts of raw rows apart, in whatever order their fields stand. */
export function nameOfPart({ item }: Pick<Reject, 'item'>): string {
  return canonicalJson(item as Json)
}

/** An item of a quiz or poll has its place by its number, or by all items before it, which a letter does not tell. */
function hasPlace(stream: Stream, item: unknown): boolean {
  if (!stream.writes.includes(widgetEvent)) return true
  const { sequence, data } = Object(item)
  return (sequence ?? Object(data).sequence ?? null) !== null
}

function itemsOf(stream: Stream, letter: StoredDeadLetter): readonly unknown[] {
  if (!isPage(letter)) return []
  const answer = stream.operation.answer.safeParse(contentOf(letter))
  return answer.success ? stream.read(answer.data).items : []
}

function contentOf({ body }: StoredDeadLetter): unknown {
  try {
    return readJson(body.toString('utf8'))
  } catch {
    return undefined
  }
}
