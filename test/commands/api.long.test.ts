import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/postgres/connect.ts'
import { type ApiStage, createPlayer, openApiStage } from './api-stage.ts'
import { penstock } from './penstock.ts'

let stage: ApiStage
let pool: pg.Pool

/** The provider counts what every test sends, so each has one of its own, and a ledger that begins with it. */
beforeEach(async () => {
  stage = await openApiStage({ profile: { kind: 'idle', rooms: 2 }, switches: { playerFailRate: 0 } })
  const session = { statementTimeout: 10_000, lockTimeout: 5_000, role: '' }
  pool = connect({ url: stage.database.url, poolSize: 1, ...session })
})

afterEach(async () => {
  await pool.end()
  await stage.close()
})

/** Requests that reached the provider. */
const arrived = () => stage.sandbox.status().requests

describe('help', () => {
  test('alone, the command lists all 28 operations by family', async () => {
    const { code, stdout, stderr } = await penstock(['api'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/^ {2}(classroom|analytics|players)\.\w+ {2,}\S/gm)).toHaveLength(28)
  })

  test('of an operation tells its rules, its limits and its errors, and needs no configuration', async () => {
    const { code, stdout } = await penstock(['api', 'PLAYERS.createplayer', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('POST /{region}/v1/projects/{appId}/cloud-player/players')
    expect(stdout).toMatch(/--streamUrl +text +body +required +Address of the stream.*1024 bytes/)
    expect(stdout).toMatch(/--token +text +body +Token for the channel.*secret: @FILE or env:NAME/)
    expect(stdout).toMatch(/ {6}frameRate +number +1 to 30 frames a second/)
    expect(stdout).toContain('Limit: players-create: 2 a second')
    expect(stdout).toMatch(/ 409 +5 +there is a player of the same name/)
    expect(stdout).toMatch(/ 504 +9 .*it may have been done/)
  })

  test('names the exit codes', async () => {
    for (const words of [
      ['api', '--help'],
      ['help', 'api'],
    ]) {
      const { code, stdout } = await penstock(words)
      expect(code).toBe(0)
      expect(stdout).toMatch(/3 the provider says the request is\s+wrong \(400\)/)
    }
  })
})

describe('a wrong command line sends nothing', () => {
  test.each([
    [['players.creatPlayer'], /did you mean players\.createPlayer\?/],
    [['classroom.setRoomState', '--roomUuid', 'r', '--state', '9'], /state: must be 0, 1, 2 or 3/],
    [['classroom.setRoomState'], /roomUuid: is missing; state: is missing/],
    [['classroom.resources', '--app', 'dmo', '--roomUuid', 'r'], /no app dmo; did you mean demo\?/],
    [['players.createPlayer', '--token', 'swordfish'], /--token: is secret/],
    [[...createPlayer('x'), '--playTs', '1'], /playTs: is more than 86400 s ago/],
    [[...createPlayer('x'), '--request-id', 'seven', '--dry-run'], /requestId: must be a UUID/],
    [['analytics.callSearch', '--start_ts', '1', '--end_ts', '9'], /the plan serves the last 7 days only/],
  ])('%j', async (words, message) => {
    const before = arrived()
    const { code, stdout, stderr } = await stage.api(words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('swordfish')
    expect(arrived()).toBe(before)
  })
})

describe('--dry-run', () => {
  test('prints the request with secrets replaced, and connects to nothing', async () => {
    const config = join(stage.folder, 'nowhere.yaml')
    const url = 'https://192.0.2.1'
    const app = {
      id: 'a',
      region: 'eu',
      plan: 'premium',
      classroom: { uid: 'u', token: 't' },
      rest: { key: 'k', secret: 's' },
    }
    const settings = {
      database: { url: 'postgres://nobody@192.0.2.1/none' },
      provider: { classroom: { url }, players: { url } },
      apps: [app],
    }
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 })
    const words = [
      'api',
      ...createPlayer('x'),
      '--token',
      'env:TOKEN',
      '--dry-run',
      '--json',
      '--config',
      config,
    ]
    const { code, stdout, stderr } = await penstock(words, { TOKEN: 'swordfish' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      method: 'POST',
      target: '/eu/v1/projects/a/cloud-player/players',
      body: {
        name: 'x',
        channelName: 'room',
        uid: expect.any(Number),
        streamUrl: 'rtmp://media.example.com/live',
        token: '[redacted]',
      },
    })
  })

  test('shows the request ID that is given, and a player without a name under the name that it would get', async () => {
    const words = createPlayer('x').filter(word => word !== '--name' && word !== 'x')
    const requestId = '6f9619ff-8b86-d011-b42d-00c04fc964ff'
    const { stdout } = await stage.api([...words, '--dry-run', '--request-id', requestId])
    expect(JSON.parse(stdout).requestId).toBe(requestId)
    expect(JSON.parse(stdout).body.name).toMatch(/^penstock-[0-9a-f-]{36}$/)
  })
})

describe('an answer', () => {
  test('of the classroom needs no database', async () => {
    const { code, stdout } = await stage.api(['classroom.roomEvents', '--roomUuid', 'no-such-room'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    const { rows } = await pool.query('select from ingest.debit')
    expect(rows).toEqual([])
  })

  test('is indented for people and one line for programs', async () => {
    const { stdout: text } = await stage.api(['players.listPlayers'])
    const { stdout: line } = await stage.api(['players.listPlayers', '--json'])
    expect(text).toMatch(/^\{\n {2}"/)
    expect(line.split('\n')).toHaveLength(2)
    expect(JSON.parse(line)).toEqual(JSON.parse(text))
  })

  test('keeps the token of the next page, which is no secret', async () => {
    const switches = { playerFailRate: 0, listBlindSeconds: 0 }
    const listing = await openApiStage({ profile: { kind: 'idle', rooms: 1 }, switches })
    try {
      await listing.api(createPlayer('page-1'))
      await listing.api(createPlayer('page-2'))
      const list = ['players.listPlayers', '--pageSize', '1', '--json']
      const page = JSON.parse((await listing.api(list)).stdout)
      expect(page.players).toHaveLength(1)
      const next = await listing.api([...list, '--pageToken', page.nextPageToken])
      expect(JSON.parse(next.stdout).players[0].id).not.toBe(page.players[0].id)
    } finally {
      await listing.close()
    }
  })

  test('that is counted is debited as the daemon would, and no shard stays owned', async () => {
    await stage.api(['players.listPlayers'])
    const debits = await pool.query(
      'select limit_group, app_id, operation, outcome, settled_at is not null as settled from ingest.debit',
    )
    expect(debits.rows).toEqual([
      {
        limit_group: 'players-list',
        app_id: 'demo',
        operation: 'players.listPlayers',
        outcome: 'unread',
        settled: true,
      },
    ])
    const owned = await pool.query(`select from ingest_jobs.job where state = 'active'`)
    expect(owned.rows).toEqual([])
  })

  test('is asked for in the name of the daemon that runs', async () => {
    await pool.query(
      `with owned as (insert into ingest.ownership select shard, 'host/1/abc', 7 from generate_series(0, 63) shard)
       insert into ingest.replica values ('host/1/abc', ingest.clock(), ingest.clock() + interval '1 hour', '{1}')`,
    )
    expect((await stage.api(['players.listPlayers'])).code).toBe(0)
    const { rows } = await pool.query(
      `select epoch::int, (select count(*)::int from ingest.ownership where owner = 'host/1/abc' and epoch = 7) as theirs from ingest.debit`,
    )
    expect(rows).toEqual([{ epoch: 7, theirs: 64 }])
  })
})

describe('an error', () => {
  test('is one sentence with the IDs of the request', async () => {
    const { code, stdout, stderr } = await stage.api([
      'classroom.kickUser',
      '--roomUuid',
      'no-such-room',
      '--userUuid',
      'u',
    ])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toMatch(
      /^penstock: classroom\.kickUser: the provider answered HTTP 404 with code 20404100: there is no such classroom \(request [0-9a-f-]{36}\)\n$/,
    )
  })

  test('is JSON for programs', async () => {
    const requestId = '6f9619ff-8b86-d011-b42d-00c04fc964ff'
    const { code, stderr } = await stage.api([
      'classroom.kickUser',
      '--roomUuid',
      'none',
      '--userUuid',
      'u',
      `--request-id=${requestId}`,
      '--json',
    ])
    expect(code).toBe(4)
    expect(JSON.parse(stderr)).toEqual({
      error: {
        operation: 'classroom.kickUser',
        kind: 'not_found',
        status: 404,
        code: 20_404_100,
        requestId,
        text: expect.stringContaining('there is no such classroom'),
        exitCode: 4,
      },
    })
  })

  test('ends with an exit code by what the provider says', async () => {
    const codes = new Map([
      ...([
        [400, 3],
        [401, 6],
        [403, 6],
        [409, 5],
      ] as const),
      ...([
        [500, 8],
        [503, 8],
        [504, 9],
      ] as const),
    ])
    // An operation for each, so that they can be asked at the same time.
    const names = [
      'resources',
      'recordings',
      'roomEvents',
      'popupQuiz',
      'poll',
      'kickUser',
      'setRecordingState',
    ]
    const cases = [...codes].map(([status, code], i) => ({ status, code, operation: names[i]! }))
    stage.sandbox.faults.set(
      cases.map(({ status, operation }) => ({ kind: 'status', status, operation, every: 1 })),
    )
    const parameters: Readonly<Record<string, readonly string[]>> = {
      kickUser: ['--userUuid', 'u'],
      setRecordingState: ['--state', '1'],
    }
    const ends = await Promise.all(
      cases.map(async ({ operation, ...rest }) => {
        const words = [`classroom.${operation}`, '--roomUuid', 'r', ...(parameters[operation] ?? [])]
        return { ...rest, ended: (await stage.api(words)).code }
      }),
    )
    expect(ends).toEqual(ends.map(({ status, code }) => ({ status, code, ended: code })))
  })

  test('HTTP 429 ends with 7 once patience is over', async () => {
    stage.sandbox.faults.set([
      { kind: 'status', status: 429, operation: 'resources', every: 1, retryAfter: '9' },
    ])
    const { code, stderr } = await stage.api([
      'classroom.resources',
      '--roomUuid',
      'r',
      '--patience',
      '1s',
      '--json',
    ])
    expect(code).toBe(7)
    expect(JSON.parse(stderr).error).toMatchObject({ kind: 'rate_limited', status: 429, retryAfter: 9 })
  })

  test('a connection that breaks leaves it open whether it was done', async () => {
    stage.sandbox.faults.set([{ kind: 'reset', operation: 'resources', every: 1 }])
    expect((await stage.api(['classroom.resources', '--roomUuid', 'r'])).code).toBe(9)
  })

  test('a wrong configuration ends with 78', async () => {
    const config = join(stage.folder, 'wrong.yaml')
    await writeFile(config, 'apps: 1\n')
    const { code, stderr } = await penstock(['api', 'players.listPlayers', '--config', config, '--json'])
    expect(code).toBe(78)
    expect(JSON.parse(stderr).error).toMatchObject({ kind: 'failed', exitCode: 78 })
  })
})
