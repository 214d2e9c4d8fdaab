import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineLessons, type Lesson } from './lessons.ts'

const target = '/eu/edu/apps/a%26b/v2/rooms/r%231/users/u%2F1/properties'
const given = { roomUuid: 'r#1', userUuid: 'u/1', properties: ['hat'], cause: { why: 'sun' } }
const body = { cause: { why: 'sun' }, properties: ['hat'] }
const lesson: Lesson = {
  ...{ app: 'a&b', operation: 'deleteUserProperties', given, end: 'done' },
  sent: [{ method: 'DELETE', target, body }],
}

function judge(told: Partial<Lesson>) {
  const apps = [{ id: 'a&b', regions: ['ap', 'eu'] }]
  return examineLessons({ lessons: [{ ...lesson, ...told }], apps } as unknown as Examination)
}

describe('whoever changes a classroom by hand', () => {
  it('has that sent which the document asks for', () => {
    expect(judge({})).toEqual([])
    const bare = { method: 'PUT', target: '/eu/edu/apps/a%26b/v2/rooms/r%231/states/1', body: undefined }
    expect(judge({ operation: 'setRoomState', given: { roomUuid: 'r#1', state: 1 }, sent: [bare] })).toEqual(
      [],
    )
  })

  it.each([
    ['another method', { method: 'PUT', target, body }],
    ['another path', { method: 'DELETE', target: target.replace('v2', 'v1'), body }],
    ['a name as it is', { method: 'DELETE', target: target.replace('%2F', '/'), body }],
    ['no reason', { method: 'DELETE', target, body: { properties: ['hat'] } }],
  ])('is heard where it is %s', (_, request) => {
    expect(judge({ sent: [request] })).toHaveLength(1)
  })

  it('is not told that it is done before anything was sent, nor that the provider finds it wrong', () => {
    expect(judge({ sent: [] })).toHaveLength(1)
    expect(judge({ end: 'bad_request' })).toHaveLength(1)
    expect(judge({ end: 'not_found' })).toEqual([])
  })
})
