import { isSame, storableOnce } from './canonical.ts'
import type { TrueEvent, TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'
import { logsRead, onItsWay } from './logs-read.ts'
import type { StoredSchema } from './rows.ts'

/** Whether the log told an event in its first words, and that was stored before it told it in others. */
export function toldFirst(examination: Examination): (room: TrueRoom, event: TrueEvent) => boolean {
  const readAt = logsRead(examination)
  return (room, { at, retold }) =>
    Boolean(retold && readAt?.(room).some(time => at <= time && time + onItsWay < retold.from))
}

/** What the log told in one way and then in another stays as it was told first, and that there was another is written down. */
export async function examineRetold(
  examination: Examination,
  rooms: readonly TrueRoom[],
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const readAt = logsRead(examination)
  const { isEnd, end } = examination
  if (!isEnd || !readAt || !rooms.some(({ events }) => events.some(({ retold }) => retold))) return []
  const noted = new Set(
    (
      await examination.rows<{ key: string }>(
        `select app_id || ' ' || series || ' ' || key as key from ingest.divergence where stream = 'room-events'`,
      )
    ).map(({ key }) => key),
  )
  const rows = new Map(
    stored
      .get('room_event')!
      .rows.map(row => [`${row.app_id} ${row.room_uuid} ${row.incarnation} ${row.sequence}`, row]),
  )
  return rooms.flatMap(room =>
    room.events.flatMap(({ sequence, data, retold }): readonly Finding[] => {
      const row = retold && rows.get(`${room.app} ${room.roomUuid} ${room.stored} ${sequence}`)
      if (!retold || row?.source !== 'log' || !isSame(row.data, storableOnce(data))) return []
      const isTold = readAt(room).some(time => retold.from <= time && time + onItsWay < end)
      if (!isTold || noted.has(`${room.app} ${room.roomUuid} ${sequence}`)) return []
      const text = `${room.app} ${room.roomUuid} ${sequence}: told in other words later, and nobody says so`
      return [{ kind: 'lost', text }]
    }),
  )
}
