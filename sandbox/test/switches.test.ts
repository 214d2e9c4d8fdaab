import { describe, expect, it } from 'vitest'
import { parseSwitches, SwitchError, switchTable } from '../src/index.ts'
import { at, listing, lively, minutes, play } from './play.ts'

describe('settings of switches', () => {
  it('are read as a command line gives them', () => {
    expect(parseSwitches({ appFeed: 'consuming', feedWindowSeconds: '5' })).toEqual({
      appFeed: 'consuming',
      feedWindowSeconds: 5,
    })
  })

  it.each([
    ['appfeed', 'consuming', /there is no switch appfeed; there are appFeed, /],
    ['appFeed', 'draining', /switch appFeed must be consuming or sliding-window or redelivering/],
    ['feedWindowSeconds', 'long', /switch feedWindowSeconds must be a number of seconds/],
    ['feedWindowSeconds', '', /must be a number/],
  ])('refuse %s=%s and say what is allowed', (name, value, message) => {
    expect(() => parseSwitches({ [name]: value })).toThrow(SwitchError)
    expect(() => parseSwitches({ [name]: value })).toThrow(message)
  })

  it('have a default among their values, and a description', () => {
    for (const entry of Object.values(switchTable)) {
      if ('values' in entry) expect(entry.values).toContain(entry.default)
      expect(entry.description.length).toBeGreaterThan(10)
    }
  })
})

describe('tail', () => {
  it('valid: the last nextId leads to the last page and to what came since', async () => {
    const { clock, drain, get, running, linesOf } = play()
    const { roomUuid } = running()
    const { tickets } = await drain(at(roomUuid).events)
    const last = `${at(roomUuid).events}?nextId=${tickets.at(-2)}`
    const before = listing(await get(last))
    await clock.advance(30_000)
    const after = listing(await get(last))
    expect(after.list.slice(0, before.list.length)).toEqual(before.list)
    expect(after.list.length).toBeGreaterThan(before.list.length)
    expect(after.list.at(-1)).toMatchObject({ sequence: linesOf('event', roomUuid).length })
  })

  it('refused: a nextId says 400 once its listing has ended, and a new listing works', async () => {
    const { drain, get, running, sandbox } = play({ switches: { tail: 'refused' } })
    const { events } = at(running().roomUuid)
    const first = listing(await get(events))
    expect((await get(`${events}?nextId=${first.nextId}`)).status).toBe(200)
    const { tickets, items } = await drain(events)
    const spent = await get(`${events}?nextId=${tickets.at(-2)}`)
    expect([spent.status, spent.body.code]).toEqual([400, 400])
    expect((await drain(events)).items).toEqual(items)
    expect(sandbox.status().violations).toBe(0)
  })
})

describe('nextIdType', () => {
  it.each([
    ['string', 'string'],
    ['number', 'number'],
  ] as const)('%s: nextId is a %s, and the whole log is read with it', async (nextIdType, type) => {
    const { drain, running, linesOf } = play({ switches: { nextIdType } })
    const { roomUuid } = running()
    const { items, tickets } = await drain(at(roomUuid).events)
    expect(tickets.slice(0, -1).every(ticket => typeof ticket === type)).toBe(true)
    expect(items.length).toBe(linesOf('event', roomUuid).length)
  })
})

describe('sequence', () => {
  const sequences = (options: Parameters<typeof play>[0]) => {
    const { linesOf, running } = play(options)
    return linesOf('event', running().roomUuid).map(event => Number(event.sequence))
  }

  it('contiguous: numbers each room from 1 without a gap', () => {
    const numbers = sequences({})
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  })

  it('holes: skips some numbers, and tells the same story', () => {
    const numbers = sequences({ switches: { sequence: 'holes' } })
    expect(numbers.length).toBe(sequences({}).length)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(numbers.at(-1)).toBeGreaterThan(numbers.length)
  })

  it.each(['school', 'backlog'] as const)('sequenceScope app: no two rooms of a %s share a number', kind => {
    const profile = kind === 'school' ? lively : { kind, rooms: 20, eventsPerRoom: 30 }
    const { linesOf } = play({ profile, switches: { sequenceScope: 'app', sequence: 'holes' } })
    const all = linesOf('event').map(event => event.sequence)
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('roomReuse', () => {
  const short = { ...lively, classes: 1, lessonMinutes: 10, eventsPerMinute: 6 }

  it('on: the same roomUuid opens again as another room, whose log starts over', async () => {
    const stage = play({ profile: short, switches: { roomReuse: 'on', roomMemorySeconds: 300 } })
    await stage.clock.advance(40 * minutes)
    const rooms = stage.linesOf('room')
    expect(new Set(rooms.map(room => room.roomUuid)).size).toBe(1)
    expect(rooms.map(room => room.incarnation)).toEqual(rooms.map((_, index) => index + 1))
    expect(rooms.length).toBeGreaterThan(1)
    for (const [earlier, later] of rooms.slice(1).map((room, index) => [rooms[index]!, room] as const)) {
      expect(earlier.destroyedAt).toBeLessThan(later.openedAt)
    }
    const logs = rooms.map(room =>
      stage.linesOf('event').filter(event => event.incarnation === room.incarnation),
    )
    expect(logs.map(log => log[0]!.sequence)).toEqual(rooms.map(() => 1))
    expect(logs[0]![0]!.data).not.toEqual(logs[1]![0]!.data)
  })

  it('off: every class has a roomUuid of its own', async () => {
    const stage = play({ profile: short })
    await stage.clock.advance(60 * minutes)
    const rooms = stage.linesOf('room')
    expect(rooms.length).toBeGreaterThan(3)
    expect(new Set(rooms.map(room => room.roomUuid)).size).toBe(rooms.length)
  })
})

describe('widget data', () => {
  const submissions = (switches: Parameters<typeof parseSwitches>[0]) => {
    const { linesOf } = play({ switches: parseSwitches(switches) })
    const lines = linesOf('widget').filter(line => line.step === 'submission')
    expect(lines.length).toBeGreaterThan(0)
    return lines.map(({ userUuid, item }) => ({
      userUuid,
      item: item as Record<string, Record<string, unknown>>,
    }))
  }

  it('widgetPath with-region: is found behind a region and nowhere else', async () => {
    const { get, running } = play({ switches: { widgetPath: 'with-region' } })
    const { poll, popupQuiz } = at(running().roomUuid)
    for (const path of [poll, popupQuiz]) {
      expect((await get(path)).status).toBe(404)
      expect((await get(`/ap${path}`)).status).toBe(200)
      expect((await get(`/us${path}`)).status).toBe(400)
    }
  })

  it('widgetPath without-region: is not found behind a region', async () => {
    const { get, running } = play()
    expect((await get(`/ap${at(running().roomUuid).poll}`)).status).toBe(404)
  })

  it('widgetKeys dotted: has keys like extra.pollId, and a student of a quiz keys without extra', () => {
    const keys = submissions({}).flatMap(({ item }) => Object.keys(item.changeProperties!))
    expect(new Set(keys)).toEqual(
      new Set([
        'extra.pollId',
        'extra.selectIndex',
        'lastCommitTime',
        'popupQuizId',
        'selectedItems',
        'isCorrect',
      ]),
    )
  })

  it('widgetItemSequence present: numbers the items of a log; absent: does not', () => {
    expect(submissions({}).every(({ item }) => typeof item.sequence === 'number')).toBe(true)
    expect(submissions({ widgetItemSequence: 'absent' }).some(({ item }) => 'sequence' in item)).toBe(false)
  })

  it('submitter: names the student as operator or as fromUser, and the teacher as the other', () => {
    for (const { userUuid, item } of submissions({})) {
      expect(item.operator!.userUuid).toBe(userUuid)
      expect(item.fromUser!.role).toBe('teacher')
    }
    for (const { userUuid, item } of submissions({ submitter: 'fromUser' })) {
      expect(item.fromUser!.userUuid).toBe(userUuid)
      expect(item.operator!.role).toBe('teacher')
    }
  })
})

it.each(['2', '0'] as const)(
  'recordingEndState %s: is the state of the event of a stop',
  recordingEndState => {
    const { linesOf } = play({ switches: { recordingEndState } })
    const states = linesOf('event')
      .filter(event => event.cmd === 1001)
      .map(event => (event.data as { state: number }).state)
    expect(new Set(states)).toEqual(new Set([1, Number(recordingEndState)]))
  },
)

describe('listShape', () => {
  const first = async (listShape: 'list' | 'records' | 'beside' | 'item' | 'named') => {
    const { get, running } = play({ switches: { listShape } })
    const { body } = await get(at(running().roomUuid).events)
    return body as { readonly data: object; readonly nextId?: unknown }
  }

  it('list, records, beside, item and named: the same items in five shapes, each with its nextId', async () => {
    const [list, records, beside, item, named] = await Promise.all([
      first('list'),
      first('records'),
      first('beside'),
      first('item'),
      first('named'),
    ])
    const { list: items, nextId } = list.data as { list: readonly object[]; nextId: string }
    expect(records.data).toEqual({ records: items, nextId })
    expect(beside).toMatchObject({ data: items, nextId })
    expect(item.data).toEqual({ ...items[0], nextId: expect.any(String) })
    const { nextId: next, ...byName } = named.data as { readonly nextId?: string }
    expect({ items: Object.values(byName), next }).toEqual({ items, next: nextId })
  })
})

describe('batchItems', () => {
  it('a batch holds no more, whatever is asked', async () => {
    const { get, running } = play({ switches: { batchItems: 3 } })
    const { events } = at(running().roomUuid)
    const page = listing(await get(`${events}?count=50`))
    expect(page.list).toHaveLength(3)
    expect(listing(await get(`${events}?count=50&nextId=${page.nextId}`)).list).toHaveLength(3)
  })
})

describe('logEnd', () => {
  it.each([
    ['null', { nextId: null }],
    ['empty', { nextId: '' }],
    ['absent', {}],
  ] as const)('%s: a listing ends with %j', async (logEnd, expected) => {
    const { get, running } = play({ switches: { logEnd, listShape: 'records' } })
    const { body } = await get(at(running().roomUuid).recordings)
    expect(body.data).toEqual({ records: expect.any(Array), ...expected })
  })

  it('same: a listing ends with a page without items that names itself, and goes on from there', async () => {
    const { get, running, clock } = play({ switches: { logEnd: 'same' } })
    const { events } = at(running().roomUuid)
    let page = listing(await get(events))
    while (page.list.length > 0) page = listing(await get(`${events}?nextId=${page.nextId}`))
    const again = `${events}?nextId=${page.nextId}`
    expect(listing(await get(again))).toEqual(page)
    await clock.advance(minutes)
    expect(listing(await get(again)).list.length).toBeGreaterThan(0)
  })
})

describe('personIds absent', () => {
  it('leaves the ID of one in three out, wherever a person is told', () => {
    const { linesOf } = play({ switches: { personIds: 'absent' } })
    const people = (list: unknown) => (list ?? []) as readonly { readonly userUuid?: string }[]
    const coming = linesOf('event').flatMap(({ cmd, data }) =>
      cmd === 20 ? people((data as { onlineUsers?: unknown }).onlineUsers) : [],
    )
    const submitting = linesOf('widget').map(
      ({ item }) => (item as { operator: { userUuid?: string } }).operator,
    )
    for (const told of [coming, submitting]) {
      const ids = told.filter(({ userUuid }) => userUuid !== undefined)
      expect(ids.length).toBeGreaterThan(0)
      expect(ids.length).toBeLessThan(told.length)
    }
  })
})

describe('voteOptions', () => {
  it.each([
    ['index', expect.any(Number)],
    ['object', { index: expect.any(Number), text: expect.any(String) }],
    ['unknown', { text: expect.any(String), weight: 1, of: expect.any(Number) }],
  ] as const)('%s', (voteOptions, option) => {
    const { linesOf } = play({ switches: { voteOptions, widgetKeys: 'nested' } })
    const vote = linesOf('widget').find(({ widget, step }) => widget === 'poll' && step === 'submission')
    expect(vote?.item).toMatchObject({
      changeProperties: { extra: { selectIndex: expect.arrayContaining([option]) } },
    })
  })
})

describe('streamUuids', () => {
  it.each([
    ['uid', true],
    ['other', false],
  ] as const)(
    '%s: the stream of a person has the uid of the stay in the call, or not',
    (streamUuids, same) => {
      const { linesOf } = play({ switches: { streamUuids } })
      const streams = linesOf('event').flatMap(({ cmd, data }) => {
        const { onlineUsers = [] } = data as { onlineUsers?: readonly { streamUuid: string }[] }
        return cmd === 20 ? onlineUsers.map(({ streamUuid }) => streamUuid) : []
      })
      const uids = new Set(linesOf('call').flatMap(({ call }) => call.sessions.map(({ uid }) => String(uid))))
      expect(streams.length).toBeGreaterThan(10)
      expect(streams.filter(stream => uids.has(stream)).length > 10).toBe(same)
    },
  )
})

describe('roles', () => {
  it.each([
    ['number', [1, 2]],
    ['word', ['student', 'teacher']],
  ] as const)('%s: what somebody is in a class', (roles, said) => {
    const { linesOf } = play({ switches: { roles } })
    const told = linesOf('event').flatMap(({ cmd, data }) => {
      const { onlineUsers = [] } = data as { onlineUsers?: readonly { role: unknown }[] }
      return cmd === 20 ? onlineUsers.map(({ role }) => role) : []
    })
    expect([...new Set(told)].sort()).toEqual(said)
  })
})

describe('crowds counted', () => {
  it('tells of those who leave together as a number alone', () => {
    const { linesOf } = play({ switches: { crowds: 'counted' } })
    const counted = linesOf('event').filter(({ cmd, data }) => {
      const { onlineUsers, offlineUsers, total } = data as Readonly<
        Record<string, readonly unknown[] & number>
      >
      return cmd === 20 && onlineUsers!.length + offlineUsers!.length === 0 && total! > 1
    })
    expect(counted.length).toBeGreaterThan(0)
  })
})

describe('rewardTotal', () => {
  it.each(['total', 'totalReward'] as const)('%s: that is what a reward calls its total', rewardTotal => {
    const rewards = play({ switches: { rewardTotal } })
      .linesOf('event')
      .flatMap(({ data }) => ('rewardDetails' in data ? (data.rewardDetails as object[]) : []))
    expect(rewards.length).toBeGreaterThan(0)
    const names = new Set(rewards.flatMap(reward => Object.keys(reward)))
    expect(names).toEqual(new Set(['userUuid', 'changedReward', rewardTotal]))
  })
})
