import fc from 'fast-check'

/** Half an hour before the answer of pageOf. */
const anHourAgo = 1_767_222_000_000

const user = fc.record(
  {
    userUuid: fc.constantFrom('ann', 'bob', 'cid'),
    userName: fc.string({ unit: 'binary' }),
    role: fc.constantFrom(1, 2, 'student'),
    updateTime: fc.integer({ min: anHourAgo, max: anHourAgo + 3_000_000 }),
  },
  { requiredKeys: ['userUuid'] },
)
const users = fc.array(user, { maxLength: 3 })
const time = fc.integer({ min: anHourAgo, max: anHourAgo + 3_000_000 })

const contents = fc.oneof(
  fc.record({
    cmd: fc.constant(1),
    data: fc.record({ state: fc.integer({ min: 0, max: 3 }), startTime: time }),
  }),
  fc.record({ cmd: fc.constant(3), data: fc.record({ fromUser: user, message: fc.string() }) }),
  fc.record({ cmd: fc.constant(20), data: fc.record({ onlineUsers: users, offlineUsers: users }) }),
  fc.record({
    cmd: fc.constant(1001),
    data: fc.oneof(
      fc.record({ state: fc.constant(1), recordId: fc.uuid(), startTime: time }),
      fc.record({ state: fc.constantFrom(0, 2) }),
    ),
  }),
  fc.record({
    cmd: fc.constant(1501),
    data: fc.record({ acceptedUsers: users, addAcceptedUsers: users, removeAcceptedUsers: users }),
  }),
  fc.record({ cmd: fc.constant(7001), data: fc.object() }),
)

/** A log of one room in order, numbered with a hole here and there. */
export const log = fc
  .array(fc.tuple(contents, fc.constantFrom(1, 1, 1, 1, 2, 4)), { minLength: 1, maxLength: 30 })
  .map(entries => {
    let sequence = 0
    return entries.map(([content, step]) => {
      sequence += step
      return { roomUuid: 'algebra-7b', version: 1, sequence, ...content }
    })
  })

const quizId = fc.constantFrom('q1', 'q2', 'q3')
const counts = { selectedCount: fc.nat(30), correctCount: fc.nat(30), totalCount: fc.nat(30) }

const quizChange = fc.oneof(
  fc.record({
    extra: fc.record({
      popupQuizId: quizId,
      answerState: fc.constant(1),
      items: fc.constant(['A']),
      ...counts,
    }),
    state: fc.constant(1),
  }),
  fc.record({ lastCommitTime: time, popupQuizId: quizId, selectedItems: fc.constant(['A']) }),
  fc.record({ lastCommitTime: time, selectedItems: fc.constant(['B']) }),
  fc.record({ extra: fc.record(counts) }),
  fc.record({ extra: fc.record({ ...counts, answerState: fc.constant(0) }) }),
)

/** The items of a room's quiz log, none with a sequence of its own. */
export const quizLog = fc.array(
  fc.record({ action: fc.constant(1), changeProperties: quizChange, operator: user }),
  { minLength: 1, maxLength: 30 },
)

/** Where a log is cut into pages. */
export const cuts = fc.array(fc.nat(30), { maxLength: 6 })

/** Anything that a provider might put where a record should be. */
export const anything = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      roomUuid: fc.oneof(fc.constant('algebra-7b'), fc.jsonValue()),
      cmd: fc.oneof(fc.constantFrom(1, 3, 20, 1001, 1003, 1101, 1501, 1502), fc.jsonValue()),
      sequence: fc.oneof(fc.nat(20), fc.bigInt(), fc.jsonValue()),
      version: fc.jsonValue(),
      data: fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...dataFields()), fc.jsonValue())),
      recordId: fc.oneof(fc.string(), fc.jsonValue()),
      resourceUuid: fc.oneof(fc.string(), fc.jsonValue()),
      id: fc.oneof(fc.string(), fc.jsonValue()),
      status: fc.oneof(fc.constantFrom('idle', 'running', ''), fc.jsonValue()),
      createTs: fc.oneof(fc.nat(), fc.jsonValue()),
      channelName: fc.jsonValue(),
      recordDetails: fc.array(fc.jsonValue()),
      changeProperties: fc.oneof(
        fc.jsonValue(),
        fc.dictionary(
          fc.constantFrom('extra', 'extra.popupQuizId', 'extra.pollDetails', '__proto__.x'),
          fc.jsonValue(),
        ),
      ),
      operator: fc.oneof(user, fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
)

function dataFields(): readonly string[] {
  return [
    'state',
    'startTime',
    'onlineUsers',
    'fromUser',
    'message',
    'resources',
    'rewardDetails',
    'addAcceptedUsers',
  ]
}
