import { describe, expect, it } from 'vitest'
import { parseNotice, type Signer, signersOf } from '../../src/http/notifications.ts'

const fox = Buffer.from('The quick brown fox jumps over the lazy dog')
const nothing = new Uint8Array()
/** As openssl computes them with the secret `key`. */
const golden = {
  sha1: 'de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9',
  sha256: 'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
  emptySha1: 'f42bb0eeb018ebbd4597ae7213711ec60760843f',
  emptySha256: '5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0',
}
const signers: readonly Signer[] = [
  { app: 'a', secret: 'other' },
  { app: 'b', secret: 'key' },
]

function signing(parts: { readonly sha1?: string; readonly sha256?: string }, body: Uint8Array = fox) {
  return signersOf(signers, { sha1: undefined, sha256: undefined, ...parts }, body)
}

describe('the app that signed', () => {
  it.each([
    ['HMAC-SHA1', { sha1: golden.sha1 }],
    ['HMAC-SHA256', { sha256: golden.sha256 }],
    ['both', { sha1: golden.sha1, sha256: golden.sha256 }],
    ['upper case', { sha256: golden.sha256.toUpperCase() }],
    ['blanks around it', { sha1: ` ${golden.sha1} ` }],
    ['HMAC-SHA256 beside a wrong HMAC-SHA1', { sha1: '0'.repeat(40), sha256: golden.sha256 }],
  ])('is known by %s', (_, signatures) => {
    expect(signing(signatures)).toEqual(['b'])
  })

  it.each([
    ['no signature', {}],
    ['an empty one', { sha1: '' }],
    ['one hex digit too few', { sha1: golden.sha1.slice(1) }],
    ['one hex digit too many', { sha256: `${golden.sha256}0` }],
    ['another length altogether', { sha256: golden.sha1 }],
    ['the signature in the wrong header', { sha1: golden.sha256 }],
    ['a digit that is none', { sha1: `g${golden.sha1.slice(1)}` }],
    ['one wrong digit', { sha1: `${golden.sha1.slice(0, -1)}8` }],
    ['characters of several bytes', { sha1: 'é'.repeat(40) }],
    ['HMAC-SHA1 beside a wrong HMAC-SHA256', { sha1: golden.sha1, sha256: '0'.repeat(64) }],
    ['HMAC-SHA1 beside an empty HMAC-SHA256', { sha1: golden.sha1, sha256: '' }],
    ['the signature of an empty body', { sha1: golden.emptySha1 }],
  ])('is not known by %s', (_, signatures) => {
    expect(signing(signatures)).toEqual([])
  })

  it('may sign an empty body', () => {
    expect(signing({ sha1: golden.emptySha1 }, nothing)).toEqual(['b'])
    expect(signing({ sha256: golden.emptySha256 }, nothing)).toEqual(['b'])
  })

  it('is one of several when they share a secret', () => {
    const shared = [...signers, { app: 'c', secret: 'key' }]
    expect(signersOf(shared, { sha1: golden.sha1, sha256: undefined }, fox)).toEqual(['b', 'c'])
  })

  it('is nobody with an empty secret, which everybody has', () => {
    const emptySecret = 'fbdb1d1b18aa6c08324b7d64b71fb76370690e1d'
    expect(signersOf([{ app: 'a', secret: '' }], { sha1: emptySecret, sha256: undefined }, nothing)).toEqual(
      [],
    )
  })
})

describe('a notification', () => {
  const parse = (text: string | Uint8Array) => parseNotice(Buffer.from(text))

  it('is read with what it says of its player, and without its secrets', () => {
    const body = {
      noticeId: '4eb720f0-8da7-11e9-a43e-53f411c2761f',
      productId: 5,
      eventType: 4,
      notifyMs: 1_767_600_000_123,
      payload: {
        lts: 1_767_600_000_100,
        player: {
          id: 'p-1',
          name: 'n',
          status: 'running',
          token: 'canary',
          encryptKey: 'canary',
          nested: [{ Secret: 7 }],
          streamUrl: 'rtmp://user:canary@live.example/a?token=canary',
        },
      },
    }
    expect(parse(JSON.stringify(body))).toEqual({
      ok: true,
      notice: {
        noticeId: '4eb720f0-8da7-11e9-a43e-53f411c2761f',
        eventType: 4,
        playerId: 'p-1',
        notifiedAt: 1_767_600_000_123,
        payload: {
          lts: 1_767_600_000_100,
          player: {
            ...{ id: 'p-1', name: 'n', status: 'running' },
            ...{ token: '[redacted]', encryptKey: '[redacted]', nested: [{ Secret: '[redacted]' }] },
            streamUrl: 'rtmp://[redacted]@live.example/a?token=[redacted]',
          },
        },
      },
    })
  })

  it.each([
    ['1767600000123', 1_767_600_000_123],
    ['1767600000', 1_767_600_000_000],
    ['"1767600000"', 1_767_600_000_000],
  ])('that is dated %s is of the time that this can only mean', (notifyMs, at) => {
    const told = parse(`{"noticeId":"n","eventType":9,"notifyMs":${notifyMs}}`)
    expect(told).toMatchObject({ ok: true, notice: { notifiedAt: at } })
  })

  it.each([
    ['no payload', '{"noticeId":"n","eventType":9}', null, null],
    ['a payload that is null', '{"noticeId":"n","eventType":9,"payload":null}', null, null],
    ['no player', '{"noticeId":"n","eventType":9,"payload":{"a":1}}', null, { a: 1 }],
    ['a player that is none', '{"noticeId":"n","eventType":9,"payload":{"player":[]}}', null, { player: [] }],
    [
      'an ID that is a number',
      '{"noticeId":"n","eventType":9,"payload":{"player":{"id":7}}}',
      null,
      { player: { id: 7 } },
    ],
  ])('may have %s', (_, text, playerId, payload) => {
    expect(parse(text)).toEqual({
      ok: true,
      notice: { noticeId: 'n', eventType: 9, playerId, notifiedAt: null, payload },
    })
  })

  it('may have a number for its ID, to the last digit', () => {
    expect(parse('{"noticeId":12345678901234567890,"eventType":1}')).toMatchObject({
      notice: { noticeId: '12345678901234567890' },
    })
  })

  it('may have its type written in a text, as other numbers may be', () => {
    expect(parse('{"noticeId":"n","eventType":"4"}')).toMatchObject({ ok: true, notice: { eventType: 4 } })
  })

  it.each([
    ['nothing', '', 'the body is empty'],
    ['no JSON', '{', 'the body is not JSON'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'the body is not UTF-8'],
    ['depth', '['.repeat(5_000), 'the body has more than 4096 parts'],
    ['an array', '[]', 'the body of a notification is missing or has the wrong type'],
    ['no ID', '{"eventType":1}', 'noticeId of a notification is missing or has the wrong type'],
    [
      'an empty ID',
      '{"noticeId":"","eventType":1}',
      'noticeId of a notification is missing or has the wrong type',
    ],
    [
      'a long ID',
      `{"noticeId":"${'n'.repeat(201)}","eventType":1}`,
      'noticeId of a notification is missing or has the wrong type',
    ],
    [
      'a word for its type',
      '{"noticeId":"n","eventType":"canary"}',
      'eventType of a notification is missing or has the wrong type',
    ],
    [
      'a payload that is a text',
      '{"noticeId":"n","eventType":1,"payload":"canary"}',
      'payload of a notification is missing or has the wrong type',
    ],
    [
      'a time beyond the calendar',
      '{"noticeId":"n","eventType":1,"notifyMs":1e18}',
      'notifyMs of a notification is missing or has the wrong type',
    ],
  ])('with %s is none, and is told so without its values', (_, text, detail) => {
    expect(parse(text)).toEqual({ ok: false, detail })
  })
})
