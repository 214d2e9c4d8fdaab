import { type Incarnation, type StoredItem, untold } from '../../postgres/replay.ts'
import type { Json } from '../../rows/json.ts'
import type { RowSet } from '../../rows/rows.ts'
import { readCarry } from '../../streams/carry.ts'
import type { HarvestSettings, Page, QueueStream } from '../../streams/stream.ts'
import { WidgetCarry } from '../../streams/widgets/widget-carry.ts'

/**
 * Reads stored items of one widget of one incarnation of a room again, in the order of the log, with all that the
 * stream remembers from the beginning. An item that tells no time got that of the answer in which it was first heard
 * of, if the log had been read to its end before; neither is kept. Its rows say `untold` instead.
 */
export function itemReader(
  stream: QueueStream,
  { room, incarnation }: Incarnation,
  settings: HarvestSettings,
): (items: readonly StoredItem[]) => RowSet {
  let carry: Json = { incarnation }
  let cursor: string | null = null

  return items => {
    const page: Page = {
      series: room,
      cursor,
      purpose: 'read',
      items: items.map(({ data }) => data),
      nextId: onwards,
      answeredAt: untold,
      receivedAt: items[0]?.receivedAt ?? 0,
      settings,
    }
    // On the last page of a log that had been read to its end everything is new and told at once; but only a page
    // that others follow counts among what came before them.
    const live = { ...readCarry(WidgetCarry, carry), caughtUp: true, seen: null }
    const { rows } = stream.harvest({ ...page, nextId: undefined }, live)
    carry = stream.harvest(page, carry).carry
    cursor = onwards
    const { 'classroom.widget_event': _, ...derived } = rows
    return derived
  }
}

const onwards = 'onwards'
