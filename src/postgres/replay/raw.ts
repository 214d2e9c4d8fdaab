import type { Json } from '../../tables/json.ts'
import { decodeColumn } from '../encode.ts'
import { bind, type Statement, statement } from '../statement.ts'
import { type Ask, atPlace, type Incarnation, ms, placeValues } from './session.ts'

/** An event as it is kept raw. Times are ms since the epoch. */
export interface StoredEvent {
  readonly sequence: number | bigint
  readonly cmd: number
  readonly version: number | null
  readonly data: Json
  readonly extra: Json
  /** `feed`: only the app's feed has shown it; `log`: the room's log has. */
  readonly source: 'feed' | 'log'
  /** The provider's own time as it was read from the event. */
  readonly ownTime: number | null
  /** When it happened, as it was told when the event was first seen. */
  readonly at: number
  readonly receivedAt: number
}

/** An item of the log of a quiz or poll as it is kept raw. */
export interface StoredItem {
  readonly position: number | bigint
  readonly data: Json
  /** ms since the epoch. */
  readonly receivedAt: number
}

const batch = 500

const listEvents = statement(
  'replay_events',
  `select e.sequence::text, e.cmd, e.version, e.data::text, e.extra::text, e.source, ${ms('e.event_time')} as "ownTime",
          ${ms('e.at')} as at, ${ms('e.received_at')} as "receivedAt"
   from classroom.room_event e where ${atPlace('e')} and e.sequence > :after::bigint order by e.sequence limit ${batch}`,
)

const listItems = statement(
  'replay_items',
  `select i.position::text, i.data::text, ${ms('i.received_at')} as "receivedAt"
   from classroom.widget_event i where ${atPlace('i')} and i.widget = :widget and i.position > :after::bigint
   order by i.position limit ${batch}`,
)

/** As the driver reads it: long numbers and JSON are texts. */
type Text<T, Names extends keyof T> = Omit<T, Names> & { readonly [N in Names]: string | null }
type EventRow = Text<StoredEvent, 'sequence' | 'data' | 'extra'>
type ItemRow = Text<StoredItem, 'position' | 'data'>

/** The events of one incarnation of a room in the order of its log, some hundred at a time. */
export async function* readEvents(ask: Ask, place: Incarnation): AsyncGenerator<readonly StoredEvent[]> {
  for await (const rows of pages<EventRow>(ask, listEvents, placeValues(place), row => row.sequence!)) {
    yield rows.map(({ sequence, data, extra, ...row }) => ({
      ...row,
      sequence: decodeColumn(sequence) as number | bigint,
      data: decodeColumn(data),
      extra: decodeColumn(extra),
    }))
  }
}

/** The items of one widget of one incarnation of a room in the order of its log. */
export async function* readItems(
  ask: Ask,
  place: Incarnation,
  widget: string,
): AsyncGenerator<readonly StoredItem[]> {
  const values = { ...placeValues(place), widget }
  for await (const rows of pages<ItemRow>(ask, listItems, values, row => row.position!)) {
    yield rows.map(({ position, data, ...row }) => ({
      ...row,
      ...{ position: decodeColumn(position) as number | bigint, data: decodeColumn(data) },
    }))
  }
}

async function* pages<Row extends object>(
  ask: Ask,
  list: Statement,
  values: Readonly<Record<string, unknown>>,
  placeOf: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  let after = '-1'
  for (;;) {
    const rows = await ask<Row>(bind(list, { ...values, after }))
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < batch) return
    after = placeOf(last)
  }
}
