import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as classroom from '../../src/provider/classroom/index.ts'
import { fits } from '../../src/provider/fits.ts'
import { PlayerItem } from '../../src/provider/players/index.ts'

const { EventRecord, RoomStateChange, ChatMessage, Attendance, HandsChange, RewardChange } = classroom
const { ResourceItem, WidgetItem, QuizChange, PollChange, RecordingItem, Person } = classroom

const schemas = {
  ...{ EventRecord, RoomStateChange, ChatMessage, Attendance, HandsChange, RewardChange },
  ...{ ResourceItem, WidgetItem, QuizChange, PollChange, RecordingItem, Person },
  answer: classroom.roomEvents.answer,
  players: PlayerItem,
  plain: z.object({ state: z.int() }),
  defaulted: z.looseObject({ state: z.int().default(1) }),
  written: z.looseObject({ state: z.preprocess(Number, z.int()) }),
  lengths: z.looseObject({ data: z.array(z.unknown()).min(1).max(2), message: z.string().min(2).max(3) }),
  bounds: z.looseObject({ state: z.number().gt(0).lt(3) }),
  pattern: z.looseObject({ message: z.string().regex(/^a/) }),
  address: z.looseObject({ url: z.url() }),
  needed: z.looseObject({ data: z.unknown() }),
}

const names = [
  ...[
    'id',
    'createTs',
    'roomUuid',
    'cmd',
    'sequence',
    'version',
    'data',
    'state',
    'startTime',
    'message',
    'fromUser',
    'type',
  ],
  ...[
    'userUuid',
    'userName',
    'role',
    'total',
    'onlineUsers',
    'progressUsers',
    'rewardDetails',
    'resourceUuid',
  ],
  ...[
    'size',
    'url',
    'changeProperties',
    'operator',
    'popupQuizId',
    'items',
    'isCorrect',
    'pollId',
    'code',
    'x',
  ],
]

const leaf = fc.oneof(
  ...[fc.constantFrom('', 'a', 'algebra', 'é'.repeat(40), '12'), fc.integer(), fc.double(), fc.bigInt()],
  ...[fc.constantFrom(0, 1, -1, 1.5, 1_700_000_000, 2 ** 31, 2 ** 53, Number.NaN, -0), fc.boolean()],
  ...[fc.constantFrom(null, undefined)],
)
const { value } = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 4, depthSize: 'small' }, leaf, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 8 }),
}))

describe('what fits a schema', () => {
  it.each(Object.entries(schemas))('is what %s hands back', (_, schema) => {
    const check = (given: unknown) => {
      if (!fits(schema, given)) return
      expect(schema.safeParse(given)).toEqual({ success: true, data: given })
    }
    fc.assert(fc.property(value, check), { numRuns: 2_000 })
  })

  it('is nearly all that comes', () => {
    const person = { userUuid: 'u', userName: 'n', role: 2, streamUuid: '1' }
    expect(fits(EventRecord, { roomUuid: 'r', cmd: 3, sequence: 1, version: 1, data: {} })).toBe(true)
    expect(fits(EventRecord, { roomUuid: 'r', cmd: 3, sequence: 2n ** 60n })).toBe(true)
    expect(fits(ChatMessage, { fromUser: person, message: 'hello', more: [1] })).toBe(true)
    expect(fits(Attendance, { total: 1, onlineUsers: [person], offlineUsers: null })).toBe(true)
    expect(fits(PlayerItem, { id: 'p', createTs: 1_767_600_000 })).toBe(true)
    expect(fits(WidgetItem, { sequence: 1, changeProperties: { state: 1 }, operator: person })).toBe(true)
    expect(fits(classroom.roomEvents.answer, { code: 0, data: { list: [], nextId: null } })).toBe(true)
  })
})
