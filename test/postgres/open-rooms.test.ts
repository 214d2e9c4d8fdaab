import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import {
  app,
  event,
  eventRows,
  listPage,
  logPage,
  openStore,
  roomRow,
  roomStreams,
  rowSet,
  type TestStore,
} from './harness.ts'
import { freshRoom } from './rooms.ts'

const beside = roomStreams.filter(stream => stream !== 'room-events')

describe('when all that is beside the log of an open room was read last', () => {
  let db: TestStore
  beforeAll(async () => {
    db = await openStore()
  })
  afterAll(() => db.close())

  async function read(room: string, stream: StreamName, more: Partial<PageCommit> = {}) {
    const { version } = (await db.store.progress(app, stream, room))!
    const page = listPage(stream, room, version, { caughtUp: true, ...more })
    expect(await db.store.commit(page)).toMatchObject({ outcome: 'committed' })
  }

  async function roomReadBeside(streams: readonly StreamName[] = beside): Promise<string> {
    const room = await freshRoom(db)
    const anHourAgo = roomRow(room, { first: -60, last: -60 })
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)], [anHourAgo]) }))
    for (const stream of streams)
      await read(room, stream, { age: () => 1_000 * (1 + streams.indexOf(stream)) })
    return room
  }

  async function toldOf(room: string) {
    const open = await db.store.openSeries(app, 'room-events', beside)
    return open.find(({ series }) => series === room)!.besideReadAgo
  }

  it('is told of what was read the longest ago', async () => {
    const ago = await toldOf(await roomReadBeside())
    expect(ago).toBe(4_000)
  })

  it('is not told where something was never read to its end', async () => {
    expect(await toldOf(await roomReadBeside(beside.slice(1)))).toBeNull()
    const room = await roomReadBeside(beside.slice(1))
    await read(room, beside[0]!, { caughtUp: false })
    expect(await toldOf(room)).toBeNull()
  })

  it('is not told where something happened since', async () => {
    const room = await roomReadBeside()
    const rows = eventRows([event(room, 2)], [roomRow(room, { last: 0 })])
    await db.store.commit(logPage(room, 1, { rows }))
    expect(await toldOf(room)).toBeNull()
  })

  it('is not told where the class has ended', async () => {
    const room = await roomReadBeside()
    const rows = eventRows([event(room, 2)], [roomRow(room, { state: 2, stateSequence: 2, ended: -50 })])
    await db.store.commit(logPage(room, 1, { rows }))
    expect(await toldOf(room)).toBeNull()
  })

  it('is told with a recording only where that has ended and has an address or files', async () => {
    const recorded = async (status: number, url: string | null, files: readonly string[]) => {
      const room = await roomReadBeside()
      const ids = { room_uuid: room, record_id: 'a' }
      const said = { sid: null, resource_id: null, type: null, started_at: null, ended_at: null, extra: null }
      const file = { removed_at: null, extra: null }
      const rows = rowSet({
        'classroom.recording': [{ ...ids, ...said, status, url }],
        ...(files.length > 0 && {
          'classroom.recording_file': files.map((url, ordinal) => ({ ...ids, ...file, ordinal, url })),
        }),
      })
      await read(room, 'recordings', { rows })
      return toldOf(room)
    }
    expect(await recorded(1, 'https://files/a', [])).toBeNull()
    expect(await recorded(2, null, [])).toBeNull()
    expect(await recorded(2, 'https://files/a', [])).not.toBeNull()
    expect(await recorded(2, null, ['https://files/b'])).not.toBeNull()
  })

  it('is not told where nobody asks', async () => {
    const room = await roomReadBeside()
    const open = await db.store.openSeries(app, 'room-events')
    expect(open.find(({ series }) => series === room)!.besideReadAgo).toBeNull()
  })
})
