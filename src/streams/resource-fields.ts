import type { ResourceItem } from '../provider/classroom/index.ts'
import type { JsonObject } from './items.ts'

/** The columns that a resource fills in the list and in events alike. */
export function resourceFields(value: ResourceItem, raw: JsonObject) {
  return {
    resource_uuid: value.resourceUuid,
    resource_name: value.resourceName ?? null,
    ext: value.ext ?? null,
    size: value.size ?? null,
    url: value.url ?? null,
    task_uuid: value.taskUuid ?? null,
    task_progress: raw.taskProgress ?? null,
  }
}

/** The fields that those columns come from. */
export const resourceColumns = [
  'resourceUuid',
  'resourceName',
  'ext',
  'size',
  'url',
  'taskUuid',
  'taskProgress',
] as const
