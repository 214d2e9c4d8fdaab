import type { Reading } from './readings.ts'
import {
  type Happening,
  type Person,
  type PollStep,
  pollWords,
  type QuizStep,
  quizRight,
  quizWords,
  type Recording,
  type Room,
  type SharedFile,
} from './world.ts'

/** How a reading tells what happens in classrooms. */

export type Told = Readonly<Record<string, unknown>>

export function sequenceOf(reading: Reading, room: number, place: number): bigint {
  switch (reading.sequence) {
    case 'from 1':
      return BigInt(place + 1)
    case 'from 0':
      return BigInt(place)
    case 'with holes':
      return BigInt(place < 4 ? place + 1 : place + 3)
    case 'beyond 2^53':
      return 9_007_199_254_740_993n + BigInt(place)
    case 'one row for all rooms':
      return BigInt(place * 3 + room + 1)
  }
}

export function tellEvents(reading: Reading, room: Room, index: number, act: number): readonly Told[] {
  const happenings = act > 0 ? room.log.flat() : room.log[0]
  return happenings.map((happening, place) => ({
    roomUuid: room.uuid,
    cmd: happening.cmd,
    sequence: sequenceOf(reading, index, place),
    version: 3,
    data: tellHappening(reading, happening),
    ...(reading.eventExtra === 'none' ? {} : { ts: 1_700_000_000_000, appId: 'x', nested: { a: [1] } }),
  }))
}

function tellPerson(reading: Reading, { uuid, name, role }: Person): Told {
  const full = { userUuid: uuid, userName: name, role, streamUuid: `${uuid}-s`, type: 'audience' }
  switch (reading.user) {
    case 'full':
      return { ...full, updateTime: 1_700_000_000_000 }
    case 'without updateTime':
      return full
    case 'role as a word':
      return { ...full, role: role === 1 ? 'host' : 'audience', updateTime: 1_700_000_000_000 }
    case 'userUuid alone':
      return { userUuid: uuid }
    case 'without userUuid':
      return { userName: name, role, streamUuid: full.streamUuid }
  }
}

function tellHappening(reading: Reading, it: Happening): Told {
  const people = (who: readonly Person[]) => who.map(each => tellPerson(reading, each))
  const ids = (who: readonly Person[]) => who.map(({ uuid }) => ({ userUuid: uuid }))
  const nobody = { '[]': [], absent: undefined, null: null }[reading.noUsers]
  switch (it.cmd) {
    case 1:
      return { state: it.state, startTime: it.startTime }
    case 3:
      return { fromUser: tellPerson(reading, it.from), message: it.message, type: 1 }
    case 20:
      return {
        total: it.came.length + it.went.length,
        onlineUsers: it.came.length > 0 ? people(it.came) : nobody,
        offlineUsers: it.went.length > 0 ? people(it.went) : nobody,
      }
    case 1001: {
      const { id, sid, resourceId, startTime } = it.recording
      if (it.isStart) return { recordId: id, sid, resourceId, state: 1, startTime }
      return { state: Number(reading.stopState), startTime }
    }
    case 1101:
      return {
        rewardDetails: [{ userUuid: it.who.uuid, changedReward: it.change, total: it.sum }],
        updateTime: it.at,
      }
    case 1003:
      return {
        resources: it.files.map(file => tellFile(reading, file, true)),
        operator: tellOperator(reading, it.by),
        action: it.action,
      }
    case 1501:
      return {
        acceptedUsers: ids([...it.others, ...it.up]),
        addAcceptedUsers: it.up.length > 0 ? ids(it.up) : nobody,
        removeAcceptedUsers: it.down.length > 0 ? ids(it.down) : nobody,
      }
    case 1502: {
      const hands = (who: readonly Person[]) => ids(who).map(id => ({ ...id, payload: { timeout: 30 } }))
      return {
        progressUsers: hands([...it.others, ...it.up]),
        addProgressUsers: it.up.length > 0 ? hands(it.up) : nobody,
        removeProgressUsers: it.down.length > 0 ? hands(it.down) : nobody,
      }
    }
    case 4711:
      return { anything: it.anything, deep: { list: [1, 2.5, null] } }
  }
}

function tellOperator(reading: Reading, { uuid, name, role }: Person): Told | undefined {
  switch (reading.eventOperator) {
    case 'full':
      return { userUuid: uuid, userName: name, role }
    case 'without name':
      return { userUuid: uuid }
    case 'absent':
      return undefined
    case 'without userUuid':
      return { userName: name, role }
  }
}

export function tellFile(reading: Reading, file: SharedFile, isInEvent = false): Told {
  const { uuid, name, size, ext, url } = file
  const thin = { resourceUuid: uuid, resourceName: name, url }
  switch (reading.resource) {
    case 'uuid, name and url':
      return isInEvent ? { ...thin, size } : thin
    case 'as in the table of events':
      return { ...thin, size, taskUuid: '', taskToken: '', taskProgress: {} }
    case 'full':
      return {
        ...thin,
        ...{
          size,
          ext,
          taskUuid: `${uuid}-task`,
          taskToken: 'planted-task-token',
          updateTime: 1_700_000_000_000,
        },
        taskProgress: { totalPageSize: 3, convertedPageSize: 3, convertedPercentage: 100 },
      }
  }
}

export function tellRecordings(reading: Reading, room: Room, act: number): readonly Told[] {
  return room.recordings
    .filter(({ acts: [begin] }) => act >= begin)
    .map(recording => tellRecording(reading, recording, act))
}

function tellRecording(reading: Reading, recording: Recording, act: number): Told {
  const { id, sid, resourceId, startTime, endTime, files, acts } = recording
  const isOver = act >= acts[1]
  const shown = act >= acts[2] ? files : []
  const basic = { recordId: id, startTime, endTime: isOver ? endTime : undefined }
  const elsewhere = {
    ...basic,
    sid,
    resourceId,
    recordUid: '9',
    boardId: 'b',
    boardToken: 'planted-board-token',
    type: 2,
  }
  const status = isOver ? 2 : 1
  const recordDetails = shown.map(url => ({ url }))
  switch (reading.recording) {
    case 'as elsewhere':
      return { ...elsewhere, status, url: shown[0], recordDetails }
    case 'url alone':
      return { ...basic, status, url: shown[0] }
    case 'recordDetails alone':
      return { ...basic, status, recordDetails: shown.length > 0 ? recordDetails : undefined }
    case 'without status':
      return { ...basic, sid, resourceId, url: shown[0], recordDetails }
    case 'state instead of status':
      return { ...basic, sid, resourceId, state: isOver ? 0 : 1, url: shown[0], recordDetails }
  }
}

/** The files of a recording that this reading tells of. */
export function filesTold(reading: Reading, { files }: Recording): readonly string[] {
  return reading.recording === 'url alone' ? files.slice(0, 1) : files
}

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
