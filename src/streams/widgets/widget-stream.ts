import { widgetBatch } from '../../provider/classroom/index.ts'
import type { Operation } from '../../provider/operation.ts'
import { readCarry, withCarry } from '../carry.ts'
import type { CursorStreamName, QueueStream } from '../stream.ts'
import { WidgetCarry } from './widget-carry.ts'
import { harvestWidget, type WidgetLog } from './widget-log.ts'

/** A stream over the log of one widget of each room: all widgets are asked and carried on alike. */
export function widgetStream<T>(
  named: { readonly name: CursorStreamName; readonly title: string; readonly operation: Operation },
  log: WidgetLog<T>,
): QueueStream {
  return {
    ...named,
    kind: 'queue',
    read: widgetBatch.read,
    source: 'log',
    scope: 'room',
    request: cursor => (cursor === null ? {} : { nextId: cursor }),
    harvest: withCarry(WidgetCarry, (page, carry) => harvestWidget(log, page, carry)),
    rewind: stored => ({ ...readCarry(WidgetCarry, stored), fold: null, lost: false }),
    rereads: stored => readCarry(WidgetCarry, stored).lost,
  }
}
