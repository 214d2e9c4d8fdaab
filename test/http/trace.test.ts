import { describe, expect, it } from 'vitest'
import { traceOf } from '../../src/http/headers.ts'

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
