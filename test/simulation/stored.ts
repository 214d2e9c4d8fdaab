import { canonical } from './canonical.ts'
import type { Examination } from './oracle/examination.ts'

export interface StoredGap {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly incarnation: number | null
  readonly unit: 'time' | 'sequence'
  /** Sequences, or ms since the epoch; both ends included. */
  readonly from: bigint
  readonly to: bigint
}

/** What the database holds, by keys of app, room, incarnation and place. */
export interface Stored {
  readonly events: ReadonlyMap<string, { readonly cmd: number; readonly data: string }>
  readonly chats: ReadonlyMap<string, string>
  /** How many people came or went with an event, or how many resources changed. */
  readonly listed: ReadonlyMap<string, number>
  readonly widgetItems: ReadonlyMap<string, string>
  /** Answers and votes, by the place of their item. */
  readonly submissions: ReadonlySet<string>
  readonly recordings: ReadonlyMap<string, string>
  /** Those that are listed, by app, room and ID. */
  readonly resources: ReadonlySet<string>
  /** Logs that are said to be whole, by app, room and incarnation. */
  readonly complete: ReadonlySet<string>
  readonly gaps: readonly StoredGap[]
  /** Events that the feed told and that wait for their room's log, by app, room, sequence and content. */
  readonly waiting: ReadonlySet<string>
}

const place = `app_id || ' ' || room_uuid || ' ' || incarnation || ' '`

export async function readStored({ rows }: Pick<Examination, 'rows'>): Promise<Stored> {
  type Keyed<Rest> = { readonly key: string } & Rest
  const events = await rows<Keyed<{ cmd: number; data: unknown }>>(
    `select ${place} || sequence as key, cmd, data from classroom.room_event`,
  )
  const chats = await rows<Keyed<{ message: string }>>(
    `select ${place} || sequence as key, message from classroom.chat_message`,
  )
  const listed = await rows<Keyed<{ count: number }>>(
    `select ${place} || sequence as key, count(*)::int as count from classroom.attendance group by 1
     union all select ${place} || sequence, count(*)::int from classroom.resource_change group by 1`,
  )
  const items = await rows<Keyed<{ data: unknown }>>(
    `select ${place} || widget || ' ' || position as key, data from classroom.widget_event`,
  )
  const submissions = await rows<Keyed<unknown>>(
    `select ${place} || 'popupQuiz ' || ordinal as key from classroom.quiz_submission
     union all select ${place} || 'poll ' || ordinal from classroom.poll_submission`,
  )
  const recordings = await rows<Keyed<{ state: string }>>(
    `select app_id || ' ' || room_uuid || ' ' || record_id as key, status || ' ' || coalesce(url, 'null') as state
     from classroom.recording`,
  )
  const resources = await rows<Keyed<unknown>>(
    `select app_id || ' ' || room_uuid || ' ' || resource_uuid as key from classroom.resource where removed_at is null`,
  )
  const complete = await rows<Keyed<unknown>>(
    `select app_id || ' ' || room_uuid || ' ' || incarnation as key from ingest.room_complete
     where stream = 'room-events' and complete`,
  )
  type Gap = Omit<StoredGap, 'from' | 'to'> & { readonly lower: string; readonly upper: string }
  const gaps = await rows<Gap>(
    `select app_id as app, stream, series, incarnation, unit,
            coalesce(sequence_from, floor(extract(epoch from range_from) * 1000))::text as lower,
            coalesce(sequence_to, ceil(extract(epoch from range_to) * 1000))::text as upper
     from ingest.gap where state in ('open', 'lost')`,
  )
  type Divergence = { readonly key: string; readonly other: { readonly cmd: number; readonly data: unknown } }
  const waiting = await rows<Divergence>(
    `select app_id || ' ' || series || ' ' || key as key, other from ingest.divergence
     where stream = 'app-events' and resolved_at is null`,
  )
  return {
    events: new Map(events.map(({ key, cmd, data }) => [key, { cmd, data: canonical(data) }])),
    chats: new Map(chats.map(({ key, message }) => [key, message])),
    listed: new Map(listed.map(({ key, count }) => [key, count])),
    widgetItems: new Map(items.map(({ key, data }) => [key, canonical(data)])),
    submissions: new Set(submissions.map(({ key }) => key)),
    recordings: new Map(recordings.map(({ key, state }) => [key, state])),
    resources: new Set(resources.map(({ key }) => key)),
    complete: new Set(complete.map(({ key }) => key)),
    gaps: gaps.map(({ lower, upper, ...gap }) => ({ ...gap, from: BigInt(lower), to: BigInt(upper) })),
    waiting: new Set(waiting.map(({ key, other }) => `${key} ${other.cmd} ${canonical(other.data)}`)),
  }
}
