import { describe, expect, it } from 'vitest'
import {
  classroomErrors,
  classroomOperations,
  deleteResources,
  kickUser,
  poll,
  popupQuiz,
  recordings,
  roomEvents,
  setRecordingState,
  setRoomState,
  updateExtAppProperties,
  updateRoomProperties,
  uploadResource,
  withRegion,
} from '../../src/provider/classroom/index.ts'
import { type Operation, ParameterError, type Parameters, requestLine } from '../../src/provider/operation.ts'

const room = { region: 'ap', appId: 'a1', roomUuid: 'r1' }

/** The document's table of endpoints, row by row. */
const endpoints = [
  ['POST', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/users/{userUuid}/exit'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/states/{state}'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/records/states/{state}'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/records/states/{state}'],
  ['GET', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/records'],
  ['PUT', '/{region}/edu/apps/{appId}/v1/rooms/{roomUuid}/resources/{resourceUuid}'],
  ['DELETE', '/{region}/edu/apps/{appId}/v1/rooms/{roomUuid}/resources'],
  ['GET', '/{region}/edu/apps/{appId}/v1/rooms/{roomUuid}/resources'],
  ['GET', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/sequences'],
  ['GET', '/{region}/edu/polling/apps/{appId}/v2/rooms/sequences'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/properties'],
  ['DELETE', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/properties'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/users/{userUuid}/properties'],
  ['DELETE', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/users/{userUuid}/properties'],
  ['PUT', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/extApps/{extAppUuid}/properties'],
  ['DELETE', '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/extApps/{extAppUuid}/properties'],
  ['GET', '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/popupQuiz/sequences'],
  ['GET', '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/poll/sequences'],
]

function refusal(operation: Operation, parameters: Parameters, body?: unknown): string {
  try {
    requestLine(operation, parameters, body)
  } catch (error) {
    if (error instanceof ParameterError) return error.message
    throw error
  }
  return 'accepted'
}

describe('the classroom operations', () => {
  it('are the eighteen of the document, each with its method and path', () => {
    expect(classroomOperations.map(({ method, path }) => [method, path])).toEqual(endpoints)
  })

  it('have names of their own and a schema for each parameter of their path', () => {
    expect(new Set(classroomOperations.map(({ name }) => name)).size).toBe(18)
    for (const { path, pathParams } of classroomOperations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(Object.keys(pathParams).sort()).toEqual(inPath.sort())
    }
  })

  it('read quiz and poll behind a region too, where a deployment wants it', () => {
    expect(requestLine(withRegion(popupQuiz), room).target).toBe(
      '/ap/edu/apps/a1/v2/rooms/r1/widgets/popupQuiz/sequences',
    )
    expect(requestLine(poll, { appId: 'a1', roomUuid: 'r1', count: 20 }).target).toBe(
      '/edu/apps/a1/v2/rooms/r1/widgets/poll/sequences?count=20',
    )
  })
})

describe('path parameters', () => {
  it.each(['cn', 'ap', 'eu', 'na'])('allow the region %s', region => {
    expect(requestLine(recordings, { ...room, region }).target).toBe(
      `/${region}/edu/apps/a1/v2/rooms/r1/records`,
    )
  })

  it('refuse any other region', () => {
    expect(refusal(recordings, { ...room, region: 'us' })).toMatch(/region: must be cn, ap, eu or na/)
  })

  it.each([
    ['x'.repeat(63), true],
    ['x'.repeat(64), false],
    ['é'.repeat(31), true],
    ['é'.repeat(32), false],
    ['', false],
  ])('count the bytes of a roomUuid and stay under 64: %j', (roomUuid, isAllowed) => {
    expect(refusal(recordings, { ...room, roomUuid }) === 'accepted').toBe(isAllowed)
  })

  it('keep a roomUuid inside one segment, whatever it holds', () => {
    expect(requestLine(recordings, { ...room, roomUuid: 'a/b?c#d%2F' }).target).toBe(
      '/ap/edu/apps/a1/v2/rooms/a%2Fb%3Fc%23d%252F/records',
    )
  })

  it.each([0, 1, 2, 3])('allow the classroom state %i', state => {
    expect(requestLine(setRoomState, { ...room, state }).target).toMatch(new RegExp(`/states/${state}$`))
  })

  it('refuse states that the document does not number', () => {
    expect(refusal(setRoomState, { ...room, state: 4 })).toMatch(/state: must be 0, 1, 2 or 3/)
    expect(refusal(setRecordingState, { ...room, state: 2 })).toMatch(/state: must be 0 or 1/)
  })
})

describe('query parameters', () => {
  it('leave out an empty first nextId and pass on a later one', () => {
    expect(requestLine(roomEvents, { ...room, nextId: null }).target).not.toContain('?')
    expect(requestLine(roomEvents, { ...room, nextId: 'a&b', cmd: 20 }).target).toMatch(
      /\?nextId=a%26b&cmd=20$/,
    )
  })

  it('refuse a cmd that is no integer', () => {
    expect(refusal(roomEvents, { ...room, cmd: 1.5 })).toMatch(/cmd: must be an integer/)
  })

  it('do not include a cmd for recordings', () => {
    expect(refusal(recordings, { ...room, cmd: 1 })).toMatch(/no parameter cmd/)
  })
})

describe('bodies', () => {
  it('may be empty where all of their fields are optional', () => {
    expect(requestLine(kickUser, { ...room, userUuid: 'u' }).body).toEqual({})
    expect(requestLine(setRecordingState, { ...room, state: 1 }).body).toEqual({})
  })

  it('carry size, ext and url with an upload', () => {
    const file = { resourceName: 'n', size: 1, ext: 'pdf', url: 'https://files.example/1' }
    const parameters = { ...room, resourceUuid: 'f' }
    expect(requestLine(uploadResource, parameters, file).body).toEqual(file)
    for (const required of ['size', 'ext', 'url']) {
      const rest = Object.fromEntries(Object.entries(file).filter(([name]) => name !== required))
      expect(refusal(uploadResource, parameters, rest)).toMatch(new RegExp(`body\\.${required}`))
    }
    expect(refusal(uploadResource, parameters, { ...file, resourceName: 'n'.repeat(64) })).toMatch(
      /under 64 bytes/,
    )
  })

  it('name resources to delete, each under 64 bytes', () => {
    expect(requestLine(deleteResources, room, { resourceUuids: ['f'] }).body).toEqual({
      resourceUuids: ['f'],
    })
    expect(refusal(deleteResources, room, { resourceUuids: ['f'.repeat(64)] })).toMatch(/resourceUuids\.0/)
    expect(refusal(deleteResources, room, {})).toMatch(/resourceUuids/)
  })

  it('hold properties and a cause, and for an extension app its state', () => {
    const body = { properties: { a: 1 }, cause: { by: 'server' } }
    expect(requestLine(updateRoomProperties, room, body).body).toEqual(body)
    const extApp = { ...room, extAppUuid: 'e' }
    const switched = { ...body, common: { state: 1 } }
    expect(requestLine(updateExtAppProperties, extApp, switched).body).toEqual(switched)
    expect(refusal(updateExtAppProperties, extApp, { ...body, common: { state: 2 } })).toMatch(
      /must be 0 or 1/,
    )
  })

  it('refuse a misspelt field', () => {
    expect(refusal(updateRoomProperties, room, { properties: {}, reason: {} })).not.toBe('accepted')
  })
})

it('the error codes are those of the document', () => {
  expect(classroomErrors.map(({ status, code }) => [status, code])).toEqual([
    [400, 400],
    [401, undefined],
    [403, 30403200],
    [404, undefined],
    [404, 20404100],
    [404, 20404200],
    [409, 30409410],
    [409, 30409411],
    [409, 30409100],
    [409, 30409101],
    [500, 500],
    [503, undefined],
  ])
})
