import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type NotificationStore, RefusedRows } from '../../src/engine/ports.ts'
import { parseNotice } from '../../src/http/notifications.ts'
import { connect } from '../../src/postgres/connect.ts'
import { decodeText } from '../../src/postgres/encode.ts'
import { createNotificationStore } from '../../src/postgres/players.ts'
import { openStore, start, type TestStore } from './harness.ts'

let store: TestStore
let book: NotificationStore
beforeAll(async () => {
  store = await openStore()
  book = createNotificationStore(store.pool)
})
afterAll(() => store.close())

const stored = async (app: string) =>
  store.rows('select * from players.notification where app_id = $1 order by notice_id', [app])

/** Keeps a notification as it comes over the wire. */
async function keep(app: string, body: string) {
  const parsed = parseNotice(Buffer.from(body))
  if (!parsed.ok) throw new Error(parsed.detail)
  return book.keep({ app, ...parsed.notice })
}

describe('a notification in the database', () => {
  it('is kept with what it says and the time at which it arrived', async () => {
    const notifyMs = Date.parse('2026-01-05T07:59:58.123Z')
    const payload = { lts: 1, player: { id: 'p', status: 'running' } }
    expect(await keep('whole', JSON.stringify({ noticeId: 'n', eventType: 4, notifyMs, payload }))).toBe(
      'stored',
    )
    expect(await stored('whole')).toEqual([
      {
        app_id: 'whole',
        notice_id: 'n',
        event_type: 4,
        player_id: 'p',
        notified_at: new Date(notifyMs),
        received_at: new Date(start),
        payload,
      },
    ])
  })

  it('may say nothing but its ID and its type', async () => {
    await keep('bare', '{"noticeId":"n","eventType":77}')
    expect(await stored('bare')).toMatchObject([{ player_id: null, notified_at: null, payload: null }])
  })

  it('is kept once: what comes again changes nothing', async () => {
    await keep('once', '{"noticeId":"n","eventType":1,"payload":{"first":true}}')
    expect(await keep('once', '{"noticeId":"n","eventType":3,"payload":{"first":false}}')).toBe('repeated')
    expect(await stored('once')).toMatchObject([{ event_type: 1, payload: { first: true } }])
  })

  it('is kept once of many that come at the same time, over several sessions', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => keep('race', `{"noticeId":"n${n % 4}","eventType":1}`)),
    )
    expect(answers.filter(answer => answer === 'stored')).toHaveLength(4)
    expect(await stored('race')).toHaveLength(4)
  })

  it('of another app with the same ID is another one', async () => {
    expect(await keep('one', '{"noticeId":"n","eventType":1}')).toBe('stored')
    expect(await keep('two', '{"noticeId":"n","eventType":1}')).toBe('stored')
  })

  it('holds no secret', async () => {
    const player = { id: 'p', token: 'canary-1', encryptKey: 'canary-2', encryptKdfSalt: 'canary-3' }
    const payload = { player, extra: [{ rtmToken: { value: 'canary-4' } }] }
    await keep('secrets', JSON.stringify({ noticeId: 'n', eventType: 1, payload, token: 'canary-5' }))
    const [row] = await stored('secrets')
    expect(JSON.stringify(row)).not.toContain('canary')
    expect(row!.payload).toMatchObject({ player: { id: 'p', token: '[redacted]' } })
  })

  it.each([
    ['a NUL', '\0'],
    ['a lone surrogate', '\ud800'],
    ['the escape character', '\u001a'],
  ])('with %s in its texts is kept, and can be read back as it came', async (_, odd) => {
    const app = `odd ${odd.charCodeAt(0)}`
    const payload = { player: { id: `p${odd}` }, [`key${odd}`]: `text${odd}` }
    expect(await keep(app, JSON.stringify({ noticeId: `n${odd}`, eventType: 1, payload }))).toBe('stored')
    expect(await keep(app, JSON.stringify({ noticeId: 'n', eventType: 1 }))).toBe('stored')
    const row = (await stored(app)).find(({ player_id }) => player_id !== null)!
    expect([decodeText(String(row.notice_id)), decodeText(String(row.player_id))]).toEqual([
      `n${odd}`,
      `p${odd}`,
    ])
    expect(Object.keys(row.payload as object).map(decodeText)).toContain(`key${odd}`)
  })

  it('keeps integers to the last digit', async () => {
    await keep(
      'digits',
      '{"noticeId":9007199254740993,"eventType":1,"payload":{"a":9007199254740993,"b":1e400}}',
    )
    const [row] = await store.rows(
      `select notice_id, payload->>'a' as a, length(payload->>'b') as b from players.notification where app_id = 'digits'`,
    )
    expect(row).toEqual({ notice_id: '9007199254740993', a: '9007199254740993', b: 401 })
  })

  it('whose type is beyond the column is refused, and nothing is written', async () => {
    await expect(keep('refused', '{"noticeId":"n","eventType":4000000000}')).rejects.toThrow(RefusedRows)
    expect(await stored('refused')).toEqual([])
  })

  it('cannot be kept while the database is away', async () => {
    const nowhere = connect({ ...store.connection, url: 'postgres://nobody@127.0.0.1:1/none' })
    const notice = { app: 'a', noticeId: 'n', eventType: 1, playerId: null, notifiedAt: null, payload: null }
    await expect(createNotificationStore(nowhere).keep(notice)).rejects.toThrow(
      'the database is not available',
    )
    await nowhere.end()
  })
})
