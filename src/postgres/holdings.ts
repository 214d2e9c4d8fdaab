import { type Table, tables } from '../tables/index.ts'
import type { Json } from '../tables/json.ts'
import type { Mask } from './mask.ts'

/** What may tell of people in one table, and how a row of it is masked. */
export interface Holding {
  readonly table: string
  /** Columns that are read, with their types. */
  readonly columns: Readonly<Record<string, string>>
  /** SQL that tells whether a row is of the room $2; undefined of what is of no room. */
  readonly ofRoom?: string | undefined
  readonly mask: (row: Values, mask: Mask, everyone: boolean, kinds: Kinds) => Values
}

/** Streams by what they tell of people. */
export interface Kinds {
  /** Of classrooms. */
  readonly inClass: ReadonlySet<string>
  /** Of all rooms of an app at once. */
  readonly feeds: ReadonlySet<string>
  /** Whose series are named after users. */
  readonly ofUsers: ReadonlySet<string>
}

export type Values = Readonly<Record<string, Json | Buffer>>

const callsOfRoom = '(select c.call_id from analytics.call c where c.app_id = $1 and c.cname = $2)'
const ofCalls = `t.call_id in ${callsOfRoom}`

function holdingOf(table: Table): readonly Holding[] {
  const columns = Object.entries(table.columns).filter(([name, { type, tells }]) => {
    if (table.given.includes(name)) return false
    return tells !== undefined || type === 'jsonb' || type === 'text' || name === 'cmd'
  })
  if (columns.length === 0) return []
  const names = columns.map(([name]) => name)
  const room = ['room_uuid', 'cname'].find(name => names.includes(name))
  const ofRoom = [...(room ? [`t.${room} = $2`] : []), ...('call_id' in table.columns ? [ofCalls] : [])]
  return [
    {
      table: table.name,
      columns: Object.fromEntries(columns.map(([name, { type }]) => [name, type])),
      // A stay need not say in which channel it was.
      ofRoom: ofRoom.length > 0 ? `(${ofRoom.join(' or ')})` : undefined,
      mask: (row, mask, everyone) => mask.row(table, row, everyone),
    },
  ]
}

/** Tables that no stream fills, and that tell of people all the same. */
const others: readonly Holding[] = [
  {
    table: 'analytics.call_summary',
    columns: { persons: 'text[]' },
    ofRoom: ofCalls,
    mask: ({ persons }, mask, everyone) => ({
      persons: (persons as readonly string[]).map(uid => mask.id(uid, 'uid', everyone)),
    }),
  },
  {
    table: 'players.notification',
    columns: { payload: 'jsonb' },
    mask: ({ payload }, mask) => ({ payload: mask.json(payload as Json, false, false) }),
  },
  ...['ingest.progress', 'ingest.gap', 'ingest.unkept_letter'].map(
    (table): Holding => ({
      table,
      columns: { stream: 'text', series: 'text' },
      mask: (row, mask, _everyone, kinds) => withSeries(row, mask, kinds),
    }),
  ),
  {
    table: 'ingest.work_item',
    columns: { stream_state: 'jsonb' },
    ofRoom: `t.item in ${callsOfRoom}`,
    mask: (row, mask, everyone) => ({ stream_state: mask.ofItem(row.stream_state as Json, everyone) }),
  },
  {
    table: 'ingest.dead_letter',
    columns: { stream: 'text', series: 'text', body: 'bytea' },
    // What the feed told may be of several rooms: each is known by what it says itself.
    ofRoom: `(t.series = $2 or t.series in ${callsOfRoom} or t.stream in (select s.stream from ingest.stream s where s.kind = 'feed'))`,
    mask: (row, mask, everyone, kinds) => {
      const { series, body } = row
      const stream = String(row.stream)
      const isOfRoom = everyone && !kinds.feeds.has(stream)
      const masked = mask.letter(body as Buffer, String(series), kinds.inClass.has(stream), isOfRoom)
      return { ...withSeries(row, mask, kinds), body: Buffer.from(masked) }
    },
  },
  // The last of all: what two answers contradict each other in is the same once both are masked.
  {
    table: 'ingest.divergence',
    columns: { stream: 'text', series: 'text', kept: 'jsonb', other: 'jsonb' },
    ofRoom: 't.series = $2',
    mask: ({ stream, kept, other }, mask, everyone, { inClass }) => {
      const json = (value: Json) => mask.json(value, inClass.has(String(stream)), everyone)
      return { kept: json(kept as Json), other: json(other as Json) }
    },
  },
]

/** The questions that are asked of single users name them. */
function withSeries({ stream, series }: Values, mask: Mask, { ofUsers }: Kinds): Values {
  if (!ofUsers.has(String(stream))) return {}
  return { series: String(series).replaceAll(/[^\s,/]+/g, uid => mask.id(uid, 'uid', false)) }
}

/**
 * What is kept raw before what is derived of it: a replay beside it makes nobody known again (`lockLogs`). Whoever stores what
 * the later parts hold may have read it in the former ones.
 */
export const holdings: readonly (readonly Holding[])[] = [tables.flatMap(holdingOf), others]
