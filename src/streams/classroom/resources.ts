import { z } from 'zod'
import { resources as operation, ResourceItem, resourceBatch } from '../../provider/classroom/index.ts'
import type { ResourceRow } from '../../rows/classroom.ts'
import type { Json } from '../../rows/json.ts'
import { type HarvestWith, withCarry } from '../carry.ts'
import { receivedTime } from '../events/event-time.ts'
import { isObject, judgeEach, type Read } from '../items.ts'
import { redact } from '../redact.ts'
import { resourceColumns, resourceFields } from '../resource-fields.ts'
import { lastByKey } from '../row-sets.ts'
import type { Page, SnapshotStream } from '../stream.ts'
import { fieldsBeside, latestBelieved, notAfter, timestamp } from '../times.ts'

const Carry = z.object({
  incarnation: z.int().min(1).default(1),
  /** What the last complete listing named. */
  known: z.array(z.string()).readonly().default([]),
})
type Carry = z.infer<typeof Carry>

/**
 * The public resources of a room (operation 8), all in one answer. What a complete listing no longer names has
 * been removed. While a document is being converted the list is read again.
 */
export const resources: SnapshotStream = {
  kind: 'snapshot',
  name: 'resources',
  title: 'Public resources of each room',
  operation,
  read: resourceBatch.read,
  source: 'list',
  scope: 'room',
  request: () => ({}),
  harvest: withCarry(Carry, harvest),
}

const columns = new Set([...resourceColumns, 'updateTime'])
const converted = 100

function harvest(page: Page, carry: Carry): HarvestWith<Carry> {
  const items = page.items.map(redact)
  const { good, rejects } = judgeEach(ResourceItem, items)
  const listed = lastByKey(good, ({ value }) => value.resourceUuid)
  const named = new Set(items.map(nameOf))
  const isComplete = page.nextId === undefined && !named.has(undefined)
  const gone = isComplete ? carry.known.filter(id => !named.has(id)) : []
  const known = new Set([...carry.known, ...listed.map(({ value }) => value.resourceUuid)])
  return {
    rows: {
      'classroom.resource': [
        ...listed.map(item => resourceRow(item, page)),
        ...gone.map(id => removedRow(id, page)),
      ],
    },
    carry: { ...carry, known: [...known].filter(id => !gone.includes(id)) },
    room: { kind: 'incarnation', incarnation: carry.incarnation, opens: false },
    follow: 'next',
    rejects,
    hints: [],
    unfinished: listed.some(
      ({ value }) => (value.taskProgress?.convertedPercentage ?? converted) < converted,
    ),
  }
}

/** Also of an item that cannot be read otherwise: it is there all the same. */
function nameOf(item: Json): string | undefined {
  const id = isObject(item) ? item.resourceUuid : undefined
  return typeof id === 'string' ? id : undefined
}

function resourceRow({ value, raw }: Read<ResourceItem>, page: Page): ResourceRow {
  const updateTime = notAfter(latestBelieved(page), timestamp(value.updateTime))
  return {
    room_uuid: page.series,
    ...resourceFields(value, raw),
    updated_at: updateTime,
    removed_at: null,
    extra: fieldsBeside(columns, raw, { updateTime }),
  }
}

/** All else stays as it was last listed. */
function removedRow(resource_uuid: string, page: Page): ResourceRow {
  return {
    room_uuid: page.series,
    resource_uuid,
    resource_name: null,
    ext: null,
    size: null,
    url: null,
    task_uuid: null,
    task_progress: null,
    updated_at: null,
    removed_at: receivedTime(page),
    extra: null,
  }
}
