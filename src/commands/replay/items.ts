import { type Incarnation, type StoredItem, untold } from '../../postgres/replay.ts'
import type { Json } from '../../rows/json.ts'
import type { RowSet } from '../../rows/rows.ts'
import { after } from '../../streams/sequence.ts'
import type { LogStream, Page, ReadingSettings, Reject } from '../../streams/stream.ts'
import { readState } from '../../streams/stream-state.ts'
import { beginning, WidgetState } from '../../streams/widgets/widget-state.ts'

/**
 * Reads stored items of one widget of one incarnation of a room again, in the order of the log, with all that the
 * stream remembers from the beginning. An item that tells no time got that of the answer in which it was first heard
 * of, if the log had been read to its end before; neither is kept. Its rows say `untold` instead.
 *
 * An item without a number has its place in the log, counted with those that were set aside and not kept: so items make
 * a page of their own, with the rows of one page together, wherever a place is left out.
 */
export function itemReader(
  stream: LogStream,
  { room, incarnation }: Incarnation,
  settings: ReadingSettings,
  onReject: (reject: Reject) => void,
): (items: readonly StoredItem[]) => readonly RowSet[] {
  let streamState = WidgetState.parse({ incarnation })

  function readRun(run: readonly StoredItem[]): RowSet {
    const page: Page = {
      series: room,
      cursor: onwards,
      purpose: 'read',
      items: run.map(({ data }) => data),
      nextId: onwards,
      answeredAt: untold,
      receivedAt: run[0]!.receivedAt,
      settings,
    }
    const first = run[0]!.position
    // A place beyond 2^53 is a number that the item has itself.
    const position = Number.isSafeInteger(first) ? Number(first) : 0
    const known: WidgetState = { ...streamState, fold: { ...(streamState.fold ?? beginning), position } }
    // On the last page of a log that had been read to its end everything is new and told at once; but only a page
    // that others follow counts among what came before them.
    const { rows, rejects } = stream.toRows(
      { ...page, nextId: undefined },
      { ...known, caughtUp: true, seen: null },
    )
    rejects.forEach(onReject)
    streamState = readState<WidgetState & Json>(WidgetState, stream.toRows(page, known).streamState)
    const { 'classroom.widget_event': _, ...derived } = rows
    return derived
  }

  return items => runsOf(items).map(readRun)
}

const onwards = 'onwards'

/** Items whose places follow each other. */
function runsOf(items: readonly StoredItem[]): readonly (readonly StoredItem[])[] {
  const runs: StoredItem[][] = []
  for (const item of items) {
    const last = runs.at(-1)?.at(-1)
    if (last && after(last.position) === item.position) runs.at(-1)!.push(item)
    else runs.push([item])
  }
  return runs
}
