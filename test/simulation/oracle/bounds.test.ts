import { expect, it } from 'vitest'
import { examineBounds } from './bounds.ts'
import type { Examination } from './examination.ts'

const second = 1_000
const minute = 60 * second
const begin = Date.UTC(2026, 0, 5, 12)
const delay = 60
const reach = 7 * 86_400

interface Question {
  /** ms after the begin */
  readonly at: number
  /** Seconds from the bound of the documents. */
  readonly young?: number
  readonly old?: number
  readonly refusal?: string
  readonly operation?: string
}

/** What is found where a premium app asked these for calls. */
function judge(...questions: readonly Question[]): number {
  const first = { at: -minute }
  const all = [first, ...questions].map(
    ({ at, young = 3_000, old = 9_000, refusal, operation = 'callSearch' }: Question, n) => {
      const now = (begin + at) / second
      const [start, end] = [now - reach + old, now - delay - young]
      const target = `/beta/analytics/call/lists?start_ts=${start}&end_ts=${end}`
      return { n: n + 1, app: 'alpha', operation, time: begin + at, target, refusal }
    },
  )
  const examination = {
    sandbox: { arrivals: { list: (after: number) => [all[after]], count: all.length } },
    apps: [{ id: 'alpha', plan: 'premium', regions: ['eu'] }],
    askers: [{ name: 'one', arrived: all.map(({ n }) => n) }],
    isCalm: true,
  } as unknown as Examination
  return examineBounds(examination).length
}

const late = 'query latency limit error'
const early = 'query time range limit error'

it('what was too young is not asked for as young again soon', () => {
  const refused = { at: 0, young: 8, refusal: late }
  expect(judge(refused, { at: 2 * minute, young: 20 })).toBe(0)
  expect(judge(refused, { at: 2 * minute, young: 9 })).toBe(1)
  expect(judge(refused, { at: 10 * minute, young: 9 })).toBe(0)
})

it('what was too old is not asked for as old again soon', () => {
  const refused = { at: 0, old: 100, refusal: early }
  expect(judge(refused, { at: 2 * minute, old: 9_000 })).toBe(0)
  expect(judge(refused, { at: 2 * minute, old: 60 })).toBe(1)
})

it('what was refused before the time was known tells nothing', () => {
  expect(judge({ at: -minute, young: 8, refusal: late }, { at: 2 * minute, young: 8 })).toBe(0)
})

it('what was on its way when the refusal was heard, or refused for another reason, breaks nothing', () => {
  const refused = { at: 0, young: 8, refusal: late }
  expect(judge(refused, { at: 5 * second, young: 8 })).toBe(0)
  expect(judge(refused, { at: 15 * second, young: 8 })).toBe(1)
  expect(judge({ at: 0, young: 8, refusal: early, old: reach }, { at: 2 * minute, young: 8 })).toBe(0)
})

it('what one operation of a limit group was refused is asked for by none of them', () => {
  const refused = { at: 0, young: 8, refusal: late, operation: 'callSessions' }
  expect(judge(refused, { at: 2 * minute, young: 9, operation: 'callMetrics' })).toBe(1)
  expect(judge(refused, { at: 2 * minute, young: 9 })).toBe(0)
})
