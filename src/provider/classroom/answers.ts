import { z } from 'zod'

/** Most items in one batch of recordings, room events or (by default) widget data. */
export const batchSize = 100

const envelope = { code: z.int(), msg: z.string().nullish(), ts: z.number().nullish() }

/** What every answer has, refusals included: business code, details, server time in ms. */
export const Envelope = z.looseObject(envelope)
export type Envelope = z.infer<typeof Envelope>

const object = z.looseObject({})

/**
 * An answer with `data`. The document leaves the shape of a batch open, so an array, one object,
 * `{list, nextId, total, count}` and null all pass; readBatch makes one thing of them.
 */
export const BatchAnswer = z.looseObject({
  ...envelope,
  data: z
    .union([
      z.array(z.unknown()),
      z.looseObject({
        list: z.union([z.array(z.unknown()), object]).nullish(),
        nextId: z.union([z.string(), z.number(), z.bigint()]).nullish(),
      }),
    ])
    .nullish(),
})
export type BatchAnswer = z.infer<typeof BatchAnswer>

export interface Batch {
  /** Unchecked: each is parsed alone, so that a bad one does not spoil its page. */
  readonly items: readonly unknown[]
  /** What the next call passes on; undefined where the listing ends. */
  readonly nextId: string | undefined
}

const batchKeys: ReadonlySet<string> = new Set(['list', 'nextId', 'total', 'count'])

/** Items and nextId of an answer, whichever way its data is shaped. An object that is no batch is one item. */
export function readBatch(answer: BatchAnswer): Batch {
  const { data } = answer
  if (data === null || data === undefined) return { items: [], nextId: undefined }
  if (Array.isArray(data)) return { items: data, nextId: undefined }
  if (!isBatch(data)) return { items: [data], nextId: undefined }
  return { items: itemsOf(data.list), nextId: readNextId(data.nextId) }
}

function isBatch(data: object): boolean {
  const keys = Object.keys(data)
  return keys.includes('list') || keys.includes('nextId') || keys.every(key => batchKeys.has(key))
}

function itemsOf(list: unknown): readonly unknown[] {
  if (list === null || list === undefined) return []
  return Array.isArray(list) ? list : [list]
}

function readNextId(nextId: string | number | bigint | null | undefined): string | undefined {
  if (nextId === null || nextId === undefined || nextId === '') return undefined
  return String(nextId)
}
