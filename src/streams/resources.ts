import { z } from 'zod'
import { itemId, resources as operation, ResourceItem } from '../provider/classroom/index.ts'
import { readNumber } from '../provider/fits.ts'
import { type ResourceRow, resource } from '../tables/classroom.ts'
import type { Json } from '../tables/json.ts'
import { blank } from '../tables/table.ts'
import { answerTime } from './events/event.ts'
import { resourceColumns, resourceFields } from './events/states.ts'
import { isLast, type Page, type RoomScope } from './page.ts'
import { roomCadence } from './parts/cadence.ts'
import { isObject, judgeEach, lastOfEach, type Read, redact } from './parts/items.ts'
import { readState, type ToRowsWith, withState } from './parts/stream-state.ts'
import { fieldsBeside, latestBelieved, notAfter, timestampIfAny } from './parts/values.ts'
import type { SnapshotStream } from './stream.ts'

const State = z.object({
  incarnation: z.int().min(1).default(1),
  /** What the last complete listing named. */
  known: z.array(z.string()).readonly().default([]),
})
type State = z.infer<typeof State>

/**
 * The public resources of a room (operation 8), all in one answer. What a complete listing no longer names has
 * been removed. While a document is being converted the list is read again.
 */
export const resources: SnapshotStream = {
  kind: 'snapshot',
  name: 'resources',
  title: 'Public resources of each room',
  operation,
  writes: [resource],
  read: operation.readBatch,
  source: 'list',
  scope: 'room',
  needs: ['room-events'],
  ...roomCadence('1m'),
  isAnnounced: true,
  request: () => ({}),
  hasListed: stored => readState(State, stored).known.length > 0,
  toRows: withState(State, toRows),
}

const columns = new Set([...resourceColumns, 'updateTime'])
const converted = 100

function toRows(page: Page, streamState: State): ToRowsWith<State> {
  const items = page.items.map(redact)
  const { good, rejects } = judgeEach(ResourceItem, items)
  const listed = lastOfEach(good, ({ value }) => value.resourceUuid)
  const named = new Set(items.map(nameOf))
  const isCut = (page.total ?? 0) > page.items.length
  // The question is the same for each page: one that comes again with a nextId leads in a circle, and not to the end.
  const isComplete = page.cursor === null && isLast(page) && !isCut && !named.has(undefined)
  const gone = isComplete ? streamState.known.filter(id => !named.has(id)) : []
  const known = new Set([...streamState.known, ...listed.map(({ value }) => value.resourceUuid)])
  return {
    rows: {
      'classroom.resource': [
        ...listed.map(item => resourceRow(item, page)),
        ...gone.map(id => removedRow(id, page)),
      ],
    },
    streamState: { ...streamState, known: [...known].filter(id => !gone.includes(id)) },
    room: roomOf(streamState),
    follow: 'next',
    rejects,
    hints: [],
    unfinished: listed.some(isBeingConverted),
  }
}

function isBeingConverted({ value: { taskProgress } }: Read<ResourceItem>): boolean {
  const percentage = readNumber(isObject(taskProgress) ? taskProgress.convertedPercentage : undefined)
  return percentage !== undefined && percentage < converted
}

function roomOf({ incarnation }: State): RoomScope {
  return { kind: 'incarnation', incarnation, opens: false }
}

/** Also of an item that cannot be read otherwise: it is there all the same. */
function nameOf(item: Json): string | undefined {
  const { data } = itemId.safeParse(isObject(item) ? item.resourceUuid : undefined)
  return data
}

function resourceRow(item: Read<ResourceItem>, page: Page): ResourceRow {
  const { value } = item
  const updateTime = notAfter(latestBelieved(page), timestampIfAny(value.updateTime))
  return {
    room_uuid: page.series,
    ...resourceFields(value),
    updated_at: updateTime,
    removed_at: null,
    extra: fieldsBeside(columns, item, { updateTime }),
  }
}

/** All else stays as it was last listed. */
function removedRow(resource_uuid: string, page: Page): ResourceRow {
  return {
    ...blank(resource),
    room_uuid: page.series,
    resource_uuid,
    removed_at: answerTime(page).at,
  }
}
