import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { longestRetryAfter, retryAfterSeconds } from '../../src/http/classify.ts'
import { traceOf } from '../../src/http/transport.ts'

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

function trace(headers: Readonly<Record<string, string>>, body?: unknown) {
  const header = (name: string) => headers[name]
  return traceOf('sent', { status: 504, header, bytes: new Uint8Array(), end: 'whole' }, body)
}

describe('the IDs by which a request is found again', () => {
  it('the one that was sent stands alone when the answer repeats it, or has none, as on 401', () => {
    expect(trace({ 'x-request-id': 'sent' })).toEqual({ requestId: 'sent' })
    expect(trace({})).toEqual({ requestId: 'sent' })
  })

  it('one that the provider made is kept beside it, from the header or from the body', () => {
    expect(trace({ 'x-request-id': 'theirs' })).toEqual({ requestId: 'sent', answeredId: 'theirs' })
    expect(trace({}, { requestId: 'in-body' })).toEqual({ requestId: 'sent', answeredId: 'in-body' })
  })

  it('the resource is the player that was made, or that has the name', () => {
    expect(trace({ 'x-resource-id': 'player-1' })).toEqual({ requestId: 'sent', resourceId: 'player-1' })
    expect(trace({ 'x-resource-id': 'null' })).toEqual({ requestId: 'sent' })
  })

  it('what is long or not printable is no ID', () => {
    expect(trace({ 'x-request-id': 'a\u202eb', 'x-resource-id': 'x'.repeat(129) })).toEqual({
      requestId: 'sent',
    })
  })
})
