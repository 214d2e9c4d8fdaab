import type { Reading } from './readings.ts'
import type { Happening, Person, Recording, Room, SharedFile } from './world.ts'

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
    version: reading.version === '3' ? 3 : 20_240_115_001,
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
