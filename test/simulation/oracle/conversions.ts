import { askedOfRooms } from './asked.ts'
import { resourcesOf } from './classroom-lists.ts'
import type { TrueRoom } from './classroom-truth.ts'
import { fieldsOf } from './event-rows.ts'
import type { Examination, Finding } from './examination.ts'
import { wasOff } from './switched-off.ts'

type Asked = Pick<
  Examination,
  'sandbox' | 'resourcesEvery' | 'isUnbroken' | 'faults' | 'streams' | 'switchedOff' | 'end'
>
type Converting = Pick<
  TrueRoom,
  'app' | 'roomUuid' | 'openedAt' | 'endedAt' | 'destroyedAt' | 'muted' | 'events' | 'steps'
>

/** The intervals grow, and stay far below those at which a room is asked in which nothing happens: so many of the shortest. */
const intervals = 10

/**
 * While a list shows that a document is being converted it is read again, though no event tells how far that is: where nothing
 * goes wrong each step is read soon, of which no event tells and which a reading before had announced.
 */
export function examineConversions(
  { sandbox, resourcesEvery, isUnbroken, faults, streams, switchedOff, end }: Asked,
  rooms: readonly Converting[],
): readonly Finding[] {
  const isOn = streams?.includes('resources') ?? true
  if (resourcesEvery === undefined || !isUnbroken || faults.length > 0 || !isOn) return []
  const soon = intervals * resourcesEvery
  const read = askedOfRooms({ sandbox }, ({ status }) => status === 200)
  return rooms.flatMap(room => {
    const { app, roomUuid, openedAt, destroyedAt = end, endedAt = destroyedAt, muted, steps } = room
    if (muted || steps.length === 0) return []
    if (wasOff({ ...(switchedOff && { switchedOff }) }, { app, stream: 'resources' }, openedAt, destroyedAt))
      return []
    const times = read(app, 'resources', roomUuid).map(({ time }) => time)
    const until = Math.min(end, endedAt)
    const untold = new Set<unknown>(steps)
    const late = [...resourcesOf(room).values()].flatMap(history =>
      history
        .filter(({ at }, n) => n > 0 && at + soon < until && isAnnounced(history[n - 1]!, at, times))
        .filter(({ item }) => untold.has(item))
        .filter(({ at }) => !times.some(time => time >= at && time <= at + soon)),
    )
    return late.slice(0, 1).map(({ item, at }) => ({
      kind: 'owed' as const,
      text: `${app} ${roomUuid} ${item.resourceUuid}: was converted further at ${say(at)}, and nobody looked`,
    }))
  })
}

/** Whether a list was read between a state of a document that is not the last one and the next. */
function isAnnounced(
  { item, at }: { readonly item: object; readonly at: number },
  next: number,
  times: readonly number[],
): boolean {
  const { convertedPercentage } = fieldsOf(fieldsOf(item).taskProgress)
  return Number(convertedPercentage) < 100 && times.some(time => time >= at && time < next)
}

function say(time: number): string {
  return new Date(time).toISOString()
}
