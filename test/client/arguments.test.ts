import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isOfProject, namesOf, placeArguments, rangeProblem, requestOf } from '../../src/client/arguments.ts'
import { describeOperation } from '../../src/client/describe.ts'
import { analyticsOperations } from '../../src/provider/analytics/index.ts'
import { classroomOperations } from '../../src/provider/classroom/index.ts'
import { allOperations, operations } from '../../src/provider/index.ts'
import { called, ParameterError } from '../../src/provider/operation.ts'
import { playerOperations } from '../../src/provider/players/index.ts'

const project = { id: 'app-1', region: 'ap' }

function problemOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(ParameterError)
    return (error as Error).message
  }
  throw new Error('nothing was wrong')
}

test('the client has every operation of the three documents, under its own name', () => {
  const documented = [...classroomOperations, ...analyticsOperations, ...playerOperations]
  expect(documented).toHaveLength(28)
  expect(new Set(allOperations)).toEqual(new Set(documented))
  for (const [family, all] of Object.entries(operations)) {
    for (const [name, operation] of Object.entries(all)) expect(called(operation)).toBe(`${family}.${name}`)
  }
})

test.each(allOperations.map(each => [called(each), each] as const))(
  'no two parameters of %s share a name, whether in path, query or body',
  (_name, operation) => {
    const names = describeOperation(operation).map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
  },
)

describe('placing arguments', () => {
  test('project and region come from the app', () => {
    expect(requestOf(operations.classroom.setRoomState, { roomUuid: 'r', state: 1 }, project).target).toBe(
      '/ap/edu/apps/app-1/v2/rooms/r/states/1',
    )
    expect(
      requestOf(operations.analytics.callSearch, { start_ts: 1, end_ts: 2, cname: 'c' }, project).target,
    ).toBe('/beta/analytics/call/lists?start_ts=1&end_ts=2&appid=app-1&cname=c')
  })

  test('a region that is given wins over that of the app', () => {
    const { target } = requestOf(operations.players.deletePlayer, { id: 'p', region: 'eu' }, project)
    expect(target).toBe('/eu/v1/projects/app-1/cloud-player/players/p')
  })

  test('path, query and body are told apart by the contract', () => {
    const given = { streamIp: '10.0.0.1', streamUrl: 'rtmp://a/b', channelName: 'c', uid: 7 }
    const { target, body } = requestOf(operations.players.createPlayer, given, project)
    expect(target).toBe('/ap/v1/projects/app-1/cloud-player/players?streamIp=10.0.0.1')
    expect(body).toEqual({ streamUrl: 'rtmp://a/b', channelName: 'c', uid: 7 })
  })

  test('an operation whose body may be left out sends an empty one', () => {
    const { body } = requestOf(operations.classroom.kickUser, { roomUuid: 'r', userUuid: 'u' }, project)
    expect(body).toEqual({})
  })

  test('an operation without a body has none', () => {
    expect(placeArguments(operations.classroom.resources, { roomUuid: 'r' }, project)).not.toHaveProperty(
      'body',
    )
  })

  test('what is placed, side by side again, is what was given', () => {
    fc.assert(
      fc.property(fc.constantFrom(...allOperations), fc.infiniteStream(fc.boolean()), (operation, chosen) => {
        const names = namesOf(operation).filter(() => chosen.next().value)
        const given = Object.fromEntries(names.map((name, i) => [name, `value ${i}`]))
        const { parameters, body } = placeArguments(operation, given, project)
        const placed = Object.entries({ ...parameters, ...body }).filter(
          ([name, value]) => value !== undefined && !isOfProject(name),
        )
        const region = 'region' in operation.pathParams ? { region: given.region ?? project.region } : {}
        expect(Object.fromEntries(placed)).toEqual({ ...given, ...region })
      }),
    )
  })
})

describe('a wrong argument is refused before anything is sent', () => {
  test('every rule that is broken is told at once, behind the name of its parameter', () => {
    const given = { roomUuid: 'r'.repeat(64), state: 9 }
    const message = problemOf(() => requestOf(operations.classroom.setRoomState, given, project))
    expect(message).toBe(
      'classroom.setRoomState: roomUuid: must be under 64 bytes in UTF-8; state: must be 0, 1, 2 or 3',
    )
  })

  test('what is missing is said to be missing', () => {
    expect(problemOf(() => requestOf(operations.classroom.uploadResource, { roomUuid: 'r' }, project))).toBe(
      'classroom.uploadResource: resourceUuid: is missing; size: is missing; ext: is missing; url: is missing',
    )
  })

  test('a rule between two fields names the one to give', () => {
    const given = { streamUrl: 'rtmp://a/b', channelName: 'c' }
    expect(problemOf(() => requestOf(operations.players.createPlayer, given, project))).toBe(
      'players.createPlayer: uid: is missing; give uid or account',
    )
  })

  test('a name that the operation does not have is told with those that it has', () => {
    const given = { roomUuid: 'r', stat: 1 }
    expect(problemOf(() => requestOf(operations.classroom.resources, given, project))).toBe(
      'classroom.resources: stat is no parameter of it; it has region, roomUuid',
    )
  })

  test('a field inside an object is found by its path', () => {
    const given = { streamUrl: 'rtmp://a/b', channelName: 'c', uid: 1, videoOptions: { width: 5, hight: 80 } }
    const message = problemOf(() => requestOf(operations.players.createPlayer, given, project))
    expect(message).toBe(
      'players.createPlayer: videoOptions.width: must be 66 or more; videoOptions: has no hight',
    )
  })

  const upload = { roomUuid: 'r', resourceUuid: 'x', size: 1, ext: 'pdf', url: 'https://h/a' }
  const start = { roomUuid: 'r', state: 1 }
  const range = { start_ts: 1, end_ts: 2 }
  const series = { startTs: 1, endTs: 2, productType: 'Native', metric: 'm' }

  test.each([
    ['uploadResource', { ...upload, size: -1 }, 'size: must be 0 or more'],
    ['uploadResource', { ...upload, size: 1.5 }, 'size: must be a whole number of bytes'],
    ['uploadResource', { ...upload, size: Number.NaN }, 'size: must be a whole number of bytes'],
    ['uploadResource', { ...upload, ext: '' }, 'ext: must not be empty'],
    ['uploadResource', { ...upload, url: '' }, 'url: must not be empty'],
    ['uploadResource', { ...upload, url: 'https://h/\ud800' }, 'url: half a character in it cannot be sent'],
    [
      'uploadResource',
      { ...upload, conversion: { '\udc00': 1 } },
      'conversion: half a character in it cannot be sent',
    ],
    ['setRecordingState', { ...start, retryTimeout: -1 }, 'retryTimeout: must be 0 or more'],
    ['setRecordingState', { ...start, mode: '' }, 'mode: must not be empty'],
    ['deleteResources', { roomUuid: 'r', resourceUuids: [] }, 'resourceUuids: must name one at least'],
    ['deleteResources', { roomUuid: 'r', resourceUuids: [''] }, 'resourceUuids.0: must not be empty'],
    ['deleteRoomProperties', { roomUuid: 'r', properties: [] }, 'properties: must name one at least'],
    [
      'deleteUserProperties',
      { roomUuid: 'r', userUuid: 'u', properties: [''] },
      'properties.0: must not be empty',
    ],
    ['callSearch', { ...range, cname: '' }, 'cname: must not be empty'],
    ['callSearch', { ...range, cname: 'c'.repeat(65) }, 'cname: must not be longer than 64 bytes in UTF-8'],
    ['realtimeUsage', { ...series, cname: '' }, 'cname: must not be empty'],
    [
      'realtimeQuality',
      { ...series, cname: 'é'.repeat(33) },
      'cname: must not be longer than 64 bytes in UTF-8',
    ],
    ['callSearch', { start_ts: 2, end_ts: 1 }, 'end_ts: must not be before start_ts'],
    ['callSessions', { start_ts: 2, end_ts: 1, call_id: 'c' }, 'end_ts: must not be before start_ts'],
    [
      'usageInsight',
      { startTs: 2, endTs: 1, metric: 'm', aggregateGranularity: '1d' },
      'endTs: must not be before startTs',
    ],
  ])('%s takes no %j', (name, given, problem) => {
    const operation = allOperations.find(each => each.name === name)!
    expect(problemOf(() => requestOf(operation, given, project))).toBe(`${called(operation)}: ${problem}`)
  })

  test.each([
    ['uploadResource', { ...upload, size: 0 }],
    ['setRecordingState', { ...start, retryTimeout: 0 }],
    ['callSearch', { start_ts: 2, end_ts: 2, cname: 'c'.repeat(64) }],
    ['recordings', { roomUuid: 'r', nextId: '' }],
    ['updateExtAppProperties', { roomUuid: 'r', extAppUuid: 'x', properties: {}, common: { state: 1 } }],
  ])('%s takes %j', (name, given) => {
    const operation = allOperations.find(each => each.name === name)!
    expect(() => requestOf(operation, given, project)).not.toThrow()
  })

  test('a value never shows in what is said of it', () => {
    const given = { streamUrl: 'swordfish', channelName: 'swordfish{', uid: 'swordfish', token: 7 }
    expect(problemOf(() => requestOf(operations.players.createPlayer, given, project))).not.toContain(
      'swordfish',
    )
  })
})

const now = 1_000_000
const limits = { availableData: 604_800, timeFrame: 57_600, dataDelay: 60 }
const of = (start_ts: number, end_ts: number) => rangeProblem({ start_ts, end_ts }, limits, now)

test.each([
  ['one second inside every bound', now - 604_799, now - 604_799 + 57_599, undefined],
  [
    'exactly as far back as the available data',
    now - 604_800,
    now - 604_700,
    'start_ts: the plan serves the last 7 days only',
  ],
  [
    'exactly as young as the delay',
    now - 120,
    now - 60,
    'end_ts: the plan serves what is older than 1 minute only',
  ],
  ['a second older than the delay', now - 120, now - 61, undefined],
  [
    'exactly as long as the span',
    now - 60_000,
    now - 2_400,
    'start_ts to end_ts must be shorter than 16 hours',
  ],
])('%s', (_what, start, end, problem) => {
  expect(of(start, end)).toBe(problem)
})

test('insights and real-time values have other names', () => {
  expect(rangeProblem({ startTs: now - 700_000, endTs: now - 699_000 }, limits, now)).toMatch(/^startTs: /)
})

test('a question without a range has nothing wrong with it', () => {
  expect(rangeProblem({ roomUuid: 'r' }, limits, now)).toBeUndefined()
})
