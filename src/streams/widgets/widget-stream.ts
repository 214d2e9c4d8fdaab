import type { z } from 'zod'
import { type Listing, widgetStates, withRegion } from '../../provider/classroom/index.ts'
import type { Operation } from '../../provider/operation.ts'
import { type Widget, widgetEvent } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import { isLast, type Page, type ReadingSettings, type Reject } from '../page.ts'
import { roomCadence } from '../parts/cadence.ts'
import { bySequence, highest } from '../parts/holes.ts'
import { isSaid, mergeRows } from '../parts/items.ts'
import { nothingNew, readState, restart, type ToRowsWith, withState } from '../parts/stream-state.ts'
import { latestBelieved } from '../parts/values.ts'
import type { LogStream } from '../stream.ts'
import { beginning, type Change, readItems, WidgetState } from './read-items.ts'

/** A stream over the log of one widget of each room: all widgets are asked and carried on alike. */
export function widgetStream<T extends Question>(
  named: Pick<LogStream, 'name' | 'title' | 'writes'> & { readonly operation: Operation & Listing<unknown> },
  log: WidgetLog<T>,
): LogStream {
  const stream: LogStream = {
    ...named,
    writes: [widgetEvent, ...named.writes],
    kind: 'log',
    read: named.operation.readBatch,
    source: 'log',
    scope: 'room',
    needs: ['room-events'],
    ...roomCadence('15s'),
    configured: ({ widgetPath }) =>
      widgetPath === 'without-region' ? stream : { ...stream, operation: withRegion(named.operation) },
    request: cursor => (cursor === null ? {} : { nextId: cursor }),
    toRows: withState(WidgetState, (page, streamState) => rowsOfWidget(log, page, streamState)),
    rewind: stored => ({ ...readState(WidgetState, stored), fold: null, lost: false, held: null }),
    rereads: stored => readState(WidgetState, stored).lost,
    again: stored => nothingNew(readState(WidgetState, stored)),
  }
  return stream
}

/** What a widget makes of the changes of one page. */
export interface WidgetReading {
  readonly rows: RowSet
  readonly rejects: readonly Reject[]
  /** The quiz or poll last started, by now. */
  readonly question: string | null
}

export interface WidgetContext {
  readonly room: string
  readonly settings: ReadingSettings
  /** The quiz or poll last started before the page. */
  readonly question: string | null
  /** No time after it is believed. */
  readonly latest: Timestamp
}

interface WidgetLog<T extends Question> {
  readonly widget: Widget
  readonly schema: z.ZodType<T>
  /** Whether a change starts the quiz or poll that it names. */
  readonly starts: (change: Change<T>) => boolean
  readonly read: (changes: readonly Change<T>[], context: WidgetContext) => WidgetReading
}

/**
 * Reads one page of a widget's log. As with the log of a room, the stored cursor is that of the last page and
 * the fold is what was known before it, so that the page can be read again and shows what was appended.
 */
function rowsOfWidget<T extends Question>(
  { widget, schema, starts, read }: WidgetLog<T>,
  page: Page,
  streamState: WidgetState,
): ToRowsWith<WidgetState> {
  const fold = page.cursor === null ? beginning : streamState.fold
  if (fold === null) return restart(streamState)
  const { events, changes, rejects } = readItems(page, widget, schema, fold.position, streamState)
  const latest = latestBelieved(page)
  const context = { room: page.series, settings: page.settings, question: fold.question, latest }
  const reading = read(changes, context)
  const positions = events.map(({ position }) => position).toSorted(bySequence)
  const [lowest = null, last = null] = [positions[0], positions.at(-1)]
  const seen = highest(streamState.seen, last)
  const isLate = fold.isBackwards === true || isBegunLate(changes, starts, fold.question)
  const onwards = {
    ...(isLate && ({ isBackwards: true } as const)),
    position: fold.position + page.items.length,
    question: reading.question,
    first: page.cursor === null ? lowest : fold.first,
  }
  const isEnd = isLast(page)
  const isBehind = page.cursor !== null && last !== null && fold.first !== null && last < fold.first
  const isBackwards = isEnd && (isBehind || isLate)
  const before = page.cursor === null ? null : fold
  const onwardState = {
    ...streamState,
    lost: false,
    seen,
    caughtUp: streamState.caughtUp || isEnd,
    held: isEnd ? events.length : null,
    fold: page.nextId === undefined ? before : onwards,
  }
  return {
    rows: mergeRows([{ 'classroom.widget_event': events }, reading.rows]),
    // Places in a log that runs backwards tell nothing of what was read.
    streamState: isBackwards ? streamState : onwardState,
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'next',
    rejects: [...rejects, ...reading.rejects],
    hints: [],
    ...(isBackwards && { isBackwards }),
    unfinished: false,
  }
}

/**
 * Items without a number have no place but where they lie: a log that lists the newest first has another item there each
 * time. It shows by a quiz or poll that is started behind what the page tells of it; `question` was started before.
 */
function isBegunLate<T extends Question>(
  changes: readonly Change<T>[],
  starts: (change: Change<T>) => boolean,
  question: string | null,
): boolean {
  const begun = new Set([question])
  const unbegun = new Set<string>()
  for (const change of changes.filter(({ item }) => !isSaid(item.sequence))) {
    const named = change.value.popupQuizId || change.value.pollId
    if (!named || begun.has(named)) continue
    if (!starts(change)) unbegun.add(named)
    else if (unbegun.has(named)) return true
    else begun.add(named)
  }
  return false
}

/**
 * The quiz or poll last started, where a change shows that it is over though nobody ended it: a widget shows one at a
 * time, and none while it is inactive. Nothing tells when it ended.
 */
export function leftBehind<T extends Question>(
  { value, state, isKnown }: Change<T>,
  isStart: boolean,
  question: string | null,
): string | null {
  if (isKnown) return null
  const isOver = isStart ? (value.popupQuizId ?? value.pollId) !== question : state === widgetStates.inactive
  return isOver ? question : null
}

interface Question {
  readonly popupQuizId?: string | null | undefined
  readonly pollId?: string | null | undefined
}

/** Sets aside what is told of a quiz or poll that has no name and that no item before it began. */
export function unnamed(of: string, { item }: Change<unknown>): Reject {
  const detail = `changeProperties.extra.${of}: must be there, for none was begun before`
  return { reason: 'missing_key', detail, item }
}

/** Takes what a newer statement says over an older one; what it leaves open stays. */
export function overlay<T extends object>(older: T | undefined, newer: T): T {
  const said = Object.entries(newer).filter(([, value]) => value !== null)
  return older ? { ...older, ...Object.fromEntries(said) } : newer
}
