import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJson, decodeText, encodeJson, encodeText } from '../../src/postgres/encode.ts'
import type { Json } from '../../src/tables/json.ts'
import {
  app,
  event,
  eventRows,
  listPage,
  logPage,
  me,
  openStore,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

/** What Postgres refuses or mangles comes up often, beside any other unit. */
const hostile = fc.constantFrom(
  '\0',
  '\u001a',
  '\ud800',
  '\udfff',
  '\\',
  '\\u0000',
  '"',
  '\u001a0000',
  '0',
  'a',
)
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(hostile, { maxLength: 6 }).map(parts => parts.join('')),
)

describe('a text', () => {
  it('comes back from text, jsonb and a key as it went in, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(text, async original => {
        const { rows } = await db.pool.query<{ bound: string; inside: string; doc: string }>(
          `select $1::text as bound, r.t as inside, r.j::text as doc
           from json_to_recordset($2::json) as r(t text, j jsonb)`,
          [encodeText(original), encodeJson([{ t: original, j: { [original]: original } }])],
        )
        expect(decodeText(rows[0]!.bound)).toBe(original)
        expect(decodeText(rows[0]!.inside)).toBe(original)
        expect(decodeJson(rows[0]!.doc)).toEqual(Object.fromEntries([[original, original]]))
      }),
      { numRuns: 300 },
    )
  })

  it('is the same key only as itself', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(encodeText(one) === encodeText(other)).toBe(one === other)
        expect(encodeText(one)).toBe(JSON.parse(encodeJson(one)))
      }),
    )
  })
})

describe('a value', () => {
  it('keeps every digit of an integer', async () => {
    const value = { big: 2n ** 63n - 1n, negative: -(2n ** 60n), small: 7, half: 0.5 }
    const { rows } = await db.pool.query<{ doc: string }>('select $1::jsonb::text as doc', [
      encodeJson(value),
    ])
    expect(decodeJson(rows[0]!.doc)).toEqual(value)
  })
})

describe('through the store', () => {
  const odd = ['plain', 'nul\0', 'lone\ud800', 'lone\ud801', '\u001a0000', 'nul\u001a0000']

  it('rooms, cursors and carries that Postgres refuses come back unharmed and stay apart', async () => {
    await db.store.discoverRooms(me, app, odd)
    for (const room of odd) {
      const page = {
        cursor: `next ${room}`,
        streamState: { [room]: [room, 2n ** 60n] } as Json,
        rows: eventRows([event(room, 1)]),
      }
      expect(await db.store.commit(logPage(room, 0, page))).toMatchObject({ outcome: 'committed' })
      expect(await db.store.progress(app, 'room-events', room)).toMatchObject({
        version: 1,
        cursor: page.cursor,
        streamState: page.streamState,
      })
    }
    const open = await db.store.openSeries(app, 'room-events')
    expect(open.map(({ series }) => series).sort()).toEqual([...odd].sort())
    expect(open.every(({ lastEventAt }) => lastEventAt === Date.parse(time(0)))).toBe(true)
    await db.store.closeSeries(me, app, 'room-events', odd[1]!)
    await db.store.forgetRoom(me, app, odd[2]!)
    expect((await db.store.openSeries(app, 'room-events')).length).toBe(odd.length - 2)
  })

  it('a list of such a room is of that room', async () => {
    const room = odd[1]!
    const file = { room_uuid: room, record_id: '\0', ordinal: 0, url: '\ud800', extra: { '\0': '\udfff' } }
    const rows = rowSet({ 'classroom.recording_file': [file] })
    expect(await db.store.commit(listPage('recordings', room, 0, { rows }))).toMatchObject({
      outcome: 'committed',
    })
    expect(await db.rows('select room_uuid, record_id, url, extra from classroom.recording_file')).toEqual([
      {
        room_uuid: 'nul\u001a0000',
        record_id: '\u001a0000',
        url: '\u001ad800',
        extra: { '\u001a0000': '\u001adfff' },
      },
    ])
  })

  it('sequences above 2^53 stay apart', async () => {
    await db.store.discoverRooms(me, app, ['big'])
    const events = [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n].map(sequence => event('big', sequence))
    await db.store.commit(logPage('big', 0, { rows: eventRows(events) }))
    const stored = await db.rows(
      `select sequence::text from classroom.chat_message where room_uuid = 'big' order by 1`,
    )
    expect(stored.map(({ sequence }) => sequence)).toEqual([
      '9007199254740992',
      '9007199254740993',
      '9223372036854775807',
    ])
  })
})
