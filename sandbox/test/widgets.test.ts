import { describe, expect, it } from 'vitest'
import { at, lively, play } from './play.ts'

const text = expect.any(String)
const number = expect.any(Number)
const list = expect.any(Array)
const person = { userUuid: text, userName: text, role: text }

type Step = 'start' | 'submission' | 'summary' | 'end'

function itemsOf(widget: 'popupQuiz' | 'poll', switches: Parameters<typeof play>[0] = {}) {
  const { linesOf } = play(switches)
  const lines = linesOf('widget').filter(line => line.widget === widget)
  return (step: Step) => {
    const items = lines.filter(line => line.step === step).map(line => line.item)
    expect(items.length).toBeGreaterThan(0)
    return items
  }
}

const nested = { switches: { widgetKeys: 'nested', widgetItemSequence: 'absent' } } as const

/** The document's tables of shapes, situation by situation. */
describe('pop-up quiz data', () => {
  const counts = { correctCount: number, averageAccuracy: number, totalCount: number }

  it.each([
    [
      'start',
      {
        state: 1,
        extra: {
          ...counts,
          correctItems: list,
          answerState: 1,
          receiveQuestionTime: number,
          popupQuizId: text,
          items: list,
        },
      },
    ],
    [
      'submission',
      { lastCommitTime: number, popupQuizId: text, selectedItems: list, isCorrect: expect.any(Boolean) },
    ],
    ['summary', { extra: { ...counts, selectedCount: number } }],
    ['end', { extra: { ...counts, selectedCount: number, answerState: 0 } }],
  ] as const)('of the %s has the fields of the document and no others', (step, changeProperties) => {
    for (const item of itemsOf('popupQuiz', nested)(step)) {
      const fromUser = step === 'submission' ? { fromUser: person } : {}
      expect(item).toEqual({ action: 1, changeProperties, cause: text, operator: person, ...fromUser })
    }
  })

  it('counts answers, and right ones, as the submissions give them', () => {
    const { linesOf } = play(nested)
    const { id } = linesOf('widget').find(line => line.widget === 'popupQuiz' && line.step === 'end')!
    const quiz = linesOf('widget').filter(line => line.id === id)
    const right = new Map<string, boolean>()
    for (const { userUuid, item } of quiz.filter(line => line.step === 'submission')) {
      right.set(userUuid, (item as { changeProperties: { isCorrect: boolean } }).changeProperties.isCorrect)
    }
    const correctCount = [...right.values()].filter(Boolean).length
    expect(quiz.find(line => line.step === 'end')!.item).toMatchObject({
      changeProperties: {
        extra: { selectedCount: right.size, correctCount, averageAccuracy: correctCount / right.size },
      },
    })
  })
})

describe('poll data', () => {
  it.each([
    [
      'start',
      {
        state: 1,
        extra: {
          mode: number,
          pollingState: 1,
          pollDetails: expect.any(Object),
          pollId: text,
          pollItems: expect.any(Object),
        },
      },
    ],
    ['submission', { extra: { pollId: text, selectIndex: list } }],
    ['summary', { extra: { pollDetails: expect.any(Object), pollId: text } }],
    ['end', { extra: { pollingState: 0, pollDetails: expect.any(Object), pollId: text } }],
  ] as const)('of the %s has the fields of the document and no others', (step, changeProperties) => {
    for (const item of itemsOf('poll', nested)(step)) {
      const fromUser = step === 'submission' ? { fromUser: person } : {}
      expect(item).toEqual({ action: 1, changeProperties, cause: text, operator: person, ...fromUser })
    }
  })

  it('gives each option, from 0, its number and its share', () => {
    for (const item of itemsOf('poll', nested)('end')) {
      const { pollDetails } = (item as { changeProperties: { extra: { pollDetails: object } } })
        .changeProperties.extra
      expect(Object.keys(pollDetails)[0]).toBe('0')
      for (const detail of Object.values(pollDetails))
        expect(detail).toEqual({ num: number, percentage: number })
    }
  })

  it('lets several options be chosen in mode 2 alone', () => {
    const { linesOf } = play(nested)
    const polls = linesOf('widget').filter(line => line.widget === 'poll')
    const mode = new Map(
      polls
        .filter(line => line.step === 'start')
        .map(({ id, item }) => [
          id,
          (item as { changeProperties: { extra: { mode: number } } }).changeProperties.extra.mode,
        ]),
    )
    const chosen = polls
      .filter(line => line.step === 'submission')
      .map(({ id, item }) => {
        const { selectIndex } = (item as { changeProperties: { extra: { selectIndex: number[] } } })
          .changeProperties.extra
        return { mode: mode.get(id), options: selectIndex.length }
      })
    expect(chosen.filter(one => one.mode === 1).every(one => one.options === 1)).toBe(true)
    expect(chosen.some(one => one.mode === 2 && one.options > 1)).toBe(true)
  })
})

it('widget data is served in order, as the truth tells it', async () => {
  const { drain, linesOf } = play()
  for (const { roomUuid } of linesOf('room')) {
    for (const widget of ['popupQuiz', 'poll'] as const) {
      const told = linesOf('widget', roomUuid).filter(line => line.widget === widget)
      expect((await drain(at(roomUuid)[widget])).items).toEqual(told.map(line => line.item))
    }
  }
})

it('one quiz and one poll run in a room at a time', () => {
  const { linesOf } = play({ profile: { ...lively, lessonMinutes: 120 } })
  for (const { roomUuid } of linesOf('room')) {
    for (const widget of ['popupQuiz', 'poll'] as const) {
      const turns = linesOf('widget', roomUuid)
        .filter(line => line.widget === widget && (line.step === 'start' || line.step === 'end'))
        .map(line => `${line.step} ${line.id}`)
      const starts = turns.filter(turn => turn.startsWith('start'))
      const expected = starts.flatMap(turn => [turn, turn.replace('start', 'end')]).slice(0, turns.length)
      expect(starts.length).toBeGreaterThan(3)
      expect(turns).toEqual(expected)
    }
  }
})
