import { z } from 'zod'
import { orNumber, written } from '../fits.ts'
import type { Operation } from '../operation.ts'
import { listOf, ofClassroom } from './answers.ts'
import {
  anyObject,
  appId,
  identifier,
  instant,
  int32,
  itemIdIfAny,
  nextId,
  open,
  Person,
  personId,
  region,
  room,
  sequence,
} from './fields.ts'
import { ResourceItem } from './resources.ts'

/** Event types whose data the document describes. Others exist and pass. */
export const cmds = {
  roomState: 1,
  chat: 3,
  attendance: 20,
  recordingState: 1001,
  resources: 1003,
  rewards: 1101,
  stage: 1501,
  hands: 1502,
} as const

export const EventRecord = z.looseObject({
  roomUuid: orNumber(identifier),
  cmd: int32,
  sequence,
  version: open(z.int()),
  data: anyObject.nullish(),
})

/** Events come with the room that they are of, or without it where it is asked for. */
const ofEvents = listOf(EventRecord, 'cmd', 'sequence')

/** Replayable: may be read again from the start as long as the provider remembers the room. */
export const roomEvents = {
  ...ofClassroom,
  ...ofEvents,
  name: 'roomEvents',
  summary: 'Reads the events of one room in order, at most 100 a batch',
  method: 'GET',
  path: '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/sequences',
  pathParams: room,
  queryParams: {
    nextId,
    cmd: z
      .int('must be an integer')
      .optional()
      .describe('Only events of this type, for example 20 for users who enter and leave'),
  },
} as const satisfies Operation

/** Possibly consuming: what an answer held may never be served again. */
export const appEvents = {
  ...ofClassroom,
  ...ofEvents,
  name: 'appEvents',
  summary: 'Hears the latest events of all rooms of an app',
  method: 'GET',
  path: '/{region}/edu/polling/apps/{appId}/v2/rooms/sequences',
  pathParams: { region, appId },
  limitGroup: 'classroom-feed',
} as const satisfies Operation

export const eventOperations = [roomEvents, appEvents] as const

export const RoomStateChange = z.looseObject({ state: int32, startTime: open(instant) })

export const ChatMessage = z.looseObject({
  fromUser: open(Person),
  message: z.string(),
  type: open(int32),
})

export const Attendance = z.looseObject({
  total: open(int32),
  onlineUsers: z.array(Person).nullish(),
  offlineUsers: z.array(Person).nullish(),
})

/** The IDs come only with the start; which number ends a recording differs between deployments (0 or 2). */
export const RecordingStateChange = z.looseObject({
  state: int32,
  recordId: itemIdIfAny,
  sid: open(z.string()),
  resourceId: open(z.string()),
  startTime: open(instant),
})

export const ResourceChange = z.looseObject({
  resources: z.array(ResourceItem).nullish(),
  operator: open(Person),
  action: open(int32),
})

const int = written(z.int())

/** The sum is called `total` in the document and `totalReward` in some deployments. */
export const RewardChange = z.looseObject({
  rewardDetails: z
    .array(
      z.looseObject({
        userUuid: personId,
        changedReward: open(int),
        total: open(int),
        totalReward: open(int),
      }),
    )
    .nullish(),
  updateTime: open(instant),
})

const onStage = z.array(z.looseObject({ userUuid: personId })).nullish()

export const StageChange = z.looseObject({
  acceptedUsers: onStage,
  addAcceptedUsers: onStage,
  removeAcceptedUsers: onStage,
})

const waving = z.array(z.looseObject({ userUuid: personId, payload: z.unknown().optional() })).nullish()

export const HandsChange = z.looseObject({
  progressUsers: waving,
  addProgressUsers: waving,
  removeProgressUsers: waving,
})
