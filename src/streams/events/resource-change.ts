import { z } from 'zod'
import { ResourceChange, ResourceItem, resourceActions } from '../../provider/classroom/index.ts'
import type { ResourceChangeRow } from '../../tables/classroom.ts'
import { asText, fieldsWithout, type JsonObject, judgeEach, unreadFields } from '../parts/items.ts'
import { readerOf } from './event.ts'

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

const Lists = ResourceChange.extend({ resources: z.array(z.unknown()).nullish() })
const columns = new Set<string>(resourceColumns)

/** cmd 1003. */
export const resourceChange = readerOf(Lists, (value, raw) => {
  const { resources, operator, action } = value
  const unreadOperator = unreadFields(['operator'], raw, value)
  const { good, rejects } = judgeEach(ResourceItem, resources ?? [], 'data.resources')
  return {
    rejects,
    rows: event => ({
      'classroom.resource_change': good.map(({ value, raw, ordinal }) => ({
        ...event,
        ordinal,
        ...resourceFields(value, raw),
        action: actionOf(action),
        operator_uuid: operator?.userUuid ?? null,
        operator_name: operator?.userName ?? null,
        operator_role: asText(operator?.role),
        extra: fieldsWithout(columns, { ...raw, ...unreadOperator }),
      })),
    }),
  }
})

function actionOf(action: number | null | undefined): ResourceChangeRow['action'] {
  if (action === resourceActions.changed) return 'upsert'
  return action === resourceActions.deleted ? 'delete' : 'unknown'
}
