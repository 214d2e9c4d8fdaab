import { anything, type ExpectedRow } from './expectation.ts'
import type { TruthRoom } from './truth.ts'
import { type Fields, isFields, timeOf, withoutTokens } from './values.ts'

type Entry = TruthRoom['quiz'][number]

/** The raw items of both widgets, and what they tell of quizzes, polls and those who took part. */
export function rowsOfWidgets({ quiz, poll }: TruthRoom): readonly ExpectedRow[] {
  return [...[...quiz, ...poll].map(rawRow), ...quizRows(quiz), ...pollRows(poll)]
}

/** An item has its own number, or else its place in the log from 0. */
function rawRow(entry: Entry): ExpectedRow {
  const { widget, item } = entry
  const { cause, action } = item as Fields
  const state = entry.step === 'start' ? 1 : null
  const columns = { widget, position: placeOf(entry), data: withoutTokens(item), state, cause, action }
  return { table: 'widget_event', columns }
}

function placeOf({ position, item }: Entry): string {
  return String('sequence' in item ? position : position - 1)
}

/** Finds a changed field wherever this deployment puts it. */
function field({ item }: Entry, name: string): unknown {
  const { changeProperties } = item as { readonly changeProperties?: unknown }
  if (!isFields(changeProperties)) return undefined
  const { extra } = changeProperties
  return (
    changeProperties[`extra.${name}`] ?? (isFields(extra) ? extra[name] : undefined) ?? changeProperties[name]
  )
}

function quizRows(log: readonly Entry[]): readonly ExpectedRow[] {
  const rows: ExpectedRow[] = []
  for (const [quiz_id, entries] of readable(log)) {
    const told = entries.filter(({ step }) => step !== 'submission')
    rows.push({
      table: 'quiz',
      columns: {
        quiz_id,
        correct_items: last(told, 'correctItems'),
        items: last(told, 'items'),
        correct_count: last(told, 'correctCount'),
        selected_count: last(told, 'selectedCount'),
        total_count: last(told, 'totalCount'),
        average_accuracy: last(told, 'averageAccuracy'),
        started_at: timeOf(last(told, 'receiveQuestionTime')),
        ...lifeOf(entries, log),
      },
    })
    for (const { entry, user_uuid, user_name, ordinal } of submissions(entries)) {
      rows.push({
        table: 'quiz_submission',
        columns: {
          ...{ quiz_id, user_uuid, user_name, ordinal },
          selected_items: field(entry, 'selectedItems'),
          is_correct: field(entry, 'isCorrect'),
          committed_at: timeOf(field(entry, 'lastCommitTime')),
          extra: null,
        },
      })
    }
  }
  return rows
}

function pollRows(log: readonly Entry[]): readonly ExpectedRow[] {
  const rows: ExpectedRow[] = []
  for (const [poll_id, entries] of readable(log)) {
    const told = entries.filter(({ step }) => step !== 'submission')
    const items = last(told, 'pollItems')
    rows.push({
      table: 'poll',
      columns: { poll_id, mode: last(told, 'mode'), items, ...lifeOf(entries, log) },
    })
    const details = last(told, 'pollDetails')
    for (const [option, detail] of Object.entries(isFields(details) ? details : {})) {
      const { num, percentage } = detail as Fields
      rows.push({ table: 'poll_tally', columns: { poll_id, option_index: Number(option), num, percentage } })
    }
    for (const { entry, user_uuid, user_name, ordinal } of submissions(entries)) {
      const select_index = field(entry, 'selectIndex')
      rows.push({
        table: 'poll_submission',
        columns: { ...{ poll_id, user_uuid, user_name, ordinal }, select_index, at: anything, extra: null },
      })
    }
  }
  return rows
}

function readable(log: readonly Entry[]): Iterable<[string, readonly Entry[]]> {
  return Map.groupBy(
    log.filter(({ malformed }) => !malformed),
    ({ id }) => id,
  )
}

/** The latest value that any of the entries gives. */
function last(entries: readonly Entry[], name: string): unknown {
  return entries.map(entry => field(entry, name)).findLast(value => value !== undefined) ?? null
}

/** What nobody ended is over when another one starts. */
function lifeOf(entries: readonly Entry[], log: readonly Entry[]): Fields {
  const start = entries.find(({ step }) => step === 'start')
  const lastStart = log.findLast(({ step, malformed }) => step === 'start' && !malformed)
  const isLeft = start !== undefined && lastStart?.id !== start.id
  const hasEnded = isLeft || entries.some(({ step }) => step === 'end')
  return { state: hasEnded ? 'ended' : 'running', started_by: start?.userUuid ?? null, extra: null }
}

/** Each answer of a student is told apart by its place. */
function submissions(entries: readonly Entry[]) {
  return entries
    .filter(({ step }) => step === 'submission')
    .map(entry => {
      const { userUuid: user_uuid } = entry
      return { entry, user_uuid, user_name: nameOf(entry), ordinal: placeOf(entry) }
    })
}

function nameOf({ item, userUuid }: Entry): unknown {
  const { operator, fromUser } = item as { readonly operator?: Fields; readonly fromUser?: Fields }
  return [operator, fromUser].find(person => person?.userUuid === userUuid)?.userName
}
