import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { namesOf } from '../../src/client/arguments.ts'
import { clientKinds } from '../../src/client/errors.ts'
import { ownOptions, readValues, readWords } from '../../src/commands/api/arguments.ts'
import { findOperation, operationLines } from '../../src/commands/api/operations.ts'
import { exitCodeOfKind } from '../../src/commands/api/print.ts'
import { failureKinds } from '../../src/provider/errors.ts'
import { allOperations, operations } from '../../src/provider/index.ts'
import { called, type Operation } from '../../src/provider/operation.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-api-words-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function complaint(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toMatchObject({ exitCode: 2 })
    return (error as Error).message
  }
  throw new Error('nothing was wrong')
}

describe('the words of the command', () => {
  test('parameters and options may stand in any order, and values behind = too', () => {
    const read = readWords([
      '--state=1',
      'classroom.setRoomState',
      '--json',
      '--app',
      'a',
      '--roomUuid',
      'r',
      '--dry-run',
    ])
    expect(read).toEqual({
      operation: 'classroom.setRoomState',
      config: 'penstock.yaml',
      app: 'a',
      timeout: undefined,
      requestId: undefined,
      wants: new Set(['json', 'dry-run']),
      values: new Map([
        ['state', '1'],
        ['roomUuid', 'r'],
      ]),
    })
  })

  test('a value may be negative, empty, or hold an equals sign', () => {
    const { values } = readWords(['x.y', '--a', '-1', '--b=', '--c=d=e', '--f', 'g=h'])
    expect(Object.fromEntries(values)).toEqual({ a: '-1', b: '', c: 'd=e', f: 'g=h' })
  })

  test.each([
    [['x.y', '--name'], '--name needs a value; one that begins with -- is written --name=VALUE'],
    [['x.y', '--name', '--json'], '--name needs a value'],
    [['x.y', '--name', 'a', '--name=b'], '--name is given twice'],
    [['x.y', 'stray'], '"stray" stands behind no option'],
    [['x.y', '--'], '"--" is no option'],
    [['x.y', '--patience', 'soon'], '--patience must be a duration'],
  ])('%j is refused', (words, message) => {
    expect(complaint(() => readWords(words))).toContain(message)
  })

  test('no parameter of an operation is named like an option of the command', () => {
    const own: readonly string[] = [...ownOptions, 'help', 'json', 'dry-run']
    expect(allOperations.flatMap(namesOf).filter(name => own.includes(name))).toEqual([])
  })
})

describe('the name of an operation', () => {
  test('is found however its letters are written', () => {
    expect(findOperation('Players.CREATEplayer')).toBe(operations.players.createPlayer)
  })

  test.each([
    ['players.creatPlayer', 'did you mean players.createPlayer?'],
    ['player.listPlayers', 'did you mean players.listPlayers?'],
    ['setRoomState', 'did you mean classroom.setRoomState?'],
    ['zebra', '`penstock api` lists what there is'],
  ])('%s is met with: %s', (name, hint) => {
    expect(complaint(() => findOperation(name))).toContain(hint)
  })
})

describe('the values of parameters', () => {
  const read = (operation: Operation, values: Readonly<Record<string, string>>, env = {}) =>
    readValues(operation, new Map(Object.entries(values)), env)

  async function refusal(operation: Operation, values: Readonly<Record<string, string>>, env = {}) {
    const error = await read(operation, values, env).then(
      () => undefined,
      (error: Error) => error,
    )
    expect(error).toMatchObject({ exitCode: 2 })
    return error!.message
  }

  test('become what the contract says: texts, numbers, booleans, objects and lists', async () => {
    expect(
      await read(operations.classroom.uploadResource, {
        resourceUuid: '7',
        size: '12.5',
        conversion: '{"a":[1]}',
      }),
    ).toEqual({
      resourceUuid: '7',
      size: 12.5,
      conversion: { a: [1] },
    })
    expect(
      await read(operations.analytics.callSessions, { exclude_server_user: 'false', start_ts: '-5' }),
    ).toEqual({
      exclude_server_user: false,
      start_ts: -5,
    })
    expect(await read(operations.classroom.deleteResources, { resourceUuids: '["a"]' })).toEqual({
      resourceUuids: ['a'],
    })
  })

  test('may come from a file, without the line break at its end, or from the environment', async () => {
    const path = join(folder, 'value')
    await writeFile(path, '{"state": 1}\n')
    expect(
      await read(operations.classroom.kickUser, { dirty: `@${path}`, userUuid: 'env:WHO' }, { WHO: 'ann' }),
    ).toEqual({
      dirty: { state: 1 },
      userUuid: 'ann',
    })
  })

  test('are meant as they are behind text:', async () => {
    expect(await read(operations.classroom.resources, { roomUuid: 'text:@env:text:' })).toEqual({
      roomUuid: '@env:text:',
    })
  })

  test('that are secret come from a file or the environment only', async () => {
    const { createPlayer } = operations.players
    for (const name of ['token', 'encryptKey', 'encryptKdfSalt']) {
      for (const value of ['swordfish', 'text:swordfish']) {
        const message = await refusal(createPlayer, { [name]: value })
        expect(message).toContain(`--${name}: is secret`)
        expect(message).not.toContain('swordfish')
      }
      expect(await read(createPlayer, { [name]: 'env:IT' }, { IT: 'swordfish' })).toEqual({
        [name]: 'swordfish',
      })
    }
  })

  test.each<[Operation, Readonly<Record<string, string>>, string]>([
    [operations.classroom.setRoomState, { state: 'one' }, '--state: must be a number'],
    [operations.classroom.setRoomState, { state: '1e3' }, '--state: must be a number'],
    [operations.classroom.setRoomState, { state: '' }, '--state: must be a number'],
    [operations.analytics.callSessions, { exclude_server_user: 'yes' }, 'must be true or false'],
    [operations.classroom.deleteResources, { resourceUuids: 'a,b' }, '--resourceUuids: must be JSON (list)'],
    [operations.players.createPlayer, { chanelName: 'x' }, 'did you mean --channelName?'],
    [operations.players.createPlayer, { zzzz: 'x' }, 'penstock api players.createPlayer --help lists them'],
    [operations.players.createPlayer, { appId: 'x' }, 'the project is given by --app'],
    [operations.analytics.callSearch, { appid: 'x' }, 'the project is given by --app'],
    [
      operations.players.createPlayer,
      { name: '@/no/such/file' },
      'the file cannot be read: no such file or directory',
    ],
    [
      operations.players.createPlayer,
      { name: 'env:NO_SUCH' },
      'there is no such variable in the environment',
    ],
  ])('%# a value that is none is refused, and the parameter named', async (operation, values, message) => {
    expect(await refusal(operation, values)).toContain(message)
  })
})

test('every way to fail has an exit code that a script can tell apart from a wrong command line', () => {
  for (const kind of [...failureKinds, ...clientKinds]) {
    expect([1, 3, 4, 5, 6, 7, 8, 9], kind).toContain(exitCodeOfKind(kind))
  }
  const documented = {
    bad_request: 3,
    unauthorized: 6,
    forbidden: 6,
    not_found: 4,
    conflict: 5,
    rate_limited: 7,
  }
  for (const [kind, code] of Object.entries(documented))
    expect(exitCodeOfKind(kind as keyof typeof documented)).toBe(code)
  expect(
    ['server_error', 'unavailable', 'gateway_timeout'].map(kind => exitCodeOfKind(kind as 'unavailable')),
  ).toEqual([8, 8, 9])
  expect(allOperations.map(called)).toHaveLength(28)
})

test('the help of an operation names the exit code that a refusal ends with', () => {
  const lines = operationLines(operations.classroom.setRoomState).join('\n').split('\n')
  const exitOf = (words: string) =>
    lines.find(line => line.includes(words))?.match(/^ +\d{3} +(?:\d+ +)?(\d) /)?.[1]
  // A room that is muted is a conflict by its code, whatever its status.
  expect(exitOf('is muted')).toBe(String(exitCodeOfKind('conflict')))
  expect(exitOf('x-svc-uid')).toBe(String(exitCodeOfKind('unauthorized')))
  expect(exitOf('no such classroom')).toBe(String(exitCodeOfKind('not_found')))
})
