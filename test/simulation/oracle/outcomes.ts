import { canonical } from './canonical.ts'
import type { Examination, Finding } from './examination.ts'
import { pick, type Row, type StoredSchema, share } from './rows.ts'

/** A view that counts, the columns that say what of, and what they must be. */
interface View {
  readonly name: string
  readonly columns: readonly string[]
  readonly expected: (tables: StoredSchema) => readonly Row[]
}

const room = ['app_id', 'room_uuid', 'incarnation'] as const

const views: readonly View[] = [
  {
    name: 'quiz_result',
    columns: [
      ...[...room, 'quiz_id', 'state', 'asked', 'answered'],
      ...['correct', 'accuracy', 'reported_accuracy'],
    ],
    expected: quizResults,
  },
  {
    name: 'quiz_accuracy',
    columns: [...room, 'quizzes', 'asked', 'answered', 'correct', 'accuracy'],
    expected: quizAccuracies,
  },
  {
    name: 'poll_result',
    columns: [...room, 'poll_id', 'mode', 'state', 'option_index', 'option', 'votes', 'share'],
    expected: pollResults,
  },
]

/** What came of quizzes and polls follows from the answers and counts that are stored. */
export async function examineOutcomes(
  { rows }: Pick<Examination, 'rows'>,
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const found: Finding[] = []
  for (const { name, columns, expected } of views) {
    const is = await rows<Row>(`select ${columns.join(', ')} from classroom.${name}`)
    const [left, right] = [is, expected(stored)].map(
      all => new Set(all.map(row => canonical(columns.map(column => row[column] ?? null)))),
    ) as [Set<string>, Set<string>]
    if (left.size < is.length) found.push({ kind: 'duplicate', text: `classroom.${name}: rows twice` })
    const wrong = [
      ...[...left.difference(right)].map(text => ({ kind: 'different', text }) as const),
      ...[...right.difference(left)].map(text => ({ kind: 'lost', text }) as const),
    ]
    for (const { kind, text } of wrong) found.push({ kind, text: `classroom.${name}: ${text}` })
  }
  return found
}

function quizResults(tables: StoredSchema): readonly Row[] {
  const answers = groupOf(tables, 'quiz_submission', [...room, 'quiz_id'])
  const isOver = overRooms(tables)
  return tables.get('quiz')!.rows.map(quiz => {
    const last = lastOfEach(answers.get(keyOf(quiz, [...room, 'quiz_id'])) ?? [])
    const correct = last.filter(({ is_correct }) => is_correct === true).length
    return {
      ...pick(quiz, [...room, 'quiz_id']),
      ...{ state: stateOf(quiz, isOver), asked: quiz.total_count },
      ...{ answered: last.length, correct, accuracy: share(correct, last.length) },
      reported_accuracy: quiz.average_accuracy,
    }
  })
}

/** Of each student the answer with the highest ordinal; of those who are not named all, as nobody knows who is who. */
function lastOfEach(answers: readonly Row[]): readonly Row[] {
  const inOrder = answers.toSorted((one, other) => Number(one.ordinal) - Number(other.ordinal))
  const last = new Map(
    inOrder.map(row => [row.user_uuid === '' ? `#${row.ordinal}` : `@${row.user_uuid}`, row]),
  )
  return [...last.values()]
}

function quizAccuracies(tables: StoredSchema): readonly Row[] {
  const classes = Map.groupBy(quizResults(tables), row => keyOf(row, room))
  return [...classes.values()].map(own => {
    const sum = (column: string) => {
      const said = own.filter(row => (row[column] ?? null) !== null)
      return said.length === 0 ? null : said.reduce((all, row) => all + Number(row[column]), 0)
    }
    const [answered, correct] = [sum('answered') ?? 0, sum('correct') ?? 0]
    return {
      ...pick(own[0]!, room),
      ...{ quizzes: own.length, asked: sum('asked'), answered, correct, accuracy: share(correct, answered) },
    }
  })
}

const modes: Readonly<Record<string, string>> = { 1: 'single choice', 2: 'multiple choice' }

/**
 * Every option of every poll: those that it asks for, that were counted, and that somebody chose. The last count of the
 * provider holds, and where there is none the last votes do. Of a multiple choice the shares come to more than 1: each
 * is told as that of those who voted.
 */
function pollResults(tables: StoredSchema): readonly Row[] {
  const key = [...room, 'poll_id'] as const
  const [tallies, submissions] = [groupOf(tables, 'poll_tally', key), groupOf(tables, 'poll_submission', key)]
  const isOver = overRooms(tables)
  return tables.get('poll')!.rows.flatMap(poll => {
    const items = poll.items as Readonly<Record<string, unknown>> | null
    const counts = new Map((tallies.get(keyOf(poll, key)) ?? []).map(row => [Number(row.option_index), row]))
    const votes = lastOfEach(submissions.get(keyOf(poll, key)) ?? [])
      .map(({ select_index }) => new Set(select_index as readonly number[] | null))
      .filter(({ size }) => size > 0)
    const asked = typeof items === 'object' ? Object.keys(items ?? {}).filter(name => /^\d+$/.test(name)) : []
    const options = new Set([...asked.map(Number), ...counts.keys(), ...votes.flatMap(vote => [...vote])])
    const isCounted = [...counts.values()].some(({ num }) => Number(num ?? 0) > 0)
    return [...options].map(option_index => {
      const chosen = votes.filter(vote => vote.has(option_index)).length
      const { num, percentage } = counts.get(option_index) ?? {}
      const counted = share(Number(num ?? chosen), votes.length)
      return {
        ...{ ...pick(poll, key), option_index, mode: modes[String(poll.mode)], state: stateOf(poll, isOver) },
        option: items?.[String(option_index)] ?? null,
        votes: num ?? chosen,
        share: percentage ?? counted ?? (Number(num ?? chosen) === 0 && isCounted ? 0 : null),
      }
    })
  })
}

/** Rooms that ended, or that nobody can ask about any more. */
function overRooms(tables: StoredSchema): ReadonlySet<string> {
  const over = tables
    .get('room')!
    .rows.filter(
      ({ ended_at, forgotten_at, valid_to }) =>
        ended_at !== null || forgotten_at !== null || valid_to !== null,
    )
  return new Set(over.map(row => keyOf(row, room)))
}

/** What nobody ended is over with its class. */
function stateOf(question: Row, isOver: ReadonlySet<string>): unknown {
  return question.state !== null && isOver.has(keyOf(question, room)) ? 'ended' : question.state
}

function groupOf(tables: StoredSchema, table: string, key: readonly string[]) {
  return Map.groupBy(tables.get(table)!.rows, row => keyOf(row, key))
}

function keyOf(row: Row, key: readonly string[]): string {
  return key.map(column => row[column]).join(' ')
}
