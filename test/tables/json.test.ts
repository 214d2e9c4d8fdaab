import { expect, it } from 'vitest'
import { isoTime } from '../../src/tables/json.ts'

it('an instant is written in UTC with milliseconds', () => {
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z')
  expect(isoTime(1_767_225_599_999)).toBe('2025-12-31T23:59:59.999Z')
  expect(isoTime(253_402_300_799_999)).toBe('9999-12-31T23:59:59.999Z')
})

it.each([-1, 253_402_300_800_000, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%s is no instant', ms => {
  expect(isoTime(ms)).toBeUndefined()
})
