import { createHash } from 'node:crypto'
import { canonical, storable } from './canonical.ts'
import type { TrueItem, TrueRoom } from './classroom-truth.ts'
import { type Fields, fieldsOf, without } from './event-rows.ts'
import type { Finding, Moments } from './examination.ts'
import type { OurClocks } from './our-clocks.ts'
import { compareTable, type ExpectedRow, keyOf, orNull, type Row, Rule, type StoredSchema } from './rows.ts'

export interface WidgetContext {
  readonly stored: StoredSchema
  /** Whether the items that numbered from 1 have their number on them; else their place counts, from 0. */
  readonly areNumbered: boolean
  readonly submitter: Kept['submitter']
  /** Moments at which an answer about the widget of the room was given. */
  readonly answered: (room: TrueRoom, widget: TrueItem['widget']) => Moments
  readonly isDue: (room: TrueRoom, item: TrueItem) => boolean
  readonly clocks: OurClocks
  readonly end: number
}

type Expected = Map<string, ExpectedRow>
interface Made {
  readonly [table: string]: Expected
}

/** Each item of the quiz and poll logs once, and what those that are stored make of quizzes, polls, answers and votes. */
export function examineWidgets(rooms: readonly TrueRoom[], context: WidgetContext): readonly Finding[] {
  const { stored, areNumbered, submitter, isDue } = context
  const items = stored.get('widget_event')!
  const kept = new Set(items.rows.map(row => keyOf(items.key, row)))
  const made = {
    ...{ widget_event: new Map<string, ExpectedRow>(), quiz: new Map<string, ExpectedRow>() },
    ...{ quiz_submission: new Map<string, ExpectedRow>(), poll: new Map<string, ExpectedRow>() },
    ...{ poll_submission: new Map<string, ExpectedRow>(), poll_tally: new Map<string, ExpectedRow>() },
  }
  const skipped: Finding[] = []
  for (const room of rooms) {
    const place = `${room.app} ${room.roomUuid} ${room.stored}`
    for (const [widget, log] of Map.groupBy(room.items, one => one.widget)) {
      const answers = context.answered(room, widget)
      const keys = log.map(one => `${place} ${widget} ${one.position - (areNumbered ? 0 : 1)}`)
      const last = keys.findLastIndex(key => kept.has(key))
      for (const [n, item] of log.entries()) {
        made.widget_event.set(keys[n]!, { cells: rawCells(item, context), isDue: isDue(room, item) })
        if (!kept.has(keys[n]!)) {
          if (n < last)
            skipped.push({ kind: 'lost', text: `widget_event ${keys[n]}: the log was read beyond it` })
          continue
        }
        const ordinal = keys[n]!.slice(keys[n]!.lastIndexOf(' ') + 1)
        const at = orNull(
          new Rule(
            'when it was told',
            value => typeof value === 'number' && value >= item.at && answers.has(value),
          ),
        )
        if (!item.malformed) derive(made, { place, ordinal, item, at, submitter })
      }
    }
  }
  return [
    ...Object.entries(made).flatMap(([table, expected]) => compareTable(stored.get(table)!, expected)),
    ...skipped,
    ...hashesOf(items.rows),
  ]
}

function rawCells({ item, at }: TrueItem, { clocks, end }: WidgetContext): Row {
  const { changeProperties, cause, action } = fieldsOf(item)
  return {
    data: storable(item),
    content_hash: new Rule('a SHA-256', value => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)),
    received_at: clocks.between(at, end),
    state: fieldsOf(changeProperties).state,
    cause,
    action,
  }
}

/** Equal items have equal hashes, and no others have. */
function hashesOf(rows: readonly Row[]): readonly Finding[] {
  const byHash = new Map<unknown, string>()
  const byText = new Map<string, unknown>()
  const wrong = rows.filter(({ content_hash, data }) => {
    const text = createHash('sha1').update(canonical(data)).digest('hex')
    const isSame = (byHash.get(content_hash) ?? text) === text
    const isOne = (byText.get(text) ?? content_hash) === content_hash
    byHash.set(content_hash, text)
    byText.set(text, content_hash)
    return !(isSame && isOne)
  })
  return wrong.map(({ app_id, room_uuid, position }) => ({
    kind: 'different',
    text: `widget_event ${app_id} ${room_uuid} ${position} content_hash: not that of its item`,
  }))
}

interface Kept {
  readonly place: string
  readonly ordinal: string
  readonly item: TrueItem
  /** The field of an answer that names its student. */
  readonly submitter: 'operator' | 'fromUser'
  /** When a change happened that tells no time. */
  readonly at: Rule
}

function derive(made: Made, kept: Kept): void {
  const { widget, step } = kept.item
  if (step === 'submission') {
    if (widget === 'popupQuiz') answerTo(made.quiz_submission!, kept)
    else voteIn(made.poll_submission!, kept)
  } else if (widget === 'popupQuiz') summary(made.quiz!, kept, quizCells)
  else {
    summary(made.poll!, kept, pollCells)
    tally(made.poll_tally!, kept)
  }
}

/** What changed, whether its keys are dotted or nested, and what a student's data says beside it. */
function changed({ item }: TrueItem): Fields {
  const { extra, state: _, ...beside } = fieldsOf(fieldsOf(item).changeProperties)
  const flat = Object.entries(beside).map(([key, value]) => [key.replace(/^extra\./, ''), value])
  return { ...fieldsOf(extra), ...Object.fromEntries(flat) }
}

/** The teacher, of all but answers. */
function doer({ item }: TrueItem): Fields {
  return fieldsOf(fieldsOf(item).operator)
}

/** The student of an answer, where the deployment names them. */
function studentOf({ item, submitter }: Kept): Fields {
  return fieldsOf(fieldsOf(item.item)[submitter])
}

function answerTo(rows: Expected, kept: Kept): void {
  const { place, ordinal, item } = kept
  const change = changed(item)
  const { userUuid, userName } = studentOf(kept)
  rows.set(`${place} ${item.id} ${userUuid ?? ''} ${ordinal}`, {
    isDue: true,
    cells: {
      user_name: userName,
      selected_items: storable(change.selectedItems),
      is_correct: change.isCorrect,
      committed_at: change.lastCommitTime,
      extra: without(change, 'lastCommitTime', 'popupQuizId', 'selectedItems', 'isCorrect'),
    },
  })
}

function voteIn(rows: Expected, kept: Kept): void {
  const { place, ordinal, item, at } = kept
  const change = changed(item)
  const { userUuid, userName } = studentOf(kept)
  const options = (change.selectIndex as readonly unknown[]).map(option =>
    typeof option === 'number' ? option : fieldsOf(option).index,
  )
  const isRead = options.every(option => typeof option === 'number')
  rows.set(`${place} ${item.id} ${userUuid ?? ''} ${ordinal}`, {
    isDue: true,
    cells: {
      user_name: userName,
      select_index: isRead ? options : null,
      at,
      extra: isRead ? without(change, 'pollId', 'selectIndex') : without(change, 'pollId'),
    },
  })
}

/** Puts what an item says over what those before it said; what it leaves open stays. */
function summary(rows: Expected, kept: Kept, cells: (kept: Kept, change: Fields) => Row): void {
  const key = `${kept.place} ${kept.item.id}`
  const told = Object.entries(cells(kept, changed(kept.item))).filter(([, value]) => value !== undefined)
  if (kept.item.step === 'start') putAway(rows, kept.place)
  rows.set(key, { isDue: true, cells: { ...rows.get(key)?.cells, ...Object.fromEntries(told) } })
}

/** What nobody ended is over when a room shows the next. */
function putAway(rows: Expected, place: string): void {
  for (const [key, row] of rows)
    if (key.startsWith(`${place} `) && row.cells.state === 'running')
      rows.set(key, { ...row, cells: { ...row.cells, state: 'ended' } })
}

function quizCells({ item, at }: Kept, change: Fields): Row {
  const hasStarted = item.step === 'start'
  return {
    ...(hasStarted && { ended_at: null, selected_count: null, extra: null }),
    correct_items: storable(change.correctItems),
    items: storable(change.items),
    correct_count: change.correctCount,
    selected_count: change.selectedCount ?? (hasStarted ? null : undefined),
    total_count: change.totalCount,
    average_accuracy: change.averageAccuracy,
    ...(hasStarted && { state: 'running', started_at: change.receiveQuestionTime }),
    ...(hasStarted && { started_by: doer(item).userUuid ?? null }),
    ...(item.step === 'end' && { state: 'ended', ended_at: at }),
  }
}

function pollCells({ item, at }: Kept, change: Fields): Row {
  const hasStarted = item.step === 'start'
  return {
    ...(hasStarted && { mode: change.mode, items: storable(change.pollItems), extra: null, ended_at: null }),
    ...(hasStarted && { state: 'running', started_at: at, started_by: doer(item).userUuid ?? null }),
    ...(item.step === 'end' && { state: 'ended', ended_at: at }),
  }
}

function tally(rows: Expected, { place, item }: Kept): void {
  for (const [option, detail] of Object.entries(fieldsOf(changed(item).pollDetails))) {
    const { num, percentage } = fieldsOf(detail)
    rows.set(`${place} ${item.id} ${option}`, { isDue: true, cells: { num, percentage } })
  }
}
