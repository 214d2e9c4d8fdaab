import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeJson } from '../../src/postgres/encode.ts'
import { at, windowPage, work } from '../postgres/analytics.ts'
import { app, hour, me } from '../postgres/harness.ts'
import {
  lesson,
  minute,
  openReplayHarness,
  pollItems,
  quizItems,
  type ReplayHarness,
} from '../postgres/replay-harness.ts'
import { penstock } from './penstock.ts'

let harness: ReplayHarness
let folder: string
let config: string

beforeAll(async () => {
  harness = await openReplayHarness()
  folder = await mkdtemp(join(tmpdir(), 'penstock-letters-'))
  config = join(folder, 'penstock.json')
  const content = {
    database: { url: harness.db.url },
    provider: {
      classroom: { url: 'http://127.0.0.1:9', roomMemory: '1h' },
      analytics: { url: 'http://127.0.0.1:9' },
    },
    apps: [
      {
        ...{ id: app, region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } },
        rest: { key: 'k', secret: 's' },
      },
    ],
  }
  await writeFile(config, JSON.stringify(content))
})
afterAll(async () => {
  await harness.close()
  await rm(folder, { recursive: true })
})

beforeEach(async () => {
  await harness.db.rows(
    `truncate ingest.progress, ingest.dead_letter, ingest.work_item, classroom.room, classroom.room_event, classroom.widget_event,
              classroom.recording, analytics.call, analytics.call_session`,
  )
  await harness.db.setTime(new Date(minute(20)).toISOString())
  await harness.db.store.follow(me, app, 'app-events', '')
})

async function letter(
  stream: string,
  series: string,
  body: object | Buffer,
  { reason = 'wrong_type', detail = 'field: of a newer shape' } = {},
): Promise<void> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(writeJson(body))
  await harness.db.rows(
    'insert into ingest.dead_letter (app_id, stream, series, reason, detail, body) values ($1, $2, $3, $4, $5, $6)',
    [app, stream, series, reason, detail, bytes],
  )
}

/** Without the one event of it that cannot be read. */
const sound = (room: string) => lesson(room).filter(each => !writeJson(each).includes('"message":42'))

const tooLarge = { reason: 'too_large', detail: 'the answer is longer than what is read' }
const cut = () => Buffer.alloc(64 * 1024, '[1,')

async function run(...more: readonly string[]) {
  const { code, stdout, stderr } = await penstock([
    ...['replay', '--config', config, '--dead-letters', '--json', ...more],
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).letters
}
const none = { stored: 0, read: 0, asked: 0, unread: 0, gone: 0 }
const left = async () =>
  (await harness.db.rows('select series from ingest.dead_letter order by id')).map(({ series }) => series)
const count = (table: string) => harness.db.value(`select count(*)::int from ${table}`)

describe('a letter that can be read now', () => {
  it('of an event is stored with all that it says, and closed', async () => {
    const events = sound('maths')
    await harness.read('room-events', 'maths', { items: events, answeredAt: minute(20) })
    const right = await harness.dump()
    await harness.db.rows('truncate classroom.room, classroom.room_event, ingest.progress')
    const [attendance, chat] = [events[2]!, events[3]!]
    const others = events.filter(each => each !== attendance && each !== chat)
    await harness.read('room-events', 'maths', { items: others, answeredAt: minute(20) })
    await letter('room-events', 'maths', attendance)
    await letter('app-events', '', chat)
    await letter('room-events', 'maths', { roomUuid: 'maths', cmd: 3, sequence: 'next' })
    expect(await run()).toEqual({ ...none, stored: 2, unread: 1 })
    const text = (line: string) => line.replace(/"?at"?[:=][^,)]*|"2026[^"]*"/g, '')
    expect((await harness.dump()).map(text)).toEqual(right.map(text))
    expect((await harness.compare()).tally.rows()).toBe(0)
    expect(await left()).toEqual(['maths'])
    expect(await run(), 'again and again').toEqual({ ...none, unread: 1 })
  })

  it('of a part of an event closes where the event is read whole by now', async () => {
    const spoilt = { cmd: 1101, roomUuid: 'maths', sequence: 20, data: { rewardDetails: [5] } }
    await harness.read('room-events', 'maths', { items: [...sound('maths'), spoilt] })
    await letter(
      'room-events',
      'maths',
      { userUuid: 'ann', changedReward: 1, total: 4 },
      {
        detail: 'data.rewardDetails.0.total: of a newer shape',
      },
    )
    expect(await left()).toHaveLength(2)
    expect(await run()).toEqual({ ...none, read: 1, unread: 1 })
    expect(await count(`ingest.dead_letter where detail like '%newer%'`)).toBe(0)
    expect(await count(`ingest.dead_letter where detail like 'data.rewardDetails.0%'`)).toBe(1)
  })

  it('whose place another one has by now stays', async () => {
    await harness.read('room-events', 'maths', { items: sound('maths') })
    await letter('room-events', 'maths', { ...lesson('maths')[3]!, data: { message: 'other' } })
    expect(await run()).toEqual({ ...none, unread: 1 })
  })

  it('of an item without a number closes where the item is kept raw, for its place is not known', async () => {
    await harness.read('room-events', 'maths', { items: sound('maths') })
    await harness.read('popup-quiz', 'maths', { items: quizItems.slice(0, 2) })
    await letter('popup-quiz', 'maths', quizItems[1]!)
    await letter('popup-quiz', 'maths', quizItems[2]!)
    expect(await run()).toEqual({ ...none, stored: 1, unread: 1 })
    expect(await count('classroom.widget_event')).toBe(2)
  })

  it('of a poll, a recording, a call, a session, and of a whole page', async () => {
    await harness.read('room-events', 'maths', { items: sound('maths') })
    await letter('poll', 'maths', pollItems[0]!)
    await letter('recordings', 'maths', { recordId: 'r1', status: 2, url: 'https://files/r1' })
    await letter('calls', '', { call_id: 'c1', cname: 'maths', created_ts: at(-600) })
    await letter('call-sessions', 'c1', { sid: 's1', uid: 7, join_ts: at(-500) })
    const data = { list: [{ roomUuid: 'maths', cmd: 3, sequence: 90, data: { message: 'late' } }] }
    await letter('room-events', 'maths', { code: 0, data }, { reason: 'malformed', detail: 'data: other' })
    expect(await run()).toEqual({ ...none, stored: 5 })
    const tables = ['classroom.poll', 'classroom.recording', 'analytics.call', 'analytics.call_session']
    for (const table of tables) expect(await count(table), table).toBe(1)
    expect(await count(`classroom.chat_message where message = 'late'`)).toBe(1)
    expect(await left()).toEqual([])
  })
})

describe('a letter that is not whole', () => {
  it('of a room is asked for again, and closes once that has been read', async () => {
    await harness.read('room-events', 'maths', { items: sound('maths') })
    await letter('popup-quiz', 'maths', cut(), tooLarge)
    await letter('app-events', '', cut(), tooLarge)
    expect(await run()).toEqual({ ...none, asked: 1, gone: 1 })
    expect(await harness.db.store.wantedRooms()).toEqual([
      { app, room: 'maths', region: 'ap', streams: ['popup-quiz'] },
    ])
    expect(await run(), 'it is wanted already').toEqual({ ...none, asked: 1, gone: 1 })
    await harness.db.advance(5 * 60_000)
    await harness.read('popup-quiz', 'maths', { items: [] })
    expect(await run()).toEqual({ ...none, read: 1, gone: 1 })
    expect(await left()).toEqual([''])
  })

  it('of a room that is forgotten stays', async () => {
    await harness.read('room-events', 'maths', { items: sound('maths') })
    await letter('room-events', 'maths', cut(), tooLarge)
    await harness.db.advance(2 * hour)
    expect(await run()).toEqual({ ...none, gone: 1 })
    expect(await harness.db.store.wantedRooms()).toEqual([])
  })

  it('of a range of time and of a call is asked for again as far as the plan has data available', async () => {
    const { store } = harness.db
    await store.beginWindows(me, app, 'calls', [''], at(-3_600), 1)
    const call = { call_id: 'c1', cname: null, created_at: new Date(at(0) * 1_000).toISOString() }
    const row = { ...call, destroyed_at: null, finished: true, extra: null }
    const [lost] = await store.windows(app, 'calls')
    await store.commitWindow(
      windowPage('', lost!.version, {
        rows: { 'analytics.call': [row] },
        work: [work('c1')],
        loses: [{ from: at(-3_600), to: at(-3_000), reason: 'unreadable' }],
      }),
    )
    await harness.db.rows(`update ingest.work_item set state = 'lost'`)
    await letter('calls', '', cut(), tooLarge)
    await letter('call-sessions', 'c1', cut(), tooLarge)
    expect(await run()).toEqual({ ...none, asked: 2 })
    expect(await harness.db.rows('select state, falls_back_to from ingest.work_item')).toEqual([
      { state: 'pending', falls_back_to: 'lost' },
    ])
    const [window] = await store.windows(app, 'calls')
    expect(window!.wanted).toEqual([{ from: at(-3_600), to: at(-3_000) }])
    await harness.db.rows(`update ingest.work_item set state = 'lost'`)
    await harness.db.advance(400 * 24 * hour)
    expect(await run()).toEqual({ ...none, gone: 2 })
  })
})

it('tells people what became of them', async () => {
  const { code, stdout } = await penstock(['replay', '--config', config, '--dead-letters'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'there are no dead letters\n' })
})
