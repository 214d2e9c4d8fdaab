import { expect, it } from 'vitest'
import { examineOutcomes } from './outcomes.ts'
import type { Row, StoredTable } from './rows.ts'

const room = { app_id: 'alpha', room_uuid: 'algebra', incarnation: 1 }
const standing = { ...room, ended_at: 90_000, forgotten_at: null, valid_to: null }
const quiz = { ...room, quiz_id: 'q', state: 'running', total_count: 3, average_accuracy: 0.5 }
const poll = { ...room, poll_id: 'p', mode: 2, state: 'ended', items: { 0: 'yes', 1: 'no', 2: 'perhaps' } }

function table(name: string, rows: readonly Row[]): [string, StoredTable] {
  return [name, { name, key: [], columns: [], rows }]
}

function answer(user_uuid: string, ordinal: number, is_correct: boolean): Row {
  return { ...room, quiz_id: 'q', user_uuid, ordinal, is_correct }
}

function vote(user_uuid: string, ordinal: number, select_index: readonly number[]): Row {
  return { ...room, poll_id: 'p', user_uuid, ordinal, select_index }
}

/** Ada was right and then wrong, Bo the other way round; two votes of two for yes, one for no; of what nobody chose nothing is counted. */
const stored = new Map([
  ...[table('room', [standing]), table('quiz', [quiz]), table('poll', [poll])],
  table('quiz_submission', [
    ...[answer('ada', 1, true), answer('ada', 4, false)],
    ...[answer('bo', 3, true), answer('bo', 2, false)],
  ]),
  table('poll_submission', [vote('ada', 1, [2]), vote('ada', 2, [0, 1]), vote('bo', 3, [0])]),
  table(
    'poll_tally',
    [2, 1].map((num, n) => ({ ...room, poll_id: 'p', option_index: n, num, percentage: num / 2 })),
  ),
])

const result = {
  ...{ ...room, quiz_id: 'q', state: 'ended', asked: 3 },
  ...{ answered: 2, correct: 1, accuracy: 0.5, reported_accuracy: 0.5 },
}
const accuracy = { ...room, quizzes: 1, asked: 3, answered: 2, correct: 1, accuracy: 0.5 }
const shares = ['yes', 'no', 'perhaps'].map((option, n) => ({
  ...{ ...room, poll_id: 'p', mode: 'multiple choice', state: 'ended', option_index: n, option },
  ...{ votes: 2 - n, share: 1 - n / 2 },
}))

/** What is found where the views say this. */
async function judge(said: Readonly<Record<string, readonly Row[]>> = {}): Promise<readonly string[]> {
  const views: Readonly<Record<string, readonly Row[]>> = {
    ...{ quiz_result: [result], quiz_accuracy: [accuracy], poll_result: shares },
    ...said,
  }
  const rows = (text: string) => Promise.resolve(views[/classroom\.(\w+)$/.exec(text)![1]!]!)
  const found = await examineOutcomes({ rows: rows as never }, stored)
  return found.map(({ kind, text }) => `${kind} ${text.split(':')[0]}`)
}

it('the last answer of a student counts, and each share is that of those who voted', async () => {
  expect(await judge()).toEqual([])
})

it('whoever was right once is not right in the end', async () => {
  expect(await judge({ quiz_result: [{ ...result, correct: 2, accuracy: 1 }] })).toEqual([
    'different classroom.quiz_result',
    'lost classroom.quiz_result',
  ])
})

it('a share of all votes is another one', async () => {
  const wrong = shares.map((row, n) => ({ ...row, share: (2 - n) / 3 }))
  const found = await judge({ poll_result: wrong })
  expect(found.filter(text => text === 'different classroom.poll_result')).toHaveLength(2)
})

it('an option that nobody chose is told all the same', async () => {
  expect(await judge({ poll_result: shares.slice(0, 2) })).toEqual(['lost classroom.poll_result'])
})

it('what is left out and what is told twice is told', async () => {
  expect(await judge({ quiz_accuracy: [] })).toEqual(['lost classroom.quiz_accuracy'])
  expect(await judge({ quiz_result: [result, result] })).toEqual(['duplicate classroom.quiz_result'])
})
