import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommitResult, type PageCommit, RefusedRows } from '../../src/engine/ports.ts'
import {
  app,
  chat,
  event,
  eventRows,
  feedPage,
  listPage,
  logPage,
  me,
  openStore,
  roomRow,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'
import { freshRoom } from './rooms.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

/** The pages wait until two others are written, and go together then. */
async function together(pages: readonly PageCommit[]): Promise<readonly (CommitResult | Error)[]> {
  const { fence } = pages[0]!
  const nobody = (name: string) => db.store.commit(listPage('poll', name, 0, { fence }))
  const [, , ...results] = await Promise.all([
    nobody('first'),
    nobody('second'),
    ...pages.map(page => db.store.commit(page).catch((error: Error) => error)),
  ])
  return results
}

/** Transactions that have been committed in our database, so that a group can be told from single pages. */
async function written(room: string): Promise<unknown> {
  return db.value(`select xmin::text from ingest.progress where stream = 'room-events' and series = $1`, [
    room,
  ])
}

async function rooms(count: number): Promise<readonly string[]> {
  const names: string[] = []
  for (let n = 0; n < count; n++) names.push(await freshRoom(db))
  return names
}

const reject = { reason: 'wrong_type', detail: 'x', item: {} } as const
const page = (room: string, version = 0) => logPage(room, version, { rows: eventRows([event(room, 1)]) })
const events = (room: string) =>
  db.rows('select sequence, source, data from classroom.room_event where room_uuid = $1 order by 1', [room])
const message = (sequence: number) => ({
  sequence: String(sequence),
  data: { message: `message ${sequence}` },
})

describe('pages that go together', () => {
  it('are stored in one transaction, each as it would be alone', async () => {
    const names = await rooms(3)
    const results = await together(names.map(room => page(room)))
    const stored = { 'classroom.room': 1, 'classroom.room_event': 1, 'classroom.chat_message': 1 }
    for (const result of results) expect(result).toMatchObject({ outcome: 'committed', version: 1, stored })
    for (const room of names) expect(await events(room)).toEqual([{ ...message(1), source: 'log' }])
    expect(new Set(await Promise.all(names.map(written))).size).toBe(1)
  })

  it('tell when their lists were asked for, which are as old as their waiting then', async () => {
    const names = await rooms(3)
    for (const room of names) await db.store.commit(page(room))
    const aged = names.map((room, n) => listPage('recordings', room, 0, { age: () => n * 90_000 }))
    const alone = listPage('resources', names[1]!, 0, { age: () => 70_000, rejects: [reject] })
    for (const result of await together([...aged, alone]))
      expect(result).toMatchObject({ outcome: 'committed' })
    const ages = await db.rows(
      `select stream, extract(epoch from ingest.clock() - caught_up_at)::int as age from ingest.progress
       where stream in ('recordings', 'resources') and series = any ($1) and caught_up_at is not null order by 1, 2`,
      [names],
    )
    expect(ages.map(({ age }) => age)).toEqual([0, 90, 180, 70])
  })

  it('are stored each under its own room, though another one had that name before', async () => {
    const [one, other] = (await rooms(2)) as [string, string]
    await db.store.commit(page(one))
    await db.store.commit(page(other))
    const second = { kind: 'incarnation', incarnation: 2 } as const
    const opening = eventRows([event(other, 1, { own: 90 })], [roomRow(other, { first: 90, last: 90 })])
    await db.store.commit(logPage(other, 1, { room: { ...second, opens: true }, rows: opening }))
    // A log of which something was lost goes by itself.
    await db.rows('delete from ingest.gap where series = $1', [other])
    const further = (room: string, version: number, more: object) =>
      logPage(room, version, { ...more, rows: eventRows([event(room, 2, { own: 95 })]) })
    const results = await together([
      further(one, 1, {}),
      further(other, 2, { room: { ...second, opens: false } }),
    ])
    for (const result of results) expect(result).toMatchObject({ outcome: 'committed' })
    expect(await written(one)).toBe(await written(other))
    const roomOfSecond = (room: string) =>
      db.value('select incarnation from classroom.room_event where room_uuid = $1 and sequence = 2', [room])
    expect([await roomOfSecond(one), await roomOfSecond(other)]).toEqual([1, 2])
  })

  it('count each the rows of their own tables', async () => {
    const [one, other] = (await rooms(2)) as [string, string]
    await db.store.commit(page(one))
    const resource = {
      ...{ room_uuid: one, resource_uuid: 'r', resource_name: 'slides', ext: 'pdf', size: 1, url: null },
      ...{ task_uuid: null, task_progress: null, updated_at: null, removed_at: null, extra: null },
    }
    const list = listPage('resources', one, 0, { rows: rowSet({ 'classroom.resource': [resource] }) })
    const next = logPage(one, 1, { rows: eventRows([event(one, 2)]) })
    const results = (await together([list, page(other), next])) as readonly { readonly stored: object }[]
    const ofLog = { 'classroom.room_event': 1, 'classroom.chat_message': 1 }
    expect(results.map(({ stored }) => stored)).toMatchObject([{ 'classroom.resource': 1 }, ofLog, ofLog])
    for (const { stored } of results) expect(Object.values(stored).every(Number.isInteger)).toBe(true)
  })

  describe('and are of lists', () => {
    const resourceOf = (room: string, name: string) => ({
      ...{ room_uuid: room, resource_uuid: 'r', resource_name: name, ext: 'pdf', size: 1.5, url: null },
      ...{
        task_uuid: null,
        task_progress: { convertedPercentage: 7 },
        updated_at: null,
        removed_at: null,
        extra: null,
      },
    })
    const resources = (room: string, version: number, name: string) =>
      listPage('resources', room, version, {
        rows: rowSet({ 'classroom.resource': [resourceOf(room, name)] }),
      })
    const names = (...rooms: readonly string[]) =>
      db.rows(
        `select room_uuid, resource_name, size, task_progress from classroom.resource where room_uuid = any ($1) order by 1`,
        [rooms],
      )
    const stored = (room: string, name: string) => ({
      ...{ room_uuid: room, resource_name: name, size: 1.5, task_progress: { convertedPercentage: 7 } },
    })
    const known = async () => {
      const all = (await rooms(2)) as [string, string]
      await Promise.all(all.map(room => db.store.commit(page(room))))
      return all
    }

    it('bring new rows the first time, and change them later', async () => {
      const [one, two] = await known()
      const first = await together([resources(one, 0, 'slides'), resources(two, 0, 'paper')])
      for (const result of first) expect(result).toMatchObject({ stored: { 'classroom.resource': 1 } })
      expect(await names(one, two)).toEqual([stored(one, 'slides'), stored(two, 'paper')])
      const again = await together([resources(one, 1, 'more slides'), resources(two, 1, 'paper')])
      for (const result of again) expect(result).toMatchObject({ stored: { 'classroom.resource': 0 } })
      expect(await names(one, two)).toEqual([stored(one, 'more slides'), stored(two, 'paper')])
    })

    it('change what is there of a room whose series begins anew', async () => {
      const [one, two] = await known()
      await db.store.commit(resources(one, 0, 'slides'))
      await db.rows(`update ingest.progress set version = 0 where stream = 'resources' and series = $1`, [
        one,
      ])
      const results = await together([resources(one, 0, 'other slides'), resources(two, 0, 'paper')])
      expect(results).toMatchObject([
        { outcome: 'committed', stored: { 'classroom.resource': 0 } },
        { outcome: 'committed', stored: { 'classroom.resource': 1 } },
      ])
      expect(await names(one, two)).toEqual([stored(one, 'other slides'), stored(two, 'paper')])
    })

    it('keep what was chosen of several options, of one and of none', async () => {
      const [one, two] = await known()
      const submission = (room: string, ordinal: number, select_index: readonly number[] | null) => ({
        ...{ room_uuid: room, poll_id: 'p', user_uuid: 'ann', ordinal, user_name: 'Ann', select_index },
        ...{ at: time(1), extra: null },
      })
      const polls = (room: string) =>
        listPage('poll', room, 0, {
          rows: rowSet({
            'classroom.poll_submission': [
              submission(room, 1, [0, 12]),
              submission(room, 2, []),
              submission(room, 3, null),
            ],
          }),
        })
      await together([polls(one), polls(two)])
      const chosen = await db.rows(
        'select select_index from classroom.poll_submission where room_uuid = $1 order by ordinal',
        [two],
      )
      expect(chosen.map(({ select_index }) => select_index)).toEqual([[0, 12], [], null])
    })
  })

  it('are fenced together when the shard belongs to another', async () => {
    const names = await rooms(2)
    const results = await together(names.map(room => ({ ...page(room), fence: { ...me, epoch: 7 } })))
    expect(results).toEqual([{ outcome: 'fenced' }, { outcome: 'fenced' }])
    for (const room of names) expect(await events(room)).toEqual([])
  })

  it('do not keep each other from being stored when one was read from another version', async () => {
    const [late, other] = await rooms(2)
    const results = await together([page(late!, 3), page(other!)])
    expect(results).toMatchObject([{ outcome: 'stale' }, { outcome: 'committed', version: 1 }])
    expect(await events(late!)).toEqual([])
    expect(await events(other!)).toHaveLength(1)
  })

  it('nor when the database refuses a value of one', async () => {
    const [bad, other] = await rooms(2)
    const rows = rowSet({ ...eventRows([event(bad!, 1)]), 'classroom.room_event': [event(bad!, 2n ** 63n)] })
    const results = await together([logPage(bad!, 0, { rows }), page(other!)])
    expect(results[0]).toBeInstanceOf(RefusedRows)
    expect(results[1]).toMatchObject({ outcome: 'committed' })
    expect(await db.store.progress(app, 'room-events', bad!)).toMatchObject({ version: 0 })
  })

  it('nor when a row of one cannot be copied', async () => {
    const [bad, other] = await rooms(2)
    const twice = [event(bad!, 1), event(bad!, 1)]
    const long = { ...event(bad!, 1), cmd: 2 ** 40 }
    const results = await together([logPage(bad!, 0, { rows: eventRows([long]) }), page(other!)])
    expect(results).toMatchObject([new RefusedRows('22003', 'commit_room_events'), { outcome: 'committed' }])
    await together([logPage(bad!, 0, { rows: eventRows(twice) }), page(other!, 1)])
    expect(await events(other!)).toHaveLength(1)
    expect(await db.store.progress(app, 'room-events', other!)).toMatchObject({ version: 2 })
  })

  it('leave out one that contradicts what is stored, which becomes a divergence', async () => {
    const [odd, other] = await rooms(2)
    await db.store.commit(page(odd!))
    const rows = eventRows([event(odd!, 1, { data: { message: 'other' } }), event(odd!, 2)])
    const results = await together([logPage(odd!, 1, { rows }), page(other!)])
    expect(results).toMatchObject([{ diverged: 1 }, { diverged: 0, version: 1 }])
    expect(await events(odd!)).toMatchObject([message(1), message(2)])
  })

  it('confirm what the feed told, and keep when it was first seen', async () => {
    const [told, other] = await rooms(2)
    const { version } = (await db.store.progress(app, 'app-events', ''))!
    const early = { own: 0, at: 0 } as const
    await db.store.commit(feedPage(version, { rows: eventRows([event(told!, 1, early)]) }))
    const rows = eventRows([event(told!, 1, { own: 0, at: 9 }), event(told!, 2)])
    const standing = (await db.store.progress(app, 'room-events', told!))!
    const results = await together([logPage(told!, standing.version, { rows }), page(other!)])
    expect(results[0]).toMatchObject({ stored: { 'classroom.room_event': 1, 'classroom.room': 0 } })
    expect(await events(told!)).toMatchObject([{ source: 'log' }, { source: 'log' }])
    const [first] = await db.rows(
      'select at from classroom.room_event where room_uuid = $1 and sequence = 1',
      [told],
    )
    expect(first).toEqual({ at: new Date(time(0)) })
    const { rows: chats } = {
      rows: await db.rows('select at from classroom.chat_message where room_uuid = $1 and sequence = 1', [
        told,
      ]),
    }
    expect(chats).toEqual([{ at: new Date(time(0)) }])
  })

  it('keep every character', async () => {
    const [odd, other] = await rooms(2)
    const said = 'a\tb\\n\nc\rd \\N \\. \u{1f600} "quoted" \\u0000'
    const rows = rowSet({
      'classroom.room_event': [event(odd!, 1, { data: { message: said } })],
      'classroom.chat_message': [chat(odd!, 1, said), chat(odd!, 2, `${String.fromCharCode(0)} \\N`)],
      'classroom.room': [roomRow(odd!, { first: 0, last: 0 })],
    })
    await together([logPage(odd!, 0, { rows }), page(other!)])
    expect(await events(odd!)).toEqual([{ sequence: '1', source: 'log', data: { message: said } }])
    expect(
      await db.rows('select message from classroom.chat_message where room_uuid = $1 order by sequence', [
        odd,
      ]),
    ).toEqual([{ message: said }, { message: '\u001a0000 \\N' }])
  })
})
