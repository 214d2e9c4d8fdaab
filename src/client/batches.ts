import {
  type BatchShape,
  type EventRecord,
  eventBatch,
  type RecordingItem,
  type ResourceItem,
  recordingBatch,
  resourceBatch,
  type WidgetItem,
  widgetBatch,
} from '../provider/classroom/index.ts'
import type { Operations } from '../provider/index.ts'
import type { Answer, Named } from './types.ts'

/** What the operations that serve items serve. */
interface Items {
  readonly roomEvents: EventRecord
  readonly appEvents: EventRecord
  readonly recordings: RecordingItem
  readonly resources: ResourceItem
  readonly popupQuiz: WidgetItem
  readonly poll: WidgetItem
}

const shapes: Readonly<Record<keyof Items, BatchShape>> = {
  roomEvents: eventBatch,
  appEvents: eventBatch,
  recordings: recordingBatch,
  resources: resourceBatch,
  popupQuiz: widgetBatch,
  poll: widgetBatch,
}

export interface Batch<Item> {
  /** As they came: nobody has checked what stands in them. */
  readonly items: readonly Item[]
  /** What the next call passes on; undefined where the listing ends. */
  readonly nextId: string | undefined
}

/**
 * The items of a classroom's answer. The contract leaves open how `data` holds them; this reads a list, a list in an
 * object, and an item by itself.
 */
export function readBatch<N extends keyof Items>(
  operation: N,
  answer: Answer<Operations['classroom'][N]>,
): Batch<Named<Items[N]>> {
  return shapes[operation].read(answer) as Batch<Named<Items[N]>>
}
