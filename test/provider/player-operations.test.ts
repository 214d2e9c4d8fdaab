import { describe, expect, it } from 'vitest'
import { ParameterError, requestLine } from '../../src/provider/operation.ts'
import {
  createPlayer,
  deletePlayer,
  ListAnswer,
  listPlayers,
  playerGroupOf,
  playerRates,
  playTsProblem,
} from '../../src/provider/players/index.ts'

const path = { region: 'ap', appId: 'a1' }
const least = { streamUrl: 'rtmp://live.example/one', channelName: 'math', uid: 7 }

function create(fields: object, parameters: object = {}): string | object {
  try {
    return requestLine(createPlayer, { ...path, ...parameters }, { ...least, ...fields }).body as object
  } catch (error) {
    if (error instanceof ParameterError) return error.message.replace('players.createPlayer: parameter ', '')
    throw error
  }
}

describe('what a player may be created with', () => {
  it('an address, a channel and a user are enough', () => {
    expect(create({})).toEqual(least)
    expect(requestLine(createPlayer, { ...path, streamIp: '192.0.2.7' }, least)).toMatchObject({
      method: 'POST',
      target: '/ap/v1/projects/a1/cloud-player/players?streamIp=192.0.2.7',
    })
  })

  it('a user is a number or an account, and one of them is needed', () => {
    expect(create({ uid: undefined })).toBe('body.uid: is missing; give uid or account')
    expect(create({ uid: undefined, account: 'teacher one' })).toMatchObject({ account: 'teacher one' })
    expect(create({ uid: 4_294_967_295 })).toMatchObject({ uid: 4_294_967_295 })
    expect(create({ uid: 4_294_967_296 })).toBe('body.uid: must not be above 4294967295')
    expect(create({ uid: -1 })).toBe('body.uid: must be 0 or more')
    expect(create({ account: null })).toMatch(/^body\.account: /)
  })

  it.each([
    ['streamUrl', 1_024, (length: number) => `https://a/${'x'.repeat(length - 10)}`],
    ['channelName', 64, (length: number) => 'c'.repeat(length)],
    ['account', 255, (length: number) => 'a'.repeat(length)],
    ['name', 64, (length: number) => 'n'.repeat(length)],
  ])('%s has at most %i bytes', (field, most, make) => {
    expect(create({ [field]: make(most) })).toMatchObject({ [field]: make(most) })
    expect(create({ [field]: make(most + 1) })).toBe(
      `body.${field}: must not be longer than ${most} bytes in UTF-8`,
    )
    expect(create({ [field]: '' })).toBe(`body.${field}: must not be empty`)
  })

  it('channels and accounts have the characters of the document, names fewer', () => {
    const all = 'azAZ09 !#$%&()+-:;<=.>?@[]^_|~,'
    expect(create({ channelName: all, account: all })).toMatchObject({ channelName: all, account: all })
    for (const wrong of ['"', "'", '*', '/', '\\', '`', '{', '}', 'ä', '\n']) {
      expect(create({ channelName: `a${wrong}` })).toMatch(/^body\.channelName: may only have/)
      expect(create({ account: `a${wrong}` })).toMatch(/^body\.account: may only have/)
    }
    expect(create({ name: 'aZ09-_' })).toMatchObject({ name: 'aZ09-_' })
    expect(create({ name: 'a b' })).toMatch(/^body\.name: may only have/)
  })

  it.each(['rtmp://a/b', 'http://a/b.mp4', 'https://a/b.png'])('%s is an address', streamUrl => {
    expect(create({ streamUrl })).toMatchObject({ streamUrl })
  })

  it.each(['ftp://a/b', 'rtsp://a/b', '/b.mp4', 'http://', 'https://a b/c', 'http://[/'])(
    '%s is none',
    streamUrl => {
      expect(create({ streamUrl })).toMatch(/^body\.streamUrl: must be an address/)
    },
  )

  it.each([
    ['width', 66, 1_920],
    ['height', 66, 1_080],
    ['frameRate', 1, 30],
    ['bitrate', 1, 10_000],
  ])('videoOptions.%s lies between %i and %i', (field, low, high) => {
    const video = (value: number) => create({ videoOptions: { [field]: value } })
    expect(video(low)).toMatchObject({ videoOptions: { [field]: low } })
    expect(video(high)).toMatchObject({ videoOptions: { [field]: high } })
    expect(video(low - 1)).toBe(`body.videoOptions.${field}: must be ${low} or more`)
    expect(video(high + 1)).toBe(`body.videoOptions.${field}: must not be above ${high}`)
  })

  it('the other options have the values of the document', () => {
    for (const profile of [0, 1, 2, 3, 4, 5]) {
      expect(create({ audioOptions: { profile } })).toMatchObject({ audioOptions: { profile } })
    }
    expect(create({ audioOptions: { profile: 6 } })).toBe(
      'body.audioOptions.profile: must be 0, 1, 2, 3, 4 or 5',
    )
    expect(create({ audioOptions: {}, videoOptions: {} })).toMatchObject({ audioOptions: {} })
    expect(create({ videoOptions: { fillMode: 'fill', widthHeightAdaption: true } })).toMatchObject({})
    expect(create({ videoOptions: { fillMode: 'crop' } })).toBe(
      'body.videoOptions.fillMode: must be fit or fill',
    )
    expect(create({ dataStreamOptions: { enable: true } })).toMatchObject({
      dataStreamOptions: { enable: true },
    })
    for (const repeatTime of [-2, -1, 1, 7]) expect(create({ repeatTime })).toMatchObject({ repeatTime })
    expect(create({ repeatTime: 0 })).toBe('body.repeatTime: must not be 0')
    expect(create({ videoOptions: { frameRate: 29.97 } })).toMatchObject({
      videoOptions: { frameRate: 29.97 },
    })
    expect(create({ repeatTime: 1.5 })).toBe('body.repeatTime: must be an integer')
    expect(create({ seekPosition: -1 })).toBe('body.seekPosition: must be 0 or more')
    expect(create({ unheard: 1 })).toMatch(/^body: /)
  })

  it('an idle time outside its range is sent as it is: the service moves it', () => {
    expect(create({ idleTimeout: 1 })).toMatchObject({ idleTimeout: 1 })
    expect(create({ idleTimeout: 9_000 })).toMatchObject({ idleTimeout: 9_000 })
  })

  it('encryption needs a key, and the two newest modes a salt of 32 bytes', () => {
    const key = { encryptKey: 'k' }
    const salt = Buffer.alloc(32, 7).toString('base64')
    expect(create({ encryptMode: 'aes-128-xts', ...key })).toMatchObject(key)
    expect(create({ encryptMode: 'aes-128-xts' })).toMatch(/^body\.encryptKey: is missing/)
    expect(create({ encryptMode: 'des', ...key })).toMatch(/^body\.encryptMode: must be one of aes-128-xts/)
    for (const encryptMode of ['aes-128-gcm2', 'aes-256-gcm2']) {
      expect(create({ encryptMode, ...key })).toBe(`body.encryptKdfSalt: is missing; ${encryptMode} needs it`)
      expect(create({ encryptMode, ...key, encryptKdfSalt: salt })).toMatchObject({ encryptKdfSalt: salt })
      expect(create({ encryptMode, ...key, encryptKdfSalt: 'x'.repeat(32) })).toMatchObject({})
    }
    for (const wrong of [
      'short',
      '0'.repeat(32),
      Buffer.alloc(32).toString('base64'),
      `${salt.slice(0, -1)}`,
    ]) {
      expect(create({ encryptMode: 'aes-256-gcm2', ...key, encryptKdfSalt: wrong })).toMatch(
        /must be 32 bytes/,
      )
    }
    expect(create({ encryptMode: 'aes-128-gcm', ...key, encryptKdfSalt: salt })).toBe(
      'body.encryptKdfSalt: is only for aes-128-gcm2 and aes-256-gcm2',
    )
  })

  it('a time to start lies between a day before now and five minutes after', () => {
    const now = 1_800_000_000
    expect(playTsProblem(undefined, now)).toBeUndefined()
    expect(playTsProblem(0, now)).toBeUndefined()
    expect(playTsProblem(now - 86_400, now)).toBeUndefined()
    expect(playTsProblem(now + 300, now)).toBeUndefined()
    expect(playTsProblem(now - 86_401, now)).toBe('is more than 86400 s ago')
    expect(playTsProblem(now + 301, now)).toBe('is more than 300 s ahead')
  })

  it('only IPv4 names the server of the stream', () => {
    expect(create({}, { streamIp: '2001:db8::1' })).toBe('streamIp: must be an IPv4 address')
  })
})

describe('what is asked of players that exist', () => {
  it('Delete has the region and the ID in its path, and no body', () => {
    expect(requestLine(deletePlayer, { ...path, id: 'a/b' })).toEqual({
      operation: deletePlayer,
      method: 'DELETE',
      target: '/ap/v1/projects/a1/cloud-player/players/a%2Fb',
    })
  })

  it('List filters by one channel, with the spaces encoded', () => {
    const asked = { appId: 'a1', filter: 'channelName eq room 1', pageSize: 500, pageToken: 'next' }
    expect(requestLine(listPlayers, asked).target).toBe(
      '/v1/projects/a1/cloud-player/players?filter=channelName%20eq%20room%201&pageSize=500&pageToken=next',
    )
  })

  it.each([
    [{ pageSize: 0 }, 'pageSize: must be 1 or more'],
    [{ pageSize: 501 }, 'pageSize: must not be above 500'],
    [{ filter: 'name eq x' }, 'filter: must be "channelName eq " and the name of a channel'],
    [{ filter: 'channelName eq ' }, 'filter: must be "channelName eq " and the name of a channel'],
    [{ filter: 'channelName eq a/b' }, 'filter: must be "channelName eq " and the name of a channel'],
  ])('%j is refused before it is sent', (wrong, problem) => {
    expect(() => requestLine(listPlayers, { appId: 'a1', ...wrong })).toThrow(problem)
  })
})

describe('the limits of the document', () => {
  it('has its numbers', () => {
    expect(playerRates).toEqual({
      'players-create': [{ requests: 2, window: 1 }],
      'players-create-unnamed': [{ requests: 50, window: 1 }],
      'players-delete': [{ requests: 100, window: 1 }],
      'players-list': [
        { requests: 2, window: 1 },
        { requests: 15, window: 60 },
      ],
      'players-list-all': [
        { requests: 10, window: 1 },
        { requests: 20, window: 60 },
      ],
    })
  })

  it('are shared by all Creates and by all Lists, unless they are known to be split', () => {
    const group = (...asked: Parameters<typeof playerGroupOf>) =>
      Object.values(playerGroupOf(...asked)).join(' ')
    expect(group(createPlayer, {}, 'joint')).toBe('players-create ')
    expect(group(createPlayer, { name: 'x' }, 'joint')).toBe('players-create ')
    expect(group(listPlayers, {}, 'joint')).toBe('players-list ')
    expect(group(listPlayers, { filter: 'channelName eq x' }, 'joint')).toBe('players-list ')
    expect(group(createPlayer, {}, 'split')).toBe('players-create-unnamed ')
    expect(group(createPlayer, { name: 'x' }, 'split')).toBe('players-create ')
    expect(group(listPlayers, {}, 'split')).toBe('players-list-all ')
    expect(group(listPlayers, { filter: 'channelName eq x' }, 'split')).toBe('players-list channelName eq x')
    expect(group(deletePlayer, {}, 'split')).toBe('players-delete ')
  })
})

describe('an answer of List', () => {
  it.each([
    ['has its players', { totalSize: 1, players: [{ id: 'a' }], nextPageToken: '' }, true],
    ['has none', { totalSize: 0, players: [], nextPageToken: '' }, true],
    ['says by null that a page has none', { totalSize: 4, players: null, nextPageToken: '' }, true],
    ['says by its total that there are none', { totalSize: 0 }, true],
    ['counts players and lists none', { totalSize: 4, nextPageToken: '' }, false],
    ['is of something else', { status: 'ok' }, false],
  ])('%s', (_, answer, isRead) => {
    expect(ListAnswer.safeParse(answer).success).toBe(isRead)
  })
})
