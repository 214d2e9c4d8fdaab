import { describe, expect, it } from 'vitest'
import {
  Attendance,
  ChatMessage,
  cmds,
  EventRecord,
  HandsChange,
  type Listing,
  PollChange,
  popupQuiz,
  QuizChange,
  RecordingItem,
  RecordingStateChange,
  ResourceChange,
  ResourceItem,
  RewardChange,
  RoomStateChange,
  recordings,
  resources,
  roomEvents,
  StageChange,
  WidgetItem,
} from '../../src/provider/classroom/index.ts'

/** Shape of `data` by cmd, for the event types that the document describes. */
const eventData = {
  [cmds.roomState]: RoomStateChange,
  [cmds.chat]: ChatMessage,
  [cmds.attendance]: Attendance,
  [cmds.recordingState]: RecordingStateChange,
  [cmds.resources]: ResourceChange,
  [cmds.rewards]: RewardChange,
  [cmds.stage]: StageChange,
  [cmds.hands]: HandsChange,
} as const

const envelope = { code: 0, msg: 'Success', ts: 1_767_600_000_000 }

const event = { roomUuid: 'r', cmd: 3, sequence: 1, version: 1, data: { message: 'hi' } }
const other = { ...event, sequence: 2 }
const record = { recordId: 'a', status: 2, recordDetails: [{ url: 'u' }] }
const resource = { resourceUuid: 'f', taskProgress: { convertedFileList: [{}] } }
const quiz = { action: 1, changeProperties: { state: 1 }, cause: {}, operator: { userUuid: 'tom' } }
const end = { nextId: undefined }

function read(data: unknown, { of = roomEvents as Listing<unknown>, beside = {} as object } = {}) {
  const answer = { ...envelope, data, ...beside }
  return of.answer.safeParse(answer).success ? of.readBatch(answer) : 'cannot be read'
}

describe('a batch', () => {
  it.each([
    ['an array', [event, other], { items: [event, other], ...end }],
    ['an array beside its nextId', [event], { items: [event], nextId: 'n1' }, { nextId: 'n1' }],
    ['one object', event, { items: [event], ...end }],
    ['one object and the nextId', { ...event, nextId: 7 }, { items: [event], nextId: '7' }],
    [
      'a list',
      { total: 2, count: 1, list: [event], nextId: 'n1' },
      { items: [event], nextId: 'n1', total: 2 },
    ],
    ['a list beside its nextId', { list: [event] }, { items: [event], nextId: '3' }, { nextId: 3 }],
    ['a list of one object', { list: event, nextId: '' }, { items: [event], ...end }],
    ['a list of another name', { records: [event], nextId: 'n1' }, { items: [event], nextId: 'n1' }],
    ['the list that holds events', { sequences: [event], users: [{}, {}] }, { items: [event], ...end }],
    ['items that nobody knows', { found: [{ id: 1 }], tags: ['a'] }, { items: [{ id: 1 }], ...end }],
    ['one event of any name', { event, nextId: null }, { items: [event], ...end }],
    ['events by name', { first: event, second: other, nextId: 'n' }, { items: [event, other], nextId: 'n' }],
    ['no list', { total: 0, count: 0, nextId: null }, { items: [], ...end, total: 0 }],
    ['a null list', { list: null, total: 9, count: 0, nextId: 'n2' }, { items: [], nextId: 'n2', total: 9 }],
    [
      'an empty list of another name',
      { records: [], page: { size: 9 }, total: 9 },
      { items: [], ...end, total: 9 },
    ],
    [
      'an empty list written as an object',
      { total: 0, list: {}, nextId: null },
      { items: [], ...end, total: 0 },
    ],
    ['an empty object', {}, { items: [], ...end }],
    ['null', null, { items: [], ...end, lacksData: true }],
    ['nothing', undefined, { items: [], ...end, lacksData: true }],
  ])('is read from %s', (_, data, expected, beside?: object) => {
    expect(read(data, { beside: beside ?? {} })).toEqual(expected)
  })

  it.each([
    ['recording', recordings, record],
    ['resource', resources, resource],
    ['change of a quiz or poll', popupQuiz, quiz],
  ])('of a %s may be the item itself, though it holds a list of its own', (_, of, item) => {
    expect(read({ ...item, nextId: 'n1' }, { of })).toEqual({ items: [item], nextId: 'n1' })
    expect(read({ list: [item] }, { of })).toEqual({ items: [item], ...end })
    expect(read({ data: [item, item] }, { of })).toEqual({ items: [item, item], ...end })
  })

  it.each([
    ['an empty list', { total: 9, count: 0, list: [], nextId: null }, false],
    ['no list', { total: 2, list: null }, false],
    ['an empty list written as an object', { total: 2, list: {} }, false],
    ['an empty list and a way on', { total: 9, list: [], nextId: 'n1' }, true],
    ['an item', { total: 9, list: [event] }, true],
    ['no item and a total of none', { total: 0, count: 0, list: [], nextId: null }, true],
  ])('with a total and %s at the beginning of a log is understood or not', (_, data, isUnderstood) => {
    const { firstAnswer, answer } = roomEvents
    expect(firstAnswer.safeParse({ ...envelope, data }).success).toBe(isUnderstood)
    // What follows a nextId may well be nothing, whatever there is in all.
    expect(answer.safeParse({ ...envelope, data }).success).toBe(true)
  })

  it.each([
    [100, '100'],
    [0, '0'],
    [2n ** 60n, '1152921504606846976'],
    ['', undefined],
    [null, undefined],
    ['null', undefined],
  ])('makes a string of the nextId %s', (nextId, expected) => {
    expect(read({ list: [], nextId })).toMatchObject({ nextId: expected })
  })

  it('keeps items that are no objects, so that someone can set them aside', () => {
    expect(read({ list: [7, { cmd: 1 }, null] })).toMatchObject({ items: [7, { cmd: 1 }, null] })
  })

  it.each([
    ['a number', 7],
    ['a word', 'nothing'],
    ['a list that is none', { list: 7 }],
    ['a nextId that is none', { list: [], nextId: {} }],
    ['unknown fields and no list', { hasMore: false, size: 100 }],
    ['an empty list and an unknown object', { records: [], found: { a: { id: 1 } } }],
    ['words instead of items', { records: ['a', 'b'] }],
    ['two lists, neither of events', { found: [{ id: 1 }], dropped: [{ id: 2 }] }],
    ['two lists of events', { old: [event], young: [other] }],
    ['a count and no list', { total: 0, count: 3 }],
    ['a total and no list', { total: 3, count: 0, nextId: null }],
    ['a count and an empty list of another name', { records: [], count: 3 }],
  ])('is not taken for empty when data is %s', (_, data) => {
    expect(read(data)).toBe('cannot be read')
  })

  it('passes unknown fields of the envelope', () => {
    const answer = { ...envelope, data: [], requestId: 'q' }
    expect(roomEvents.answer.parse(answer)).toMatchObject({ requestId: 'q' })
  })
})

describe('an event record', () => {
  const record = { roomUuid: 'r', cmd: 3, sequence: 1, version: 1, data: {} }

  it.each([0, 1, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n])('has a sequence like %s', sequence => {
    expect(EventRecord.parse({ ...record, sequence }).sequence).toBe(sequence)
  })

  it.each([-1, 1.5, 2 ** 53, 2n ** 63n, -1n, '-1', 'one', null, undefined])(
    'has no sequence like %s',
    sequence => {
      expect(EventRecord.safeParse({ ...record, sequence }).success).toBe(false)
    },
  )

  it.each(['chat', 2 ** 31, 1.5, null])('has no cmd like %s', cmd => {
    expect(EventRecord.safeParse({ ...record, cmd }).success).toBe(false)
  })

  it('may have an unknown cmd, unknown fields, and neither version nor data', () => {
    const novel = { roomUuid: 'r', cmd: 7001, sequence: 9, shard: 'x' }
    expect(EventRecord.parse(novel)).toEqual(novel)
  })
})

describe('event data', () => {
  /** One example of each event type of the document, with the fields that it names. */
  it.each([
    [1, { state: 1, startTime: 1_767_600_000_000 }],
    [1, { state: 0 }],
    [3, { fromUser: { userUuid: 'u', userName: 'n', role: 2 }, message: 'hi', type: 1 }],
    [
      20,
      {
        total: 2,
        onlineUsers: [{ userUuid: 'u', role: 'host' }],
        offlineUsers: [{ userUuid: 'v', role: 2 }],
      },
    ],
    [20, { onlineUsers: [{ userUuid: 'u' }] }],
    [1001, { recordId: 'a', sid: 'b', resourceId: 'c', state: 1, startTime: 1_767_600_000_000 }],
    [1001, { state: 2 }],
    [1101, { rewardDetails: [{ userUuid: 'u', changedReward: 1, total: 3 }], updateTime: 1_767_600_000_000 }],
    [1101, { rewardDetails: [{ userUuid: 'u', changedReward: 1, totalReward: 3 }] }],
    [
      1003,
      {
        resources: [
          { resourceUuid: 'f', resourceName: 'n', size: 1, url: 'u', taskUuid: 't', taskProgress: {} },
        ],
        operator: { userUuid: 'u', userName: 'n', role: 1 },
        action: 1,
      },
    ],
    [1501, { acceptedUsers: [], addAcceptedUsers: [{ userUuid: 'u' }], removeAcceptedUsers: [] }],
    [
      1502,
      { progressUsers: [], addProgressUsers: [{ userUuid: 'u', payload: {} }], removeProgressUsers: [] },
    ],
  ] as const)('of cmd %i is read as it stands', (cmd, data) => {
    expect(eventData[cmd].parse(data)).toEqual(data)
  })

  it.each([
    [1, { state: 'started' }],
    [1001, { state: 1, recordId: [] }],
    [3, { fromUser: { userUuid: 'u' }, message: 42 }],
    [20, { onlineUsers: ['u'] }],
  ] as const)('of cmd %i is refused with a wrong type or an impossible value', (cmd, data) => {
    expect(eventData[cmd].safeParse(data).success).toBe(false)
  })
})

it('a recording may still run, without an end or files', () => {
  const running = { recordId: 'a', startTime: 1, endTime: null, status: 1, url: null, recordDetails: [] }
  expect(RecordingItem.parse(running)).toEqual(running)
  expect(RecordingItem.safeParse({ startTime: 1 }).success).toBe(false)
})

it('a resource needs nothing but its ID', () => {
  expect(ResourceItem.parse({ resourceUuid: 'f' })).toEqual({ resourceUuid: 'f' })
  expect(ResourceItem.safeParse({ resourceName: 'n' }).success).toBe(false)
})

describe('a widget item', () => {
  it.each(['submit', { reason: 'submit' }, undefined])('may have the cause %j', cause => {
    expect(WidgetItem.parse({ action: 1, changeProperties: {}, cause }).cause).toEqual(cause)
  })

  it('carries a quiz whose summaries have no ID', () => {
    const summary = { selectedCount: 1, correctCount: 1, averageAccuracy: 1, totalCount: 4 }
    expect(QuizChange.parse(summary)).toEqual(summary)
  })

  it('carries a poll whose options are numbers or digits', () => {
    expect(PollChange.parse({ pollId: 'p', selectIndex: [0, '2'] }).selectIndex).toEqual([0, 2])
    const pollDetails = { 0: { num: 1, percentage: 1 } }
    expect(PollChange.parse({ pollDetails }).pollDetails).toEqual(pollDetails)
    expect(PollChange.parse({ pollDetails: 7 }).pollDetails).toBeUndefined()
  })
})
