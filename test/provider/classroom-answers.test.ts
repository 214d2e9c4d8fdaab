import { describe, expect, it } from 'vitest'
import {
  BatchAnswer,
  EventRecord,
  eventData,
  PollChange,
  QuizChange,
  RecordingItem,
  ResourceItem,
  readBatch,
  WidgetItem,
} from '../../src/provider/classroom/index.ts'

const envelope = { code: 0, msg: 'Success', ts: 1_767_600_000_000 }

function read(data: unknown) {
  return readBatch(BatchAnswer.parse({ ...envelope, data }))
}

describe('a batch', () => {
  it.each([
    ['an array', [{ cmd: 1 }, { cmd: 3 }], [{ cmd: 1 }, { cmd: 3 }], undefined],
    ['one object', { cmd: 20, data: { total: 1 } }, [{ cmd: 20, data: { total: 1 } }], undefined],
    ['a list', { total: 2, count: 1, list: [{ cmd: 1 }], nextId: 'n1' }, [{ cmd: 1 }], 'n1'],
    ['a list of one object', { list: { cmd: 1 }, nextId: '' }, [{ cmd: 1 }], undefined],
    ['no list', { total: 0, count: 0, nextId: null }, [], undefined],
    ['a null list', { list: null, nextId: 'n2' }, [], 'n2'],
    ['an empty object', {}, [], undefined],
    ['null', null, [], undefined],
    ['nothing', undefined, [], undefined],
  ])('is read from %s', (_, data, items, nextId) => {
    expect(read(data)).toEqual({ items, nextId })
  })

  it.each([
    [100, '100'],
    [0, '0'],
    [2n ** 60n, '1152921504606846976'],
    ['', undefined],
    [null, undefined],
  ])('makes a string of the nextId %s', (nextId, expected) => {
    expect(read({ list: [], nextId }).nextId).toBe(expected)
  })

  it('keeps items that are no objects, so that someone can set them aside', () => {
    expect(read({ list: [7, { cmd: 1 }, null] }).items).toEqual([7, { cmd: 1 }, null])
  })

  it.each([7, 'nothing', { list: 7 }, { list: [], nextId: {} }])('is no batch when data is %j', data => {
    expect(BatchAnswer.safeParse({ ...envelope, data }).success).toBe(false)
  })

  it('passes unknown fields of the envelope', () => {
    expect(BatchAnswer.parse({ ...envelope, data: [], requestId: 'q' })).toMatchObject({ requestId: 'q' })
  })
})

describe('an event record', () => {
  const record = { roomUuid: 'r', cmd: 3, sequence: 1, version: 1, data: {} }

  it.each([0, 1, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n])('has a sequence like %s', sequence => {
    expect(EventRecord.parse({ ...record, sequence }).sequence).toBe(sequence)
  })

  it.each([-1, 1.5, 2 ** 53, 2n ** 63n, -1n, '1', null, undefined])('has no sequence like %s', sequence => {
    expect(EventRecord.safeParse({ ...record, sequence }).success).toBe(false)
  })

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
    [1, { state: 1, startTime: 1e18 }],
    [3, { fromUser: { userUuid: 'u' }, message: 42 }],
    [20, { onlineUsers: [{ userUuid: 'u'.repeat(64) }] }],
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
    expect(PollChange.safeParse({ pollDetails: { first: {} } }).success).toBe(false)
  })
})
