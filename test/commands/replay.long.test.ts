import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, demoApp, type Quirks, type Sandbox, type Switches } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { openSetting, type Setting } from '../e2e/setting.ts'
import { execute } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { penstock } from './penstock.ts'

/** Seconds of the world in one second of the clock. */
const speed = 60
/** How long a room is remembered, seconds of the clock. */
const memory = 16

interface School {
  readonly name: string
  readonly switches: Partial<Switches>
  readonly quirks?: Partial<Quirks>
  readonly provider?: object
}

const schools: readonly School[] = [
  {
    name: 'rooms used again, dotted keys, a consuming feed, strange events',
    switches: { roomReuse: 'on', widgetKeys: 'dotted', appFeed: 'consuming' },
    quirks: {
      unknownCmd: 0.05,
      nul: 0.05,
      loneSurrogate: 0.05,
      malformedData: 0.05,
      malformedWidgetItem: 0.1,
      bigSequence: 0.3,
    },
  },
  {
    name: 'nested keys, widgets without numbers, fromUser, refused tails, holes, a redelivering feed',
    switches: {
      ...{ widgetKeys: 'nested', widgetItemSequence: 'absent', submitter: 'fromUser', tail: 'refused' },
      ...{ sequence: 'holes', recordingEndState: '0', appFeed: 'redelivering', nextIdType: 'number' },
    },
    provider: { submitter: 'fromUser' },
  },
]

function openSchool({ name, switches, quirks = {}, provider = {} }: School): Promise<Setting> {
  return openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock: systemClock, seed: name, speed, apps: [demoApp], quirks: quirks },
        profile: {
          ...{ kind: 'school', classes: 4, students: 5, lessonMinutes: 8, breakMinutes: 2 },
          ...{ eventsPerMinute: 15, historyMinutes: 6 },
        },
        switches: { feedWindowSeconds: 10 * speed, roomMemorySeconds: memory * speed, ...switches },
      }),
    configOf: ({ databaseUrl, providerUrl }) => configOf(databaseUrl, { url: providerUrl, ...provider }),
  })
}

function configOf(url: string, classroom: object): object {
  const often = { activeEvery: '1s', idleEvery: '2s' }
  return {
    database: { url, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: { deadline: '2s', roomMemory: `${memory * 0.75}s`, ...classroom } },
    streams: {
      ...{
        'app-events': { every: '500ms', idleEvery: '2s' },
        'room-events': often,
        'popup-quiz': often,
        poll: often,
      },
      ...{ recordings: often, resources: often },
    },
    limits: { classroom: { perSecond: 200, concurrency: 8 }, 'classroom-feed': { perSecond: 10 } },
    apps: [
      {
        ...{ id: demoApp.id, region: 'ap', plan: 'premium' },
        classroom: { uid: demoApp.uid, token: demoApp.token },
      },
    ],
  }
}

const rowsIn = async (url: string, table: string) =>
  Number((await ask(url, `select count(*) as rows from classroom.${table}`))[0]!.rows)

/** Runs the daemon until lessons have begun, ended and begun again. */
async function drain({ start, databaseUrl, sandbox }: Setting): Promise<void> {
  const daemon = start()
  await daemon.ready
  await systemClock.sleep(35_000)
  sandbox.universe.pause()
  await untilRead(sandbox, databaseUrl)
  expect(await daemon.terminate()).toBe(0)
}

/** Until every event that the provider still has is stored as its log tells it. */
async function untilRead(sandbox: Sandbox, url: string): Promise<void> {
  const served = [...sandbox.universe.apps]
    .flatMap(({ rooms }) => rooms)
    .filter(room => room.destroyedAt === undefined)
  const events = served.reduce((sum, room) => sum + room.contents().events.length, 0)
  const names = served.map(({ uuid }) => `'${uuid}'`).join(', ')
  const confirmed = `select count(*) as rows from classroom.room_event e join classroom.room r using (app_id, room_uuid, incarnation)
    where r.valid_to is null and e.source = 'log' and e.room_uuid in (${names})`
  const deadline = systemClock.monotonic() + 60_000
  for (;;) {
    const [rows] = await ask(url, confirmed)
    if (Number(rows!.rows) >= events || systemClock.monotonic() > deadline) return
    await systemClock.sleep(500)
  }
}

describe.concurrent('a database that the daemon has filled', () => {
  for (const school of schools) {
    it(`is what its raw rows say, and is mended where it was changed: ${school.name}`, async () => {
      const setting = await openSchool(school)
      try {
        await drain(setting)
        const command = ['replay', '--config', setting.config]
        const url = setting.databaseUrl

        const compared = await penstock([...command, '--json'])
        const report = JSON.parse(compared.stdout)
        expect(report.tables).toEqual([])
        expect({ code: compared.code, stderr: compared.stderr }).toEqual({ code: 0, stderr: '' })
        expect(report).toMatchObject({
          ok: true,
          mode: 'compare',
          differences: 0,
          busy: { rooms: 0, keys: [] },
        })
        expect(report.events).toBe(await rowsIn(url, 'room_event'))
        expect(report.items).toBe(await rowsIn(url, 'widget_event'))
        process.stderr.write(
          `${school.name}: ${report.rooms} rooms, ${report.events} events, ${report.items} items\n`,
        )

        const chats = await rowsIn(url, 'chat_message')
        const polls = await rowsIn(url, 'poll_tally')
        await execute(url, `update classroom.chat_message set message = 'a planted secret', role = null`)
        await execute(url, 'delete from classroom.poll_tally')
        await execute(url, 'update classroom.room set state = 0')
        const rooms = await rowsIn(url, 'room')
        const told = await penstock(command)
        expect(told.stdout).toMatch(
          new RegExp(`^classroom\\.chat_message +- +- +${text(chats)} +(message|role) ${text(chats)}, `, 'm'),
        )
        expect(told.stdout).toMatch(new RegExp(`^classroom\\.poll_tally +${text(polls)} +- +- +-$`, 'm'))
        expect(told.stdout).toMatch(
          new RegExp(`^classroom\\.room +- +- +${text(rooms)} +state ${text(rooms)}$`, 'm'),
        )
        expect(told.stdout).toContain('--write makes them so')
        expect(told.stdout + told.stderr).not.toContain('planted')
        expect({ code: told.code, stderr: told.stderr }).toEqual({
          code: 1,
          stderr: 'penstock: stored rows are not what the raw rows say\n',
        })

        const mended = await penstock([...command, '--write', '--json'])
        expect(mended.code).toBe(0)
        expect(JSON.parse(mended.stdout)).toMatchObject({
          ok: true,
          mode: 'write',
          differences: chats + polls + rooms,
        })
        expect(mended.stdout).not.toContain('planted')
        const again = await penstock([...command, '--write'])
        expect(again.stdout).toContain('nothing had to be changed')
        expect(again.code).toBe(0)
        expect(await ask(url, `select 1 from classroom.chat_message where message like '%planted%'`)).toEqual(
          [],
        )
      } finally {
        await setting.close()
      }
    })
  }
})

const text = (count: number) => new Intl.NumberFormat('en-US').format(count)

describe('the command', () => {
  let folder: string
  let config: string
  let url: string
  let drop: () => Promise<void>
  beforeAll(async () => {
    const database = await cloneDatabase()
    ;({ url, drop } = database)
    folder = await mkdtemp(join(tmpdir(), 'penstock-replay-'))
    config = join(folder, 'penstock.yaml')
    await writeFile(config, JSON.stringify(configOf(url, { url: 'https://provider.example' })), {
      mode: 0o600,
    })
    for (const room of ['maths', 'music']) {
      await execute(
        url,
        `insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, data, at, at_source, received_at, source)
         values ('demo', '${room}', 1, 1, 3, '{"fromUser": {"userUuid": "ann"}, "message": "hello"}', '2026-01-05', 'provider', '2026-01-05', 'log')`,
      )
    }
  })
  afterAll(async () => {
    await drop()
    await rm(folder, { recursive: true, force: true })
  })

  it('replays one room where one is named, and says which rows are wrong without what they hold', async () => {
    const { code, stdout } = await penstock(['replay', '--config', config, '--room', 'music', '--json'])
    const place = { app: 'demo', room: 'music', incarnation: 1 }
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ ok: false, rooms: 1, events: 1, differences: 1 },
      tables: [
        { table: 'classroom.chat_message', missing: 1, keys: { missing: [{ ...place, sequence: 1 }] } },
      ],
    })
    expect(stdout).not.toMatch(/hello|ann/)
  })

  it('writes with the rights of the daemon', async () => {
    const { code, stdout } = await penstock(['replay', '--config', config, '--app', 'demo', '--write'])
    expect(stdout).toContain('2 rows are changed')
    expect(code).toBe(0)
    expect(await rowsIn(url, 'chat_message')).toBe(2)
  })

  it('says which right is missing where the role may not make temporary tables', async () => {
    const name = new URL(url).pathname.slice(1)
    await execute(url, `revoke temporary on database ${name} from public`)
    const { code, stderr } = await penstock(['replay', '--config', config])
    expect(stderr).toContain('grant temporary on database ... to penstock_runtime')
    expect(code).toBe(1)
    await execute(url, `grant temporary on database ${name} to public`)
  })

  it.each([
    [['--app', 'other'], 2, /^penstock: the configuration has no app other; it has demo\n$/],
    [['--room', 'nowhere'], 1, /^penstock: nothing is stored of room nowhere of app demo\n$/],
  ])('%j ends with %i', async (args, code, message) => {
    const ended = await penstock(['replay', '--config', config, ...args])
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' })
    expect(ended.stderr).toMatch(message)
  })

  it('tells in its help what it leaves alone', async () => {
    const { code, stdout } = await penstock(['replay', '--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/Left alone: .*recording, recording_file and resource/)
    expect(stdout).toContain('penstock replay --config penstock.yaml --write')
  })
})
