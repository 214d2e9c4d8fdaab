import { Findings } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** What days and rooms are judged by: of each room and hour whether it is whole, and how much is told to be lost, and of which days. */
export interface ForEver {
  readonly rooms: ReadonlyMap<string, boolean>
  readonly hours: ReadonlyMap<string, boolean>
  readonly losses: ReadonlyMap<string, number>
  /** From which day to which of UTC something was lost, and why: rows of the same days may be one. */
  readonly days: ReadonlySet<string>
}

const hour = 3_600

/** Hours are told of from that on in which the run began, up to `until`, Unix seconds. */
export async function readForEver(
  { rows, start }: Pick<Examination, 'rows' | 'start'>,
  until: number,
): Promise<ForEver> {
  const rooms = await rows<{ key: string; complete: boolean }>(
    `select concat_ws(' ', app_id, room_uuid, incarnation, stream) as key, complete from ingest.room_complete`,
  )
  const from = Math.floor(start / 1_000 / hour) * hour
  const hours = await rows<{ key: string; complete: boolean }>(
    `select concat_ws(' ', s.app_id, s.stream, to_timestamp(h.at) at time zone 'UTC') as key,
            ingest.is_complete(s.stream, s.app_id, to_timestamp(h.at), to_timestamp(h.at + ${hour})) as complete
     from (select distinct p.app_id, p.stream from ingest.progress p where p.backlog_from is not null
           union select distinct w.app_id, w.stream from ingest.work_item w) s
     cross join generate_series(${from}, ${until - hour}, ${hour}) h(at)`,
  )
  const losses = await rows<{ key: string; losses: number }>(
    `select concat_ws(' ', app_id, stream, reason) as key, sum(stands_for)::float8 as losses from ingest.loss
     where state = 'lost' group by 1`,
  )
  const day = (moment: string) => `((${moment}) at time zone 'UTC')::date`
  const days = await rows<{ key: string }>(
    `select distinct concat_ws(' ', app_id, stream, reason, 'from', ${day('range_from')},
                               'to', ${day(`range_to - interval '1 microsecond'`)}) as key
     from ingest.loss where state = 'lost' and range_to > range_from and range_to <= to_timestamp(${until})`,
  )
  return {
    days: new Set(days.map(({ key }) => key)),
    rooms: new Map(rooms.map(({ key, complete }) => [key, complete])),
    hours: new Map(hours.map(({ key, complete }) => [key, complete])),
    losses: new Map(losses.map(({ key, losses }) => [key, losses])),
  }
}

/** By what is over nobody judges otherwise, however long ago it was. */
export function examineForEver(before: ForEver, after: ForEver): readonly Finding[] {
  const found = new Findings()
  for (const what of ['rooms', 'hours'] as const)
    for (const [key, complete] of before[what]) {
      const now = after[what].get(key)
      if (now !== complete)
        found.add('complete', `${what} long after`, `${key}: ${complete} before, ${now ?? 'not told'} now`)
    }
  for (const [key, losses] of before.losses) {
    const now = after.losses.get(key) ?? 0
    if (now < losses) found.add('gap', 'losses long after', `${key}: ${losses} were told, and are ${now}`)
  }
  for (const key of before.days)
    if (!after.days.has(key))
      found.add('gap', 'losses long after', `${key}: told before, and not of these days now`)
  return found.list()
}
