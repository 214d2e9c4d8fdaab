import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type DeadLetter, type PlayerNotice, RefusedRows, StoreUnavailable } from '../../src/engine/ports.ts'
import { createNotificationHandler, type NotificationHandlerOptions } from '../../src/http/notifications.ts'
import { fixed } from './harness.ts'

/** A secret that is `before` until it is read again. */
function rotating(before: string, after: string) {
  let held = before
  const asked = { refreshes: 0 }
  return {
    asked,
    source: {
      current: async () => held,
      refresh: async () => {
        asked.refreshes += 1
        const isNew = held !== after
        held = after
        return isNew
      },
    },
  }
}

const sign = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex')

function open(parts: Partial<NotificationHandlerOptions> = {}) {
  const kept: PlayerNotice[] = []
  const letters: DeadLetter[] = []
  const wanted: string[] = []
  const counted: unknown[] = []
  const lines: unknown[] = []
  const line = (...said: unknown[]) => void lines.push(said)
  const take = createNotificationHandler({
    stream: 'cloud-players',
    signers: [
      { app: 'a', secret: fixed('secret-a') },
      { app: 'b', secret: fixed('secret-b') },
    ],
    headers: { sha1: 'x-sig', sha256: 'x-sig-v2' },
    notifications: {
      keep: async notice => {
        if (kept.some(({ noticeId }) => noticeId === notice.noticeId)) return 'repeated'
        kept.push(notice)
        return 'stored'
      },
    },
    store: {
      deadLetter: async letter => {
        letters.push(letter)
        return 'new'
      },
    },
    want: app => void wanted.push(app),
    meter: {
      notification: (app, outcome) => void counted.push([app, outcome]),
      deadLetters: (labels, reason, count) => void counted.push([labels.app, labels.stream, reason, count]),
    },
    log: { debug: line, info: line, warn: line, error: line },
    ...parts,
  })
  const post = (text: string, { secret = 'secret-a', app = undefined as string | undefined } = {}) =>
    take({
      app,
      header: name => (name === 'x-sig-v2' ? sign(secret, text) : undefined),
      body: Buffer.from(text),
    })
  return { post, take, kept, letters, wanted, counted, lines }
}

const notice = '{"noticeId":"n1","eventType":1,"payload":{"player":{"id":"p","token":"canary"}}}'

describe('the desk for notifications', () => {
  it('keeps a new one under the app that signed it, and wants its players listed', async () => {
    const { post, kept, wanted, counted } = open()
    expect(await post(notice, { secret: 'secret-b' })).toEqual({ status: 200, text: 'stored' })
    expect(kept).toMatchObject([{ app: 'b', noticeId: 'n1', playerId: 'p' }])
    expect(wanted).toEqual(['b'])
    expect(counted).toEqual([['b', 'stored']])
  })

  it('takes a repetition as well, and wants nothing for it', async () => {
    const { post, wanted, counted } = open()
    await post(notice)
    expect(await post(notice)).toEqual({ status: 200, text: 'repeated' })
    expect(wanted).toEqual(['a'])
    expect(counted).toEqual([
      ['a', 'stored'],
      ['a', 'repeated'],
    ])
  })

  it.each([
    ['a wrong secret', { secret: 'guess' }],
    ['the address of another app', { app: 'b' }],
    ['the address of no app', { app: 'nobody' }],
  ])('refuses %s and keeps nothing of it', async (_, how) => {
    const { post, kept, letters, wanted, counted, lines } = open()
    expect((await post(notice, how)).status).toBe(401)
    expect([kept, letters, wanted, lines]).toEqual([[], [], [], []])
    expect(counted).toEqual([[undefined, 'unsigned']])
  })

  it('reads secrets again when nobody it knows signed, and takes what is signed with the one that came', async () => {
    const { source, asked } = rotating('secret-a', 'secret-a2')
    const { post, kept, counted } = open({ signers: [{ app: 'a', secret: source }] })
    expect((await post('{"noticeId":"n0","eventType":1}')).status).toBe(200)
    expect(asked.refreshes).toBe(0)
    expect((await post(notice, { secret: 'secret-a2' })).status).toBe(200)
    expect(kept.map(({ noticeId }) => noticeId)).toEqual(['n0', 'n1'])
    expect(counted.slice(1)).toEqual([['a', 'stored']])
    expect((await post(notice, { secret: 'secret-a' })).status).toBe(401)
    expect(asked.refreshes).toBe(2)
  })

  it('reads nothing again for what cannot be a signature, and goes on with the secret it has where none can be read', async () => {
    const asked = { refreshes: 0 }
    const refresh = async () => {
      asked.refreshes += 1
      throw new Error('no such file')
    }
    const secret = { current: async () => 'secret-a', refresh }
    const { take, post, lines } = open({ signers: [{ app: 'a', secret }] })
    expect((await take({ app: undefined, header: () => 'none', body: Buffer.from(notice) })).status).toBe(401)
    expect(asked.refreshes).toBe(0)
    expect((await post(notice, { secret: 'guess' })).status).toBe(401)
    expect(JSON.stringify(lines)).toContain('could not be read again')
    expect((await post(notice)).status).toBe(200)
  })

  it('believes the header for HMAC-SHA1 where the other is missing', async () => {
    const { take, kept } = open()
    const sha1 = createHmac('sha1', 'secret-a').update(notice).digest('hex')
    const header = (name: string) => (name === 'x-sig' ? sha1 : undefined)
    expect((await take({ app: undefined, header, body: Buffer.from(notice) })).status).toBe(200)
    expect(kept).toHaveLength(1)
  })

  it('asks which app is meant where apps share a secret, and believes the address', async () => {
    const signers = [
      { app: 'a', secret: fixed('secret-a') },
      { app: 'b', secret: fixed('secret-a') },
    ]
    const { post, kept, counted } = open({ signers })
    expect(await post(notice)).toEqual({ status: 400, text: 'say by ?app=ID which app is meant' })
    expect([kept, counted]).toEqual([[], [[undefined, 'ambiguous']]])
    expect((await post(notice, { app: 'b' })).status).toBe(200)
    expect(kept).toMatchObject([{ app: 'b' }])
  })

  it('sets a signed body aside that is no notification, without its secrets', async () => {
    const { post, letters, wanted, counted, lines } = open()
    expect(
      (
        await post(
          '{"noticeId":7.5,"token":"canary","encryptKey":"canary","streamUrl":"rtmp://u:canary@h/a?b=canary',
        )
      ).status,
    ).toBe(200)
    expect(letters).toMatchObject([
      { app: 'a', stream: 'cloud-players', series: '', reason: 'malformed', detail: 'the body is not JSON' },
    ])
    expect(Buffer.from(letters[0]!.body).toString()).toBe(
      '{"noticeId":7.5,"token":"[redacted]","encryptKey":"[redacted]","streamUrl":"rtmp://[redacted]@h/a?b=[redacted]',
    )
    expect(wanted).toEqual(['a'])
    expect(counted).toEqual([
      ['a', 'cloud-players', 'malformed', 1],
      ['a', 'malformed'],
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  it.each(['{"eventType":3}', '{"noticeId":"n"}', '{"event":"destroyed"}', '[]', ''])(
    'has the players listed for a signed %j too, each time that it comes',
    async body => {
      const { post, kept, wanted } = open()
      for (const _ of [1, 2]) expect(await post(body)).toEqual({ status: 200, text: 'set aside' })
      expect([kept, wanted]).toEqual([[], ['a', 'a']])
    },
  )

  it('sets aside what the database refuses', async () => {
    const { post, letters } = open({
      notifications: { keep: () => Promise.reject(new RefusedRows('22003')) },
    })
    expect((await post(notice)).status).toBe(200)
    expect(letters).toMatchObject([{ detail: 'the database refuses a value of a notification' }])
    expect(Buffer.from(letters[0]!.body).toString()).not.toContain('canary')
  })

  it.each([
    ['keep it', { notifications: { keep: () => Promise.reject(new StoreUnavailable(undefined)) } }, notice],
    ['set it aside', { store: { deadLetter: () => Promise.reject(new StoreUnavailable(undefined)) } }, '{'],
  ])('lets the provider try again where the database cannot %s', async (_, parts, text) => {
    const { post, counted } = open(parts)
    expect(await post(text)).toEqual({ status: 503, text: 'not available now' })
    expect(counted).toEqual([['a', 'unavailable']])
  })

  it('has the players listed for one that was kept although the database did not say so', async () => {
    const notices = new Set<string>()
    const keep = async ({ noticeId }: PlayerNotice): Promise<'repeated'> => {
      if (notices.has(noticeId)) return 'repeated'
      notices.add(noticeId)
      throw new StoreUnavailable('ECONNRESET')
    }
    const { post, wanted } = open({ notifications: { keep } })
    expect((await post(notice)).status).toBe(503)
    expect((await post(notice)).status).toBe(200)
    expect(wanted).toEqual(['a'])
  })
})
