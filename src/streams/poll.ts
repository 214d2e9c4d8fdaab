import type { z } from 'zod'
import {
  poll as operation,
  PollChange,
  PollDetail,
  questionStates,
  widgetStates,
} from '../provider/classroom/index.ts'
import {
  type PollRow,
  type PollSubmissionRow,
  type PollTallyRow,
  pollSubmission,
  poll as pollTable,
  pollTally,
} from '../tables/classroom.ts'
import { blank } from '../tables/table.ts'
import type { Reject } from './page.ts'
import { fieldsWithout, isSaid, judge } from './parts/items.ts'
import type { Change } from './widgets/read-items.ts'
import {
  leftBehind,
  overlay,
  unnamed,
  type WidgetContext,
  type WidgetReading,
  widgetStream,
} from './widgets/widget-stream.ts'

type Poll = Change<z.infer<typeof PollChange>>

/**
 * The polls of a room (operation 18): each is started, answered and ended; between, summaries tell how many
 * chose each option. What an item is shows in the fields it has.
 */
export const poll = widgetStream(
  {
    name: 'poll',
    title: 'Polls of each room, with their submissions',
    operation,
    writes: [pollTable, pollSubmission, pollTally],
  },
  { widget: 'poll', schema: PollChange, starts, read },
)

const fields = Object.keys(PollChange.shape)
const columns = new Set(fields)
const optionIndex = /^\d{1,9}$/

function read(changes: readonly Poll[], context: WidgetContext): WidgetReading {
  const polls = new Map<string, PollRow>()
  const tallies = new Map<string, PollTallyRow>()
  const submissions: PollSubmissionRow[] = []
  const rejects: Reject[] = []
  let { question } = context
  for (const change of changes) {
    const over = leftBehind(change, starts(change), question)
    if (over !== null) {
      const ended = { ...blank(pollTable), room_uuid: context.room, poll_id: over, state: 'ended' } as const
      polls.set(over, overlay(polls.get(over), ended))
    }
    if (starts(change)) question = change.value.pollId || question
    const pollId = change.value.pollId || question
    if (!fields.some(field => isSaid(change.raw[field]) && change.raw[field] !== '')) continue
    if (pollId === null) rejects.push(unnamed('pollId', change))
    else if (isSaid(change.raw.selectIndex)) submissions.push(submissionRow(change, pollId, context))
    else if (!change.isKnown) {
      polls.set(pollId, overlay(polls.get(pollId), pollRow(change, pollId, context)))
      const tally = readTally(change, pollId, context)
      for (const row of tally.rows) tallies.set(`${row.option_index} ${pollId}`, row)
      rejects.push(...tally.rejects)
    }
  }
  const rows = {
    'classroom.poll': [...polls.values()],
    'classroom.poll_submission': submissions,
    'classroom.poll_tally': [...tallies.values()],
  }
  return { rows, rejects, question }
}

/** The first summary of a poll says what it asks and that it runs. */
function starts({ value, state, raw }: Poll): boolean {
  if (!value.pollId || isSaid(raw.selectIndex)) return false
  const running = value.pollingState ?? value.pollState
  if (isSaid(running)) return running === questionStates.inProgress
  return state === widgetStates.active || isSaid(value.pollItems)
}

/** One who submitted and is not told has no name; the place in the log tells submissions apart. */
function submissionRow(
  { position, value, raw, item, unread, at }: Poll,
  pollId: string,
  context: WidgetContext,
): PollSubmissionRow {
  const user = item[context.settings.submitter]
  return {
    room_uuid: context.room,
    poll_id: pollId,
    user_uuid: user?.userUuid ?? '',
    ordinal: position,
    user_name: user?.userName ?? null,
    select_index: value.selectIndex ?? null,
    at,
    extra: fieldsWithout(columns, { ...raw, ...unread }, value),
  }
}

function pollRow(change: Poll, pollId: string, { room }: WidgetContext): PollRow {
  const { value, raw, item, unread, at } = change
  const hasStarted = starts(change)
  const state = stateOf(change)
  return {
    room_uuid: room,
    poll_id: pollId,
    mode: value.mode ?? null,
    items: raw.pollItems ?? null,
    state,
    started_at: hasStarted ? at : null,
    ended_at: state === 'ended' ? at : null,
    started_by: hasStarted ? (item.operator?.userUuid ?? null) : null,
    extra: fieldsWithout(columns, hasStarted ? { ...raw, ...unread } : raw, value),
  }
}

function stateOf(change: Poll): PollRow['state'] {
  const state = change.value.pollingState ?? change.value.pollState
  if (state === questionStates.ended) return 'ended'
  return state === questionStates.inProgress || starts(change) ? 'running' : null
}

/** Options are judged one by one, so that a bad one spoils no other. */
function readTally(
  { raw, value }: Poll,
  pollId: string,
  { room }: WidgetContext,
): { readonly rows: readonly PollTallyRow[]; readonly rejects: readonly Reject[] } {
  const details = raw.pollDetails
  const rows: PollTallyRow[] = []
  const rejects: Reject[] = []
  const path = 'changeProperties.extra.pollDetails'
  if (isSaid(details) && !isSaid(value.pollDetails))
    rejects.push({ reason: 'wrong_type', detail: `${path}: must be an object or a list`, item: raw })
  for (const [key, detail] of Object.entries(value.pollDetails ?? {})) {
    const item = Object.fromEntries([[key, detail]])
    if (!optionIndex.test(key)) {
      rejects.push({ reason: 'out_of_range', detail: `${path}: a key is no index of an option`, item })
      continue
    }
    const judged = judge(PollDetail, detail, `${path}.${key}`, item)
    if (!judged.ok) rejects.push(judged.reject)
    else {
      const { num, percentage } = judged.value
      rows.push({
        room_uuid: room,
        poll_id: pollId,
        option_index: Number(key),
        num: num ?? null,
        percentage: percentage ?? null,
      })
    }
  }
  return { rows, rejects }
}
