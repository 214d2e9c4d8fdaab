import { bind, statement } from '../statement.ts'
import { placeValues } from './raw.ts'
import type { Ask, Incarnation } from './session.ts'
import { atPlace } from './tables.ts'

const progress = `from ingest.progress p where p.app_id = :app and p.series = :room and p.stream = any(:streams)`

/**
 * Equal marks mean equal raw rows; `streams` are those that write what is derived, and raw rows that come from a log. Every commit of a log raises the version of its progress; the feed only adds
 * events, and no event is ever taken away.
 */
const readStatement = statement(
  'replay_mark',
  `select concat_ws(' ',
     (select string_agg(p.stream || '=' || p.version, ' ' order by p.stream) ${progress}),
     (select count(*) from classroom.room_event e where ${atPlace('e')}),
     (select count(*) from classroom.widget_event w where ${atPlace('w')})) as mark`,
)

/** The rows that a commit of a log moves before it writes anything: whoever holds them keeps those commits out. */
const lockStatement = statement('replay_lock', `select 1 ${progress} order by p.stream for no key update`)

export async function readMark(ask: Ask, streams: readonly string[], place: Incarnation): Promise<string> {
  const [row] = await ask<{ mark: string }>(bind(readStatement, { ...placeValues(place), streams }))
  return row!.mark
}

/** Throws when another one holds them, or has moved them since the transaction began. */
export async function lockLogs(
  ask: Ask,
  streams: readonly string[],
  { app, room, incarnation }: Incarnation,
): Promise<void> {
  const { room: series } = placeValues({ app, room, incarnation })
  await ask(bind(lockStatement, { app, room: series, streams }))
}
