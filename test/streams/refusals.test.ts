import { expect, it } from 'vitest'
import { z } from 'zod'
import { EventRecord } from '../../src/provider/classroom/index.ts'
import { judge } from '../../src/streams/parts/items.ts'

/** Why something is set aside. */
function detailOf(schema: z.ZodType, value: unknown): string | undefined {
  const judged = judge(schema, value)
  return judged.ok ? undefined : judged.reject.detail
}

const record = { roomUuid: 'algebra-7b', cmd: 3, sequence: 1 }

it.each([
  [{ sequence: 'secret' }, 'sequence: Invalid input: expected number, received string'],
  [{ sequence: 1.5 }, 'sequence: Invalid input: expected int, received number'],
  [{ sequence: null }, 'sequence: Invalid input: expected number, received null'],
  [{ sequence: undefined }, 'sequence: Invalid input: expected number, received undefined'],
  [{ sequence: [7] }, 'sequence: Invalid input: expected number, received array'],
  [{ sequence: 2n ** 63n }, 'sequence: Too big: expected bigint to be <=9223372036854775807'],
  [{ roomUuid: { secret: 1 } }, 'roomUuid: Invalid input: expected string or number, received object'],
  [{ roomUuid: true }, 'roomUuid: Invalid input: expected string or number, received boolean'],
  [{ cmd: 'secret' }, 'cmd: Invalid input: expected number, received string'],
])('of a field that may be of several kinds the kinds are told, and of %o what it was', (odd, detail) => {
  expect(detailOf(EventRecord, { ...record, ...odd })).toBe(detail)
})

it('what fits one of several kinds but for a part of it is refused for that part', () => {
  const list = z.looseObject({ count: z.int() })
  const data = z.union([z.array(z.unknown()), list, z.string().min(1)])
  const answer = z.looseObject({ data })
  expect(detailOf(answer, { data: { count: 'secret' } })).toBe(
    'data.count: Invalid input: expected number, received string',
  )
  expect(detailOf(answer, { data: 7 })).toBe(
    'data: Invalid input: expected array, object or string, received number',
  )
})
