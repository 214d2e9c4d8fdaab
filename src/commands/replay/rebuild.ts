import type { Rebuild } from '../../postgres/replay.ts'
import type { RowSet } from '../../rows/rows.ts'
import { mergeRows } from '../../streams/row-sets.ts'
import type { FeedStream, LogStream, ReadingSettings, Reject } from '../../streams/stream.ts'
import { eventReader } from './events.ts'
import { itemReader } from './items.ts'
import { watchLife } from './life.ts'
import { judgeRoom } from './room.ts'

/** The streams whose rows are rebuilt. */
export interface ReplayStreams {
  readonly 'app-events': FeedStream
  readonly 'room-events': LogStream
  readonly 'popup-quiz': LogStream
  readonly poll: LogStream
}

const widgets = [
  ['popupQuiz', 'popup-quiz'],
  ['poll', 'poll'],
] as const

/** How much has been read again. */
export interface Volume {
  readonly events: number
  readonly items: number
}

/** Rebuilds one incarnation of a room, a batch at a time; `onRead` hears of every batch, `onReject` of what cannot be read. */
export function rebuildWith(
  streams: ReplayStreams,
  settings: ReadingSettings,
  onRead: (volume: Volume) => void,
  onReject: (reject: Reject) => void = () => {},
): Rebuild {
  return async (place, raw, put) => {
    const life = watchLife(raw.stored?.ended_at ?? null)
    const readEvent = eventReader(streams, place, settings, onReject)
    for await (const batch of raw.events) {
      const rows: RowSet[] = []
      for (const event of batch) {
        const read = readEvent(event)
        life.see(read)
        rows.push(read.rows)
      }
      await put(mergeRows(rows))
      onRead({ events: batch.length, items: 0 })
    }
    for (const [widget, stream] of widgets) {
      const readItems = itemReader(streams[stream], place, settings, onReject)
      for await (const batch of raw.items(widget)) {
        for (const rows of readItems(batch)) await put(rows)
        onRead({ events: 0, items: batch.length })
      }
    }
    return judgeRoom(raw.stored, life.evidence(), raw.next)
  }
}
