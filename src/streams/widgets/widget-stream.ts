import { widgetBatch, withRegion } from '../../provider/classroom/index.ts'
import { widgetEvent } from '../../tables/classroom.ts'
import { roomCadence } from '../cadence.ts'
import type { LogStream } from '../stream.ts'
import { readState, withState } from '../stream-state.ts'
import { rowsOfWidget, type WidgetLog } from './widget-log.ts'
import { WidgetState } from './widget-state.ts'

/** A stream over the log of one widget of each room: all widgets are asked and carried on alike. */
export function widgetStream<T>(
  named: Pick<LogStream, 'name' | 'title' | 'operation' | 'writes'>,
  log: WidgetLog<T>,
): LogStream {
  const stream: LogStream = {
    ...named,
    writes: [widgetEvent, ...named.writes],
    kind: 'log',
    read: widgetBatch.read,
    source: 'log',
    scope: 'room',
    needs: ['room-events'],
    ...roomCadence('15s'),
    isUnannounced: true,
    configured: ({ widgetPath }) =>
      widgetPath === 'without-region' ? stream : { ...stream, operation: withRegion(named.operation) },
    request: cursor => (cursor === null ? {} : { nextId: cursor }),
    toRows: withState(WidgetState, (page, streamState) => rowsOfWidget(log, page, streamState)),
    rewind: stored => ({ ...readState(WidgetState, stored), fold: null, lost: false }),
    rereads: stored => readState(WidgetState, stored).lost,
  }
  return stream
}
