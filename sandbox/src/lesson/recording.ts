import { cmds, recordingStates, recordingStatuses } from '../../../src/provider/classroom/index.ts'
import type { Classroom } from '../classroom.ts'
import type { Recording } from '../world.ts'
import { joinCall, leaveCall } from './people.ts'

/** Recordings of services of this kind: one composite picture, or a recorded web page. */
export const recordingTypes = { composite: 2, web: 3 } as const

/** Files that are late appear after so great a share of the time for which a room is known. */
const shareUntilLate = 0.71

/** A file is full and the next one is begun, ms after the begin: sooner than in life, as a class is shorter. */
const untilFirstFile = 60_000

const types = [recordingTypes.composite, recordingTypes.composite, recordingTypes.web] as const

/**
 * The recording runs until someone stops it, and for as long its recorder is in the call; its files appear
 * minutes later, while the room is still known. There is one at a time.
 */
export function startRecording(room: Classroom, now: number, type?: number): void {
  if (runningRecording(room)) return
  const { draw, contents } = room
  const recording: Recording = {
    recordId: draw.id(),
    startTime: now,
    endTime: null,
    resourceId: draw.id() + draw.id(),
    sid: draw.id(),
    recordUid: String(draw.whole(1_000, 9_999)),
    boardId: draw.id(),
    boardToken: `board-secret-${draw.id()}`,
    type: type ?? draw.pick(types),
    status: recordingStatuses.recording,
    url: null,
    recordDetails: [],
  }
  contents.recordings.push(recording)
  contents.held.recording = undefined
  const uid = Number(recording.recordUid)
  joinCall(room, { sid: recording.sid, uid, user: 'recorder', speaks: false }, now)
  const { recordId, sid, resourceId } = recording
  const state = recordingStates.started
  room.tell(cmds.recordingState, { recordId, sid, resourceId, state, startTime: now }, now)
  const { earlyFiles } = room.rules.quirks
  if (earlyFiles === 0 || !draw.chance(earlyFiles)) return
  room.agenda.at(now + untilFirstFile, () => {
    if (recording.endTime === null) recording.recordDetails = filesOf(recording, 1)
  })
}

/** The event of the stop names no recording: the document gives the IDs to the start alone. */
export function stopRecording(room: Classroom, now: number): void {
  const recording = runningRecording(room)
  if (!recording) return
  recording.endTime = now
  recording.status = recordingStatuses.ended
  leaveCall(room, Number(recording.recordUid), now)
  const state = Number(room.rules.switches.recordingEndState)
  room.tell(cmds.recordingState, { state, startTime: recording.startTime }, now)
  // What is filed as it goes on is filed when it ends.
  if (recording.recordDetails.length > 0) {
    publishFiles(recording, room.draw.whole(1, 3))
    return
  }
  const memory = room.rules.switches.roomMemorySeconds * 1_000
  const longest = Math.min(600_000, memory / 2)
  const { lateFiles } = room.rules.quirks
  const isLate = lateFiles > 0 && room.draw.chance(lateFiles)
  const ready = now + (isLate ? memory * shareUntilLate : room.draw.between(longest / 10, longest))
  room.agenda.at(ready, () => publishFiles(recording, room.draw.whole(1, 3)))
}

export function runningRecording({ contents }: Classroom): Recording | undefined {
  const last = contents.recordings.at(-1)
  return last?.endTime === null ? last : undefined
}

function publishFiles(recording: Recording, files: number): void {
  recording.recordDetails = filesOf(recording, files)
  recording.url = recording.recordDetails[0]!.url
}

function filesOf({ sid }: Recording, files: number): Recording['recordDetails'] {
  return Array.from({ length: files }, (_, index) => ({ url: `https://records.example/${sid}/${index}.mp4` }))
}
