import { describe, expect, it } from 'vitest'
import type { Arrival } from '../../../sandbox/src/index.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { Examination } from './examination.ts'
import { examineNeglected } from './neglected.ts'

const minute = 60_000
const state = (at: number, state: number) => ({ cmd: 1, data: { state }, at: at * minute })
const quiz = (at: number) => ({ widget: 'popupQuiz', at: at * minute })

/** What is said of a class from minute 10 to 40 and from 50 to 80 whose quizzes are asked for then, in minutes. */
function judge(asked: readonly number[], items: readonly number[] = []) {
  const arrivals = asked.map(at => ({
    ...{ app: 'alpha', operation: 'popupQuiz', time: at * minute, target: '/eu/rooms/a%20b/widgets' },
  }))
  const examination = {
    sandbox: {
      settings: { switches: { missingLogs: 'none' } },
      arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] },
    },
    ...{ streams: ['popup-quiz'], isCalm: true, isUnbroken: true, isPrompt: true, isEnd: true },
    roomsEvery: { others: { active: 3 * minute, idle: 6 * minute } },
    end: 90 * minute,
  } as unknown as Examination
  const room = {
    ...{ app: 'alpha', roomUuid: 'a b', muted: false, items: items.map(quiz) },
    events: [state(10, 1), state(40, 2), state(50, 1), state(80, 2)],
  } as unknown as TrueRoom
  return examineNeglected(examination, [room]).map(({ text }) => text)
}

const from = (first: number, every: number) => Array.from({ length: 6 }, (_, n) => first + n * every)
const both = [...from(12, 6), ...from(53, 6)]

describe('a class that goes on', () => {
  it('is asked about soon after its begin, and then at its interval', () => {
    expect(judge(both)).toEqual([])
    expect(judge(from(12, 6))).toEqual([
      'alpha a b: nobody asks for its popup-quiz from 1970-01-01T00:50:00.000Z on',
    ])
    expect(judge(both.filter(at => at !== 59))).toEqual([
      'alpha a b: nobody asks for its popup-quiz from 1970-01-01T00:53:00.000Z on',
    ])
  })

  it('is asked about sooner after a quiz', () => {
    expect(
      judge(
        [...both, 27].toSorted((a, b) => a - b),
        [20],
      ),
    ).toEqual([])
    expect(judge(both, [20])).toEqual([
      'alpha a b: nobody asks for its popup-quiz from 1970-01-01T00:24:00.000Z on',
    ])
  })
})
