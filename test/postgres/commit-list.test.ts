import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import { streams } from '../../src/streams/index.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import { pageOf } from '../streams/pages.ts'
import {
  app,
  event,
  eventRows,
  hour,
  listPage,
  logPage,
  me,
  openStore,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'

const room = 'maths'
let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.discoverRooms(me, app, [room, 'unseen'])
  await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
})
afterAll(() => db.close())

async function list(stream: StreamName, more: Partial<PageCommit>) {
  const { version } = (await db.store.progress(app, stream, room))!
  return db.store.commit(listPage(stream, room, version, more))
}

const resource = (more: object) => ({
  room_uuid: room,
  resource_uuid: 'r',
  resource_name: null,
  ext: null,
  size: null,
  url: null,
  task_uuid: null,
  task_progress: null,
  updated_at: null,
  removed_at: null,
  extra: null,
  ...more,
})
const recording = (more: object) => ({
  room_uuid: room,
  record_id: 'a',
  sid: null,
  resource_id: null,
  type: null,
  status: null,
  started_at: null,
  ended_at: null,
  url: null,
  extra: null,
  ...more,
})
const tally = (option_index: number, num: number | null) => ({
  room_uuid: room,
  poll_id: 'p',
  option_index,
  num,
  percentage: null,
})
describe('a page of a list', () => {
  it('waits for the log of a room that nobody has seen alive, or not lately', async () => {
    expect(await db.store.commit(listPage('resources', 'unseen', 0))).toEqual({ outcome: 'unverified' })
    await db.advance(hour)
    const late = await list('resources', { rows: rowSet({ 'classroom.resource': [resource({})] }) })
    await db.advance(-hour)
    expect(late).toEqual({ outcome: 'unverified' })
    expect(await db.value('select count(*)::int from classroom.resource')).toBe(0)
  })

  it('of another version is stale', async () => {
    expect(await db.store.commit(listPage('recordings', room, 9))).toEqual({ outcome: 'stale' })
  })

  it('never erases what is known by saying nothing', async () => {
    await list('recordings', {
      rows: rowSet({ 'classroom.recording': [recording({ sid: 's', url: 'u', status: 1 })] }),
    })
    await list('recordings', { rows: rowSet({ 'classroom.recording': [recording({ status: 2 })] }) })
    const [row] = await db.rows('select sid, url, status from classroom.recording')
    expect(row).toEqual({ sid: 's', url: 'u', status: 2 })
  })

  it('tells when a resource was removed and when it is back', async () => {
    const removed = () => db.value(`select removed_at from classroom.resource where resource_uuid = 'r'`)
    await list('resources', {
      rows: rowSet({ 'classroom.resource': [resource({ resource_name: 'slides' })] }),
    })
    await list('resources', { rows: rowSet({ 'classroom.resource': [resource({ removed_at: time(3) })] }) })
    expect(await removed()).toEqual(new Date(time(3)))
    await list('resources', { rows: rowSet({ 'classroom.resource': [resource({})] }) })
    expect(await removed()).toBeNull()
    expect(await db.value('select resource_name from classroom.resource')).toBe('slides')
  })

  describe('of recordings', () => {
    const entry = (recordId: string, ...urls: readonly string[]) => ({
      recordId,
      status: 2,
      recordDetails: urls.map((url, n) => ({ url, ...(n === 0 && { size: 7 }) })),
    })
    /** Reads a list as the daemon does, so many minutes after the clock of the test begins. */
    const listed = async (minute: number, ...items: readonly object[]) => {
      const { streamState } = (await db.store.progress(app, 'recordings', room))!
      const page = pageOf({ series: room, items, answeredAt: Date.parse(time(minute)) })
      const { rows, streamState: next, rejects } = streams.recordings.toRows(page, streamState)
      expect(await list('recordings', { rows, streamState: next, rejects })).toMatchObject({
        outcome: 'committed',
      })
    }
    const files = () =>
      db.rows(
        `select record_id as id, ordinal, url, removed_at as gone, extra from classroom.recording_file order by 1, 2`,
      )
    const first = { id: 'one', ordinal: 0, url: 'a', gone: null, extra: { size: 7 } }
    const second = { id: 'one', ordinal: 1, url: 'b', gone: null, extra: null }
    const third = { id: 'two', ordinal: 0, url: 'c', gone: null, extra: { size: 7 } }
    const at = (minute: number) => new Date(time(minute))

    it('tells since when a file is gone, and that one is back', async () => {
      await listed(1, entry('one', 'a', 'b'), entry('two', 'c'))
      expect(await files()).toEqual([first, second, third])
      await listed(2, entry('one', 'a'), entry('two', 'c'))
      await listed(3, entry('one', 'a'))
      expect(await files()).toEqual([first, { ...second, gone: at(2) }, { ...third, gone: at(3) }])
      await listed(4, entry('one', 'a', 'b'), entry('two', 'd'))
      const another = { ...third, ordinal: 1, url: 'd' }
      expect(await files()).toEqual([first, second, { ...third, gone: at(3) }, another])
    })
  })

  it('replaces a tally as it stands, also by nothing', async () => {
    await list('poll', { rows: rowSet({ 'classroom.poll_tally': [tally(0, 3), tally(1, 4)] }) })
    const result = await list('poll', {
      rows: rowSet({ 'classroom.poll_tally': [tally(0, null), tally(1, 4)] }),
    })
    expect(result).toMatchObject({ stored: { 'classroom.poll_tally': 0 } })
    expect(await db.rows('select num from classroom.poll_tally order by option_index')).toEqual([
      { num: null },
      { num: 4 },
    ])
  })

  it('keeps when a vote was given, although the item comes without that when it is read again', async () => {
    const vote = {
      room_uuid: 'room-1',
      poll_id: 'p',
      user_uuid: 'u',
      ordinal: 0,
      user_name: 'Ada',
      extra: null,
    }
    const read = (choice: number, at: string | null) =>
      list('poll', {
        rows: rowSet({ 'classroom.poll_submission': [{ ...vote, select_index: [choice], at }] }),
      })
    await read(0, time(1))
    await read(1, null)
    expect(await db.rows('select select_index, at from classroom.poll_submission')).toEqual([
      { select_index: [1], at: new Date(time(1)) },
    ])
  })
})

describe('what could not be read', () => {
  const rejects = [
    { reason: 'wrong_type', detail: 'size is no number', item: { size: '\u0000', id: 2n ** 60n } },
    { reason: 'missing_key', detail: 'no id', item: null },
  ] as const

  it('becomes a dead letter with its bytes, and the same again only raises a count', async () => {
    await list('resources', { rejects })
    await list('resources', { rejects: [rejects[0]] })
    const letters = await db.rows(`select reason, detail, convert_from(body, 'UTF8') as body, occurrences::int
      from ingest.dead_letter order by reason`)
    expect(letters).toEqual([
      { reason: 'missing_key', detail: 'no id', body: 'null', occurrences: 1 },
      {
        reason: 'wrong_type',
        detail: 'size is no number',
        body: '{"size":"\\u0000","id":1152921504606846976}',
        occurrences: 2,
      },
    ])
  })

  it('as a whole page is kept up to 64 KiB', async () => {
    const letter = {
      app,
      stream: 'resources',
      series: 'odd\u0000',
      reason: 'malformed',
      detail: 'not JSON',
      body: Buffer.alloc(100_000, 7),
      alike: 'by body',
    } as const
    expect(await db.store.deadLetter(letter)).toBe('new')
    expect(await db.store.deadLetter(letter)).toBe('again')
    const found =
      await db.rows(`select series, length(body) as length, occurrences::int from ingest.dead_letter
      where reason = 'malformed'`)
    expect(found).toEqual([{ series: 'odd\u001a0000', length: 65_536, occurrences: 2 }])
  })

  it('refusals that say the same in other bytes are one letter', async () => {
    const letter = {
      app,
      stream: 'poll',
      reason: 'rate_limited',
      detail: 'status 429',
      alike: 'by detail',
    } as const
    const tell = (series: string, text: string) =>
      db.store.deadLetter({ ...letter, series, body: Buffer.from(text) })
    expect(await tell('one', '{"ts":1}')).toBe('new')
    expect(await tell('two', '{"ts":2}')).toBe('again')
    const found = await db.rows(`select convert_from(body, 'UTF8') as body, occurrences::int
      from ingest.dead_letter where reason = 'rate_limited'`)
    expect(found).toEqual([{ body: '{"ts":1}', occurrences: 2 }])
  })
})

describe('a room whose log cannot be read', () => {
  const vouched = (name: string) => db.store.vouchFor(me, app, name)
  const stored = async (name: string) => {
    await db.store.discoverRooms(me, app, [name])
    return db.store.commit(listPage('resources', name, 0))
  }

  it('is noted to be where it was asked for', async () => {
    await db.store.discoverRooms(me, app, ['abroad'])
    await db.store.vouchFor(me, app, 'abroad', 'eu')
    expect(await db.rows(`select region from classroom.room where room_uuid = 'abroad'`)).toEqual([
      { region: 'eu' },
    ])
  })

  it('has its lists stored where its log was never read', async () => {
    await db.store.discoverRooms(me, app, ['opaque'])
    expect(await vouched('opaque')).toBe(true)
    expect(await stored('opaque')).toMatchObject({ outcome: 'committed' })
    await db.advance(2 * hour)
    expect(await vouched('opaque')).toBe(true)
  })

  it('and where it was read lately, but not when it may be another room by now', async () => {
    await db.store.discoverRooms(me, app, ['known'])
    const streamState = { incarnation: 1, fingerprint: '1.3.~' }
    await db.store.commit(
      logPage('known', 0, { rows: eventRows([event('known', 1)]), streamState, caughtUp: false }),
    )
    await db.advance(0.2 * hour)
    expect(await vouched('known')).toBe(true)
    await db.advance(0.2 * hour)
    expect(await stored('known')).toMatchObject({ outcome: 'committed' })
    await db.advance(0.1 * hour)
    expect(await vouched('known')).toBe(false)
  })

  it('a page of it that is empty proves nothing of the room', async () => {
    await db.store.discoverRooms(me, app, ['silent'])
    await db.store.commit(logPage('silent', 0, { rows: eventRows([event('silent', 1)]) }))
    await db.advance(1.1 * hour)
    await db.store.commit(logPage('silent', 1, { rows: {}, caughtUp: false, isUndecided: true }))
    expect(await stored('silent')).toEqual({ outcome: 'unverified' })
  })
})

it.each([
  ['as it stands', { action: 1, cause: 'start', changeProperties: { state: 1 } }, [1, 'start', 1]],
  [
    'under its data',
    { sequence: 2, data: { action: 1, cause: 'end', changeProperties: { state: 0 } } },
    [0, 'end', 1],
  ],
  [
    'in no way that can be read',
    { action: 'set', cause: { why: 1 }, changeProperties: 'none' },
    [null, null, null],
  ],
])('an item tells why its widget changed, %s', async (_, data, told) => {
  const [row] = await db.rows(
    `insert into classroom.widget_event (app_id, room_uuid, incarnation, widget, position, content_hash, data, received_at)
     values ($1, 'told', 1, 'poll', $2, 'h', $3, now()) returning state, cause, action`,
    [app, JSON.stringify(data).length, data],
  )
  expect(Object.values(row!)).toEqual(told)
})
