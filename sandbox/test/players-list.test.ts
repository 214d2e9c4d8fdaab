import { describe, expect, it } from 'vitest'
import { type ListedPlayer, playPlayers, stream } from './players-play.ts'

/** Makes players in turn, named by their channels, and waits until lists show them. */
async function stageWith(channels: readonly string[], options: Parameters<typeof playPlayers>[0] = {}) {
  const stage = playPlayers(options)
  const ids: string[] = []
  for (const [index, channelName] of channels.entries()) {
    ids.push(await stage.make({ channelName, uid: index + 1, name: `n${index}` }))
  }
  await stage.clock.advance(10_000)
  return { ...stage, ids }
}

const idsOf = (players: readonly ListedPlayer[]) => players.map(({ id }) => id)

describe('an entry', () => {
  it('carries name, address, channel, user, ID, time and status, as the mask says', async () => {
    const { list, truth, ids } = await stageWith(['stage'])
    const { status, body } = await list()
    const { createdAt } = truth(ids[0]!)
    expect(status).toBe(200)
    expect(body).toEqual({
      totalSize: 1,
      players: [
        {
          name: 'n0',
          streamUrl: stream.streamUrl,
          channelName: 'stage',
          uid: 1,
          id: ids[0],
          createTs: Math.floor(createdAt / 1_000),
          status: 'running',
        },
      ],
      fields: 'name,streamUrl,channelName,uid,id,createTs,status',
      nextPageToken: '',
    })
  })

  it('tells the time of creation in digits where the switch says so', async () => {
    const { list, create, truth, ids } = await stageWith(['stage'], { switches: { playerTimes: 'text' } })
    const { body } = await list()
    expect(body.players[0]).toMatchObject({ createTs: String(Math.floor(truth(ids[0]!).createdAt / 1_000)) })
    expect((await create({ ...stream, uid: 9 })).body).toMatchObject({
      player: { createTs: expect.any(String) },
    })
  })

  it('has null for the name of a player without one, and an account where the player has one', async () => {
    const { list, make, clock } = playPlayers()
    await make({ uid: undefined, account: 'tv' })
    await clock.advance(10_000)
    const { body } = await list()
    expect(body.players[0]).toMatchObject({ name: null, account: 'tv' })
    expect(body.players[0]).not.toHaveProperty('uid')
    expect(body.fields.split(',')).toContain('account')
  })

  it('never holds a secret', async () => {
    const { create, list, clock } = playPlayers()
    await create({ ...stream, token: 'canary', encryptKey: 'canary' })
    await clock.advance(10_000)
    expect((await list()).text).not.toContain('canary')
  })
})

describe('a list', () => {
  it('is in the order of creation', async () => {
    const { list, ids, make, clock } = await stageWith(['b', 'a', 'c'])
    const last = await make({ uid: 9 })
    await clock.advance(10_000)
    expect(idsOf((await list()).body.players)).toEqual([...ids, last])
  })

  it('shows a player no sooner than ten seconds after its creation', async () => {
    const { make, list, clock } = playPlayers()
    const id = await make()
    await clock.advance(9_999 - 4_010)
    expect((await list()).body).toMatchObject({ totalSize: 0, players: [], nextPageToken: '' })
    await clock.advance(1)
    expect(idsOf((await list()).body.players)).toEqual([id])
  })

  it('is blind for as long as its switch says', async () => {
    const { make, list } = playPlayers({ switches: { listBlindSeconds: 0 } })
    const id = await make()
    expect(idsOf((await list()).body.players)).toEqual([id])
  })

  it('shows a new player in some of these seconds where its switch says so', async () => {
    const { make, list, clock } = playPlayers({
      switches: { listBlind: 'at-times', listBlindSeconds: 60 },
    })
    await make()
    const shown = new Set<number>()
    for (let n = 0; n < 12; n++) {
      shown.add((await list()).body.totalSize)
      await clock.advance(1_000)
    }
    expect(shown).toEqual(new Set([0, 1]))
  })

  it('does not show what was destroyed', async () => {
    const { list, remove, ids } = await stageWith(['a', 'b'])
    await remove(ids[0]!)
    expect((await list()).body).toMatchObject({ totalSize: 1, players: [{ id: ids[1] }] })
  })

  it('shows the players of its own app alone', async () => {
    const rest = { key: 'demo-key', secret: 'demo-secret' }
    const apps = ['demo', 'other'].map(id => ({ id, uid: 'u', token: 't', rest }))
    const { send, list, clock } = playPlayers({ apps })
    await send('POST', 'ap/v1/projects/other/cloud-player/players', { body: stream })
    await clock.advance(10_000)
    expect((await list()).body.totalSize).toBe(0)
    const other = await send('GET', 'v1/projects/other/cloud-player/players')
    expect(other.body.totalSize).toBe(1)
  })
})

describe('a filter', () => {
  it('names a channel, and comes before the pages', async () => {
    const { list, ids } = await stageWith(['a', 'b b', 'a', 'b b', 'b b'])
    const page = (await list({ filter: 'channelName eq b b', pageSize: '2' })).body
    expect([page.totalSize, idsOf(page.players)]).toEqual([3, [ids[1], ids[3]]])
    const rest = (await list({ filter: 'channelName eq b b', pageSize: '2', pageToken: page.nextPageToken }))
      .body
    expect([rest.totalSize, idsOf(rest.players), rest.nextPageToken]).toEqual([3, [ids[4]], ''])
    expect((await list({ filter: 'channelName eq nowhere' })).body).toMatchObject({
      totalSize: 0,
      players: [],
    })
  })

  it('has its spaces encoded as %20', async () => {
    const { send, ids } = await stageWith(['a', 'b'])
    const { body } = await send('GET', 'v1/projects/demo/cloud-player/players?filter=channelName%20eq%20b')
    expect(idsOf(body.players)).toEqual([ids[1]])
  })

  it.each(['', 'a', 'channelName', 'channelName eq ', 'name eq a', 'channelName ne a', 'channelname eq a'])(
    'cannot be "%s"',
    async filter => {
      const { status, body } = await playPlayers().list({ filter })
      expect([status, body.message]).toEqual([400, 'invalid parameter: filter'])
    },
  )
})

describe('a page', () => {
  const many = Array.from({ length: 45 }, (_, index) => `channel-${index % 4}`)

  it('holds as many as were asked for, and all of them hold every player once', async () => {
    const { list, ids } = await stageWith(many)
    for (const pageSize of ['1', '7', '45', '44', '500']) {
      const found: string[] = []
      let pageToken: string | undefined
      while (pageToken !== '') {
        const { body } = await list(pageToken === undefined ? { pageSize } : { pageSize, pageToken })
        expect(body.players.length).toBeLessThanOrEqual(Number(pageSize))
        expect(body.totalSize).toBe(45)
        found.push(...idsOf(body.players))
        pageToken = body.nextPageToken
      }
      expect(found).toEqual(ids)
    }
  })

  it('is the last one when it holds exactly what was left', async () => {
    const { list } = await stageWith(['a', 'a', 'a', 'a'])
    const { nextPageToken } = (await list({ pageSize: '2' })).body
    expect((await list({ pageSize: '2', pageToken: nextPageToken })).body.nextPageToken).toBe('')
    expect((await list({ pageSize: '4' })).body.nextPageToken).toBe('')
  })

  it('has 200 players where no number is given', async () => {
    const { list, clock, make } = playPlayers({ switches: { playerQuota: 300 } })
    for (let uid = 1; uid <= 201; uid++) await make({ uid })
    await clock.advance(10_000)
    const { body } = await list()
    expect([body.players.length, body.totalSize]).toEqual([200, 201])
    expect((await list({ pageToken: body.nextPageToken })).body.players.length).toBe(1)
    expect((await list({ pageSize: '500' })).body.players.length).toBe(201)
  })

  it('goes on behind the last player though others were destroyed meanwhile', async () => {
    const { list, remove, ids } = await stageWith(['a', 'a', 'a', 'a', 'a'])
    const first = (await list({ pageSize: '3' })).body
    await remove(ids[1]!)
    await remove(ids[2]!)
    const second = (await list({ pageSize: '3', pageToken: first.nextPageToken })).body
    expect([second.totalSize, idsOf(second.players)]).toEqual([3, [ids[3], ids[4]]])
  })

  it.each(['0', '501', '-1', '1.5', '', 'all', '1e2'])('cannot have %s players', async pageSize => {
    const { status, body } = await playPlayers().list({ pageSize })
    expect([status, body.message]).toEqual([400, 'invalid parameter: pageSize'])
  })

  it('is not found by a token that was never given, or for another filter', async () => {
    const { list, violations } = await stageWith(['a', 'a', 'a'])
    const { nextPageToken } = (await list({ pageSize: '1' })).body
    for (const query of [
      { pageToken: '' },
      { pageToken: '1' },
      { pageToken: `${nextPageToken}x` },
      { pageToken: Buffer.from('1.7').toString('base64url') },
      { pageToken: nextPageToken, filter: 'channelName eq a' },
    ]) {
      const { status, body } = await list(query)
      expect([status, body.message]).toEqual([400, 'invalid parameter: pageToken'])
    }
    expect(violations()).toEqual({ parameters: 5 })
  })

  it('leads back to itself where the fault says so', async () => {
    const faults = [{ kind: 'looping-next-id', every: 1, operation: 'listPlayers' }] as const
    const { list, ids } = await stageWith(['a', 'a', 'a'], { faults })
    const first = (await list({ pageSize: '2' })).body
    const second = (await list({ pageSize: '2', pageToken: first.nextPageToken })).body
    expect([idsOf(first.players), idsOf(second.players)]).toEqual([ids.slice(0, 2), ids.slice(0, 2)])
    expect(second.nextPageToken).toBe(first.nextPageToken)
  })

  it.each([
    ['unlisted', 1],
    ['miscounted', 2],
  ] as const)('%s leaves out the first and counts %i', async (kind, totalSize) => {
    const faults = [{ kind, every: 2, operation: 'listPlayers' }] as const
    const { list, ids } = await stageWith(['a', 'a'], { faults })
    expect(idsOf((await list({})).body.players)).toEqual(ids)
    const { body } = await list({})
    expect([idsOf(body.players), body.totalSize]).toEqual([ids.slice(1), totalSize])
  })

  it('slipped begins with the last of the page before, in the place of who would have been first', async () => {
    const faults = [{ kind: 'slipped', every: 1, operation: 'listPlayers' }] as const
    const { list, ids } = await stageWith(['a', 'a', 'a', 'a', 'a'], { faults })
    const { body: first } = await list({ pageSize: '2' })
    const { body: second } = await list({ pageSize: '2', pageToken: first.nextPageToken })
    const { body: third } = await list({ pageSize: '2', pageToken: second.nextPageToken })
    const [one, two, , four] = ids
    expect([first, second, third].map(({ players }) => idsOf(players))).toEqual([
      [one, two],
      [two, four],
      [four],
    ])
    expect([third.totalSize, third.nextPageToken]).toEqual([5, ''])
  })
})

describe('a list of a provider that holds back', () => {
  const many = Array.from({ length: 7 }, () => 'a')

  it('has pages of no more than its switch says, and a total of all', async () => {
    const { list, ids } = await stageWith(many, { switches: { playersPerPage: 3 } })
    const { body: first } = await list()
    expect([idsOf(first.players), first.totalSize]).toEqual([ids.slice(0, 3), 7])
    const { body: second } = await list({ pageToken: first.nextPageToken })
    expect(idsOf(second.players)).toEqual(ids.slice(3, 6))
  })
})

describe('thin entries', () => {
  it('hold only ID, name and time of creation, some of them, and not always the same', async () => {
    const { list } = await stageWith(
      Array.from({ length: 40 }, () => 'a'),
      { switches: { playerList: 'thin' } },
    )
    const shapes = async () => (await list()).body.players.map(entry => Object.keys(entry).sort().join())
    const first = await shapes()
    expect(new Set(first)).toEqual(
      new Set(['createTs,id,name', 'channelName,createTs,id,name,status,streamUrl,uid']),
    )
    expect(await shapes()).not.toEqual(first)
  })

  it('are not served unless the switch says so', async () => {
    const { list } = await stageWith(Array.from({ length: 40 }, () => 'a'))
    expect((await list()).body.players.every(entry => entry.status === 'running')).toBe(true)
  })
})
