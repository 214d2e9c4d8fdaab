import { describe, expect, it } from 'vitest'
import { channelToken, demoApp } from '../src/index.ts'
import { playPlayers, stream } from './players-play.ts'

/** Whether a Create with these fields is taken: 200, or 400 with the name of the field. */
async function verdict(fields: Readonly<Record<string, unknown>>) {
  const { status, body } = await playPlayers().create({ ...stream, ...fields })
  return status === 200 ? 'taken' : `${status} ${body.message}`
}

const refused = (field: string) => `400 invalid parameter: ${field}`
const letters = (count: number) => 'x'.repeat(count)

/** What the document's table of fields says, row by row: values that keep a rule, and values that break it. */
const table: Readonly<
  Record<string, { readonly good: readonly unknown[]; readonly bad: readonly unknown[] }>
> = {
  streamUrl: {
    good: [
      'rtmp://host/app/stream',
      'http://host/a.flv',
      'https://host/a.m3u8?x=1',
      'https://host/picture.JPEG',
      'https://host/picture.png',
      `http://host/${letters(1_024 - 12)}`,
    ],
    bad: [
      undefined,
      null,
      '',
      7,
      'ftp://host/a',
      'rtsp://host/a',
      'host/a.mp4',
      'http://',
      `http://host/${letters(1_025 - 12)}`,
      `http://host/${'é'.repeat(507)}`,
    ],
  },
  channelName: {
    good: ['a', 'aZ09 !#$%&()+-:;<=.>?@[]^_|~,', letters(64)],
    bad: [
      undefined,
      null,
      '',
      7,
      letters(65),
      'a/b',
      'a"b',
      "a'b",
      'a*b',
      'a\\b',
      'a`b',
      'a{b}',
      'é',
      'a\nb',
      '数',
    ],
  },
  uid: { good: [0, 1, 2 ** 32 - 1], bad: [-1, 2 ** 32, 1.5, '7', true] },
  account: {
    good: ['a', 'teacher of 7b!', letters(255)],
    bad: [null, '', 7, letters(256), 'ö', 'a/b'],
  },
  token: { good: ['anything', null], bad: [7, {}] },
  audioOptions: {
    good: [{}, null, ...[0, 1, 2, 3, 4, 5].map(profile => ({ profile }))],
    bad: ['loud', [], 3],
  },
  videoOptions: {
    good: [
      {},
      null,
      { width: 66, height: 66 },
      { width: 1_920, height: 1_080 },
      { widthHeightAdaption: true },
      { frameRate: 1, bitrate: 1 },
      { frameRate: 30, bitrate: 10_000 },
      { fillMode: 'fit' },
      { fillMode: 'fill' },
    ],
    bad: ['wide', [], 7],
  },
  idleTimeout: { good: [5, 600, 0, -3, 4, 601, 1e9, 7.5], bad: ['300', true] },
  name: {
    good: ['a', 'aZ09-_', letters(64), null],
    bad: ['', 7, letters(65), 'a b', 'a.b', 'ä'],
  },
  repeatTime: { good: [1, -1, 5, -2], bad: [0, 1.5, '1'] },
  seekPosition: { good: [0, 30, 0.5], bad: [-1, '1'] },
  dataStreamOptions: { good: [{}, { enable: true }, { enable: false }, null], bad: [true, 'yes'] },
  encryptMode: {
    good: [null],
    bad: ['aes-128', 'AES-128-XTS', '', 1],
  },
  encryptKey: { good: ['k', null, letters(500)], bad: [7] },
}

describe.each(Object.entries(table))('%s', (field, { good, bad }) => {
  it.each(good.map(value => [value]))('may be %j', async value => {
    expect(await verdict({ [field]: value })).toBe('taken')
  })

  it.each(bad.map(value => [value]))('may not be %j', async value => {
    expect(await verdict({ [field]: value })).toBe(refused(field))
  })
})

describe('transcoding', () => {
  it.each([
    [{ audioOptions: { profile: 6 } }, 'audioOptions.profile'],
    [{ audioOptions: { profile: -1 } }, 'audioOptions.profile'],
    [{ audioOptions: { profile: 1.5 } }, 'audioOptions.profile'],
    [{ videoOptions: { width: 65 } }, 'videoOptions.width'],
    [{ videoOptions: { width: 1_921 } }, 'videoOptions.width'],
    [{ videoOptions: { height: 65 } }, 'videoOptions.height'],
    [{ videoOptions: { height: 1_081 } }, 'videoOptions.height'],
    [{ videoOptions: { widthHeightAdaption: 'yes' } }, 'videoOptions.widthHeightAdaption'],
    [{ videoOptions: { frameRate: 0 } }, 'videoOptions.frameRate'],
    [{ videoOptions: { frameRate: 31 } }, 'videoOptions.frameRate'],
    [{ videoOptions: { bitrate: 0 } }, 'videoOptions.bitrate'],
    [{ videoOptions: { bitrate: 10_001 } }, 'videoOptions.bitrate'],
    [{ videoOptions: { fillMode: 'stretch' } }, 'videoOptions.fillMode'],
    [{ dataStreamOptions: { enable: 1 } }, 'dataStreamOptions.enable'],
  ])('%j is refused', async (fields, field) => {
    expect(await verdict(fields)).toBe(refused(field))
  })
})

describe('encryption', () => {
  const plainModes = [
    ...['aes-128-xts', 'aes-256-xts', 'aes-128-ecb', 'sm4-128-ecb', 'aes-128-gcm', 'aes-256-gcm'],
  ]
  const saltedModes = ['aes-128-gcm2', 'aes-256-gcm2']
  const salt = Buffer.alloc(32, 9).toString('base64')

  it.each(plainModes)('%s needs a key and has no salt', async encryptMode => {
    expect(await verdict({ encryptMode, encryptKey: 'k' })).toBe('taken')
    for (const encryptKey of [undefined, null, '']) {
      expect(await verdict({ encryptMode, encryptKey })).toBe(refused('encryptKey'))
    }
    const salted = { encryptMode, encryptKey: 'k', encryptKdfSalt: salt }
    expect(await verdict(salted)).toBe(refused('encryptKdfSalt'))
  })

  it.each(saltedModes)('%s needs a key and a salt of 32 bytes that is not 0', async encryptMode => {
    const mode = { encryptMode, encryptKey: 'k' }
    for (const encryptKdfSalt of [salt, 's'.repeat(32)]) {
      expect(await verdict({ ...mode, encryptKdfSalt })).toBe('taken')
    }
    expect(await verdict({ encryptMode, encryptKdfSalt: salt })).toBe(refused('encryptKey'))
    const zeros = ['0', '0'.repeat(32), '\0'.repeat(32), Buffer.alloc(32).toString('base64')]
    const lengths = ['', 's'.repeat(31), 's'.repeat(33), Buffer.alloc(31, 9).toString('base64')]
    for (const encryptKdfSalt of [undefined, null, ...zeros, ...lengths]) {
      expect(await verdict({ ...mode, encryptKdfSalt })).toBe(refused('encryptKdfSalt'))
    }
  })

  it('is not asked for by a key alone, and a salt is for its modes alone', async () => {
    expect(await verdict({ encryptKey: 'k' })).toBe('taken')
    expect(await verdict({ encryptKey: 'k', encryptKdfSalt: salt })).toBe(refused('encryptKdfSalt'))
  })
})

describe('the user of a player', () => {
  it('is a uid, an account, or both, and never nobody', async () => {
    const { create } = playPlayers()
    const { streamUrl } = stream
    const inChannel = (channelName: string, user: object) => create({ streamUrl, channelName, ...user })
    expect((await inChannel('a', { uid: 5 })).body.player).toMatchObject({ uid: 5 })
    const account = (await inChannel('b', { account: 'tv' })).body.player
    expect(account).toMatchObject({ account: 'tv' })
    expect(account).not.toHaveProperty('uid')
    const both = await inChannel('c', { uid: 5, account: 'tv' })
    expect(both.body.player).toMatchObject({ uid: 5, account: 'tv' })
    for (const user of [{}, { uid: null }]) {
      const { status, body } = await inChannel('d', user)
      expect([status, body.message]).toEqual([400, 'invalid parameter: uid or account'])
    }
  })

  it('is given by the server where the uid is 0', async () => {
    const { make, truth } = playPlayers()
    const uids = [truth(await make({ uid: 0 })).uid!, truth(await make({ uid: 0 })).uid!]
    expect(uids.every(uid => Number.isInteger(uid) && uid >= 1 && uid <= 2 ** 32 - 1)).toBe(true)
    expect(uids[0]).not.toBe(uids[1])
  })

  it('differs from those of the other players of the channel, as long as they live', async () => {
    const { create, make, remove, violations } = playPlayers()
    const first = await make({ uid: 5, account: 'tv' })
    const sameUid = await create({ ...stream, uid: 5 })
    expect([sameUid.status, sameUid.body.message]).toEqual([400, 'uid is in use in the channel'])
    const sameAccount = await create({ ...stream, uid: 6, account: 'tv' })
    expect([sameAccount.status, sameAccount.body.message]).toEqual([400, 'account is in use in the channel'])
    await make({ uid: 5, account: 'tv', channelName: 'elsewhere' })
    await remove(first)
    await make({ uid: 5, account: 'tv' })
    expect(violations()).toEqual({})
  })

  it('differs from those of the people who are in the channel', async () => {
    const profile = { kind: 'calls', callsPerDay: 480, users: 6, minutes: 30, days: 1 } as const
    const { create, linesOf, clock } = playPlayers({ profile })
    const now = clock.now()
    const { call } = linesOf('call').find(line => line.call.destroyedAt === undefined)!
    const [present] = call.sessions.filter(({ leftAt }) => leftAt === undefined || leftAt > now + 60_000)
    const { status, body } = await create({ ...stream, channelName: call.cname, uid: present!.uid })
    expect([status, body.message]).toEqual([400, 'uid is in use in the channel'])
    expect((await create({ ...stream, channelName: call.cname, uid: 4_000_000_000 })).status).toBe(200)
  })

  it('is named by the token, where the project has a certificate', async () => {
    const { create } = playPlayers({ apps: [{ ...demoApp, certificate: 'c3rt' }] })
    const token = (user: number | string, channel = 'stage') => channelToken('c3rt', channel, user)
    const ask = async (fields: object) => (await create({ ...stream, ...fields })).body
    expect(await ask({})).toEqual({ message: 'invalid parameter: token' })
    expect(await ask({ token: null })).toEqual({ message: 'invalid parameter: token' })
    expect(await ask({ token: token(8) })).toEqual({ message: 'invalid parameter: token' })
    expect(await ask({ token: token(7, 'other') })).toEqual({ message: 'invalid parameter: token' })
    expect(await ask({ token: token(7) })).toHaveProperty('player')
    expect(await ask({ uid: undefined, account: 'tv', token: token('tv') })).toHaveProperty('player')
  })
})

describe('playTs', () => {
  it('lies between a day before the creation and five minutes after, or is 0', async () => {
    const { create, clock, violations } = playPlayers()
    const ask = async (playTs: unknown) => {
      const { status, body } = await create({ ...stream, channelName: `c ${playTs}`, playTs })
      return status === 200 ? 'taken' : body.message
    }
    /** The creation comes half a second after this was asked. */
    const createdTs = () => Math.floor((clock.now() + 510) / 1_000)
    expect(await ask(0)).toBe('taken')
    expect(await ask(createdTs() - 86_400)).toBe('taken')
    expect(await ask(createdTs() + 300)).toBe('taken')
    expect(await ask(createdTs() - 86_401)).toBe('invalid parameter: playTs')
    expect(await ask(createdTs() + 301)).toBe('invalid parameter: playTs')
    expect(await ask(-1)).toBe('invalid parameter: playTs')
    expect(await ask('0')).toBe('invalid parameter: playTs')
    expect(violations()).toEqual({ parameters: 4 })
  })
})

describe('the request', () => {
  it.each(['cn', 'ap', 'na', 'eu'])('may be for the region %s', async region => {
    expect((await playPlayers().create(stream, { region })).status).toBe(200)
  })

  it('may not be for another region', async () => {
    const { status, body } = await playPlayers().create(stream, { region: 'us' })
    expect([status, body.message]).toEqual([400, 'invalid parameter: region'])
  })

  it('may name the server of the stream by its IPv4 address', async () => {
    const { create } = playPlayers()
    expect((await create(stream, { query: '?streamIp=203.0.113.255' })).status).toBe(200)
    for (const address of ['', '::1', '203.0.113', '203.0.113.256', '1.2.3.4.5', 'host', '1.2.3.x']) {
      const { status, body } = await create(stream, { query: `?streamIp=${address}` })
      expect([status, body.message]).toEqual([400, 'invalid parameter: streamIp'])
    }
  })

  it.each(['', '[]', '"text"', 'null', '{"streamUrl":', '7'])(
    'has an object as its body, and not %s',
    async body => {
      const { status, body: answer } = await playPlayers().create(body)
      expect([status, answer.message]).toEqual([400, 'invalid parameter: body'])
    },
  )

  it('says that its body is JSON', async () => {
    const { create } = playPlayers()
    const { status } = await create(stream, {
      headers: { authorization: `Basic ${btoa('demo-key:demo-secret')}`, 'content-type': 'text/plain' },
    })
    expect(status).toBe(400)
  })

  it('is not repeated by its refusal, which may hold secrets', async () => {
    const { text } = await playPlayers().create({ ...stream, token: 'canary', name: 'canary bird' })
    expect(text).not.toContain('canary')
  })
})

describe('the answer', () => {
  it('carries the new player, the mask of its fields and its ID in the header', async () => {
    const { create, clock } = playPlayers()
    const { status, body, headers } = await create({ ...stream, name: 'n', token: 't' })
    expect(status).toBe(200)
    expect(body).toEqual({
      player: {
        uid: 7,
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        createTs: Math.floor(clock.now() / 1_000),
        status: 'idle',
      },
      fields: 'uid,id,createTs,status',
    })
    expect(headers.get('x-resource-id')).toBe(body.player.id)
  })

  it('names what it carries of a player with an account', async () => {
    const { body } = await playPlayers().create({ ...stream, uid: undefined, account: 'tv' })
    expect(body.fields.split(',')).toEqual(Object.keys(body.player))
    expect(body.fields).toBe('account,id,createTs,status')
  })
})

describe('a name', () => {
  it('belongs to one living player: the next one is refused with the ID of the first', async () => {
    const { create, make, remove } = playPlayers()
    const first = await make({ name: 'news', uid: 1 })
    const second = await create({ ...stream, name: 'news', uid: 2, channelName: 'other' })
    expect([second.status, second.body]).toEqual([
      409,
      { message: 'Resource with the same name already exists.' },
    ])
    expect(second.headers.get('x-resource-id')).toBe(first)
    expect((await create({ ...stream, name: 'News', uid: 3 })).status).toBe(200)
    await remove(first)
    expect((await create({ ...stream, name: 'news', uid: 4 })).status).toBe(200)
  })

  it('may be missing in many players', async () => {
    const { make, sandbox } = playPlayers()
    await make({ uid: 1 })
    await make({ uid: 2 })
    await make({ uid: 3, name: null })
    expect(sandbox.players('demo').map(({ name }) => name)).toEqual([undefined, undefined, undefined])
  })
})
