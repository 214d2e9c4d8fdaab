import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { longestRetryAfter, retryAfterSeconds } from '../../src/http/headers.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    ['0', 0],
    [' 7 ', 7],
    ['1000000000', 3_600],
    ['99999999999999999999', 3_600],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 01 Mar 2037 11:00:00 GMT', 3_600],
  ])('%j asks for %j seconds', (header, seconds) => {
    expect(retryAfterSeconds(header, now)).toBe(seconds)
  })

  it.each([
    [undefined],
    [''],
    ['-5'],
    ['abc'],
    ['abc 1'],
    ['1e9'],
    ['1.5'],
    ['0x10'],
    ['2026-03-01T12:00:30Z'],
    ['Sun, 99 Mar 2026 12:00:30 GMT'],
  ])('%j says nothing', header => {
    expect(retryAfterSeconds(header, now)).toBeUndefined()
  })

  it('never asks for less than nothing or more than an hour, whatever it says', () => {
    const hint = fc.oneof(fc.string({ unit: 'binary' }), fc.integer().map(String), fc.date().map(String))
    fc.assert(
      fc.property(hint, fc.integer({ min: 0, max: 4e12 }), (header, at) => {
        const seconds = retryAfterSeconds(header, at)
        return seconds === undefined || (seconds >= 0 && seconds <= longestRetryAfter)
      }),
    )
  })

  it('reads every date of the form that HTTP writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: longestRetryAfter }), ahead => {
        return retryAfterSeconds(new Date(now + ahead * 1_000).toUTCString(), now) === ahead
      }),
    )
  })
})
