import { expect, test } from 'vitest'
import { rangeProblem } from '../../src/client/arguments.ts'

const now = 1_000_000
const limits = { availableData: 604_800, timeFrame: 57_600, dataDelay: 60 }
const of = (start_ts: number, end_ts: number) => rangeProblem({ start_ts, end_ts }, limits, now)

test.each([
  ['one second inside every bound', now - 604_799, now - 604_799 + 57_599, undefined],
  [
    'exactly as far back as the reach',
    now - 604_800,
    now - 604_700,
    'start_ts: the plan serves the last 7 days only',
  ],
  [
    'exactly as young as the delay',
    now - 120,
    now - 60,
    'end_ts: the plan serves what is older than 1 minute only',
  ],
  ['a second older than the delay', now - 120, now - 61, undefined],
  [
    'exactly as long as the span',
    now - 60_000,
    now - 2_400,
    'start_ts to end_ts must be shorter than 16 hours',
  ],
  ['backwards', now - 100, now - 200, 'end_ts must not be before start_ts'],
])('%s', (_what, start, end, problem) => {
  expect(of(start, end)).toBe(problem)
})

test('insights and real-time values have other names', () => {
  expect(rangeProblem({ startTs: now - 700_000, endTs: now - 699_000 }, limits, now)).toMatch(/^startTs: /)
})

test('a question without a range has nothing wrong with it', () => {
  expect(rangeProblem({ roomUuid: 'r' }, limits, now)).toBeUndefined()
})
