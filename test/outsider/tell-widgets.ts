import type { Reading } from './readings.ts'
/** How a reading tells what happens in classrooms. */
import type { Told } from './tell-classroom.ts'
import {
  type Person,
  type PollStep,
  pollWords,
  type QuizStep,
  quizRight,
  quizWords,
  type Room,
} from './world.ts'

export function tellQuiz(reading: Reading, room: Room, act: number): readonly Told[] {
  const steps = act > 0 ? room.quiz.flat() : room.quiz[0]
  return steps.map((step, place) => wrap(reading, place, quizStep(reading, step)))
}

export function quizOptions(reading: Reading, chosen: readonly number[]): readonly unknown[] {
  switch (reading.quizOptions) {
    case 'strings':
      return chosen.map(index => quizWords[index])
    case 'numbers':
      return chosen
    case 'objects':
      return chosen.map(index => ({ index, text: quizWords[index] }))
  }
}

function quizStep(reading: Reading, step: QuizStep): Told {
  const options = (chosen: readonly number[]) => quizOptions(reading, chosen)
  switch (step.step) {
    case 'start':
      return item(reading, step.by, {
        extra: {
          correctItems: options(quizRight),
          correctCount: 0,
          answerState: 1,
          receiveQuestionTime: step.at,
          popupQuizId: step.id,
          averageAccuracy: 0,
          totalCount: step.total,
          items: options([0, 1, 2]),
        },
        state: 1,
      })
    case 'answer': {
      const { id, by, chosen, isCorrect, at } = step
      const data = { lastCommitTime: at, popupQuizId: id, selectedItems: options(chosen), isCorrect }
      const told = {
        'in changeProperties': data,
        'in extra': { extra: data },
        'dotted extra': dotted('extra', data),
      }
      return { ...item(reading, by, told[reading.quizStudent], true), ...fromUser }
    }
    case 'counts':
    case 'end': {
      const { selected, correct, total, average } = step.counts
      const counts = {
        selectedCount: selected,
        correctCount: correct,
        averageAccuracy: average,
        totalCount: total,
      }
      const end = step.step === 'end' ? { answerState: 0 } : {}
      const id = reading.summaryIds === 'everywhere' ? { popupQuizId: step.id } : {}
      return item(reading, someone, { extra: { ...counts, ...end, ...id } })
    }
  }
}

export function tellPoll(reading: Reading, room: Room, act: number): readonly Told[] {
  const steps = act > 0 ? room.poll.flat() : room.poll[0]
  return steps.map((step, place) => wrap(reading, place, pollStep(reading, step)))
}

export function pollShare(votes: readonly number[], index: number): number {
  return votes[index]! / 4
}

function pollStep(reading: Reading, step: PollStep): Told {
  const details = (votes: readonly number[]) =>
    Object.fromEntries(
      votes.map((num, index) => [
        String(index),
        reading.pollDetails === 'full' ? { num, percentage: pollShare(votes, index) } : { num },
      ]),
    )
  switch (step.step) {
    case 'start':
      return item(reading, step.by, {
        extra: {
          mode: step.mode,
          pollingState: 1,
          pollDetails: details([0, 0, 0]),
          pollId: step.id,
          pollItems: {
            array: pollWords,
            object: Object.fromEntries(pollWords.map((word, index) => [String(index), word])),
            'object of objects': Object.fromEntries(
              pollWords.map((text, index) => [String(index), { text }]),
            ),
          }[reading.pollItems],
        },
        state: 1,
      })
    case 'answer': {
      const selectIndex = {
        numbers: step.chosen,
        texts: step.chosen.map(String),
        objects: step.chosen.map(index => ({ index })),
        'objects without an index': step.chosen.map(index => ({ choice: pollWords[index] })),
      }[reading.selectIndex]
      const data = { pollId: step.id, selectIndex }
      const told = {
        'in changeProperties': data,
        'in extra': { extra: data },
        'dotted extra': dotted('extra', data),
      }
      return { ...item(reading, step.by, told[reading.pollStudent], true), ...fromUser }
    }
    case 'counts':
    case 'end': {
      const end = step.step === 'end' ? { pollingState: 0 } : {}
      return item(reading, someone, { extra: { ...end, pollDetails: details(step.votes), pollId: step.id } })
    }
  }
}

const someone: Person = { uuid: 'ms-oak', name: 'Ms Oak', role: 1 }
const fromUser = { fromUser: { userUuid: someone.uuid, userName: someone.name, role: 'host' } }

function dotted(prefix: string, data: Told): Told {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [`${prefix}.${name}`, value]))
}

function item(reading: Reading, { uuid, name, role }: Person, changes: Told, asIs = false): Told {
  const { extra, ...rest } = changes as { extra?: Told }
  const change = {
    nested: changes,
    dotted: { ...dotted('extra', extra ?? {}), ...rest },
    mixed: mixed(changes),
  }
  return {
    action: 1,
    changeProperties: asIs ? changes : change[reading.change],
    cause: { string: 'a reason', object: { cmd: 7, data: {} }, absent: undefined }[reading.cause],
    operator: {
      ...(reading.widgetOperator === 'full' ? { userUuid: uuid } : {}),
      ...{ userName: name, role: role === 1 ? 'host' : 'audience' },
    },
  }
}

/** Half of it nested, half of it dotted. */
function mixed(changes: Told): Told {
  const { extra, ...rest } = changes as { extra?: Told }
  const entries = Object.entries(extra ?? {})
  const half = Object.fromEntries(entries.filter((_, place) => place % 2 === 0))
  const other = Object.fromEntries(entries.filter((_, place) => place % 2 === 1))
  return { extra: half, ...dotted('extra', other), ...rest }
}

function wrap(reading: Reading, place: number, data: Told): Told {
  switch (reading.widgetWrap) {
    case 'none':
      return data
    case 'sequence':
      return { sequence: place + 1, ...data }
    case 'data':
      return { data }
    case 'data with sequence':
      return { sequence: place + 1, cmd: 10, version: 1, data }
  }
}
