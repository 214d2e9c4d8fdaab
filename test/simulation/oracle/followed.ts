import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'

/** That a room is gone is noticed when it is asked about, an idle one every five minutes, and believed the third time, ms. */
const noticed = 30 * 60_000

/** A room that the provider has forgotten is followed no more: whoever follows rooms for ever follows ever more of them. */
export async function examineFollowed(
  { rows, isEnd, healed, end, streams }: Examination,
  rooms: readonly TrueRoom[],
): Promise<readonly Finding[]> {
  if (!isEnd || !(streams?.includes('room-events') ?? true)) return []
  const open = await rows<{ place: string; streams: string }>(
    `select app_id || ' ' || series as place, string_agg(stream, ', ' order by stream) as streams from ingest.progress
     where stream in (select ingest.room_streams()) and closed_at is null group by 1`,
  )
  const followed = new Map(open.map(row => [row.place, row.streams]))
  const latest = new Map(rooms.map(room => [`${room.app} ${room.roomUuid}`, room]))
  return [...latest].flatMap(([place, { destroyedAt }]) => {
    const isGone = destroyedAt !== undefined && Math.max(destroyedAt, healed) + noticed < end
    return isGone && followed.has(place)
      ? [
          {
            kind: 'owed',
            text: `${place}: is gone, and ${followed.get(place)} of it are followed on`,
          } as const,
        ]
      : []
  })
}
