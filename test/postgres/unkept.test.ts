import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJson } from '../../src/http/json.ts'
import { createNotificationStore } from '../../src/postgres/players.ts'
import type { Keeping } from '../../src/postgres/unkept.ts'
import { streams } from '../../src/streams/index.ts'
import { at, commitNext, itemPage, openItems, work } from './analytics.ts'
import { app, me } from './harness.ts'
import { openReplayHarness, type ReadStream, type ReplayHarness, record } from './replay-harness.ts'

/** What is looked for in every row of the database. A name, or what somebody wrote. */
const marker = 'Zacharias'
const ann = { userUuid: 'ann', userName: marker, role: 2 }
const teacher = { userUuid: 'tom', userName: 'Tom', role: 1 }

/** So deep that it is kept as a text. */
const deep = (inner: unknown, levels = 70): unknown =>
  levels === 0 ? inner : { in: deep(inner, levels - 1) }

type Shape = readonly [what: string, stream: ReadStream, item: unknown]

const chat = (data: unknown, more: object = {}) => ({ ...record('r', 1, 3, {}), data, ...more })
const event = (cmd: number, data: unknown, more: object = {}) => ({
  ...record('r', 1, cmd, {}),
  data,
  ...more,
})
const said = { fromUser: teacher, message: marker, type: 1 }

/** What may hold a chat. */
const chats: readonly Shape[] = [
  ['a message', 'room-events', chat(said)],
  ['a message of the feed', 'app-events', chat(said)],
  ['data that is a text', 'room-events', chat(marker)],
  ['data that is the text of JSON', 'room-events', chat(JSON.stringify(said))],
  ['data that is a list', 'room-events', chat([said, marker, [marker]])],
  ['a command that is a text', 'room-events', chat({ text: marker }, { cmd: '3' })],
  [
    'a command that is a text, beside no place',
    'room-events',
    chat({ text: marker }, { cmd: '3', sequence: -1 }),
  ],
  ['no place', 'room-events', chat(marker, { sequence: null })],
  ['a command that cannot be read', 'room-events', chat({ text: marker }, { cmd: 'chat' })],
  ['no command', 'app-events', { ...chat({ text: marker }), cmd: undefined }],
  ['a command of another case', 'room-events', { ...chat({ text: marker }), cmd: undefined, CMD: 3 }],
  ['a message of another type', 'room-events', chat({ ...said, message: [marker] })],
  ['a message that is an object', 'room-events', chat({ ...said, message: { text: marker } })],
  ['fields of another case', 'room-events', chat({ FromUser: teacher, Message: marker })],
  ['fields with dots', 'room-events', chat({ 'fromUser.userUuid': 'tom', 'content.message': marker })],
  ['a type that is a text', 'room-events', chat({ ...said, message: '', type: marker })],
  ['a sender that is a text', 'room-events', chat({ ...said, message: '', fromUser: marker })],
  ['a sender that says more', 'room-events', chat({ fromUser: { ...teacher, says: marker }, message: '' })],
  [
    'a sender whose ID is an object',
    'room-events',
    chat({ fromUser: { userUuid: { a: marker } }, message: '' }),
  ],
  ['a message beside its data', 'room-events', chat({}, { text: marker })],
  [
    'a message in the place of its data',
    'room-events',
    { ...chat(undefined), fromUser: teacher, message: marker },
  ],
  ['a version that is a text', 'room-events', chat({}, { version: marker })],
  ['what is nested deep', 'room-events', chat({ ...said, message: deep(marker) })],
  ['what is nested deep in data that is none', 'room-events', chat(deep(said))],
  ['a message within another kind of event', 'room-events', event(7001, { last: [said] })],
  [
    'the same in other case',
    'room-events',
    event(7001, { last: [{ FROMUSER: 'tom', MESSAGE: { a: marker } }] }),
  ],
  ['an event that is a text', 'room-events', `3 ${marker}`],
  ['an event that is a list', 'app-events', [3, marker]],
  ['an event within a list', 'room-events', event(7001, { events: [chat(marker)] })],
]

/** What may hold a name. */
const names: readonly Shape[] = [
  ['of who wrote', 'room-events', chat({ fromUser: ann, message: 'hello' })],
  ['of a sender that is a text', 'room-events', chat({ fromUser: marker, message: 'hello' })],
  ['of a sender that is a list', 'room-events', chat({ fromUser: [marker, ann], message: 'hello' })],
  ['in data that is a text', 'room-events', event(20, `${marker} came`)],
  ['in data that is the text of JSON', 'room-events', event(20, JSON.stringify({ onlineUsers: [ann] }))],
  ['in data that is a list', 'room-events', event(20, [marker, ann])],
  ['of users that are texts', 'room-events', event(20, { onlineUsers: [marker] })],
  ['of users in a text', 'room-events', event(20, { offlineUsers: `${marker}, Tom` })],
  ['of users in lists', 'room-events', event(20, { onlineUsers: [['ann', marker]] })],
  ['of users by their names', 'room-events', event(20, { onlineUsers: { [marker]: { role: 2 } } })],
  ['of users in an object', 'room-events', event(20, { onlineUsers: { list: [marker] } })],
  ['of a user without an ID', 'room-events', event(20, { onlineUsers: [{ name: marker, role: 2 }] })],
  [
    'of a user whose ID cannot be read',
    'room-events',
    event(20, { onlineUsers: [{ ...ann, userUuid: ['ann'] }] }),
  ],
  ['of an ID that is an object', 'room-events', event(20, { onlineUsers: [{ userUuid: { name: marker } }] })],
  ['that is an object', 'room-events', event(20, { onlineUsers: [{ ...ann, userName: { text: marker } }] })],
  ['that is a list', 'room-events', event(20, { onlineUsers: [{ ...ann, userName: [marker] }] })],
  ['of several names', 'room-events', event(20, { onlineUsers: [{ userUuid: 'ann', names: [marker] }] })],
  [
    'of other case',
    'room-events',
    event(20, { onlineUsers: [{ userUuid: 'ann', USERNAME: marker, Nick: marker }] }),
  ],
  ['with a dash', 'room-events', event(20, { onlineUsers: [{ 'user-name': marker }] })],
  [
    'in what else is told of a user',
    'room-events',
    event(20, { onlineUsers: [{ userUuid: 'ann', profile: { name: marker } }] }),
  ],
  [
    'of a user within another',
    'room-events',
    event(20, { onlineUsers: [{ user: { name: marker } }, { user: marker }] }),
  ],
  ['of rewards that are texts', 'room-events', event(1101, { rewardDetails: [marker] })],
  ['of rewards in a text', 'room-events', event(1101, { rewardDetails: marker })],
  [
    'of rewards without IDs',
    'room-events',
    event(1101, { rewardDetails: [{ name: marker, changedReward: 1 }] }),
  ],
  [
    'of who is on the stage',
    'room-events',
    event(1501, { acceptedUsers: [marker], addAcceptedUsers: marker }),
  ],
  [
    'of hands',
    'room-events',
    event(1502, { addProgressUsers: [marker, { userUuid: 'ann', payload: { name: marker } }] }),
  ],
  [
    'of hands, in a text of JSON',
    'room-events',
    event(1502, { addProgressUsers: [{ userUuid: 'ann', payload: JSON.stringify(ann) }] }),
  ],
  [
    'of an operator that is a text',
    'room-events',
    event(1003, { action: 1, operator: marker, resources: [] }),
  ],
  [
    'of an operator in a list',
    'room-events',
    event(1003, { action: 1, operator: [ann], resources: [{ resourceUuid: 'a' }] }),
  ],
  [
    'of who owns a resource',
    'room-events',
    event(1003, { resources: [{ resourceUuid: 'a', owner: marker, ownerName: marker }] }),
  ],
  ['beside the data', 'room-events', event(7001, {}, { operatorName: marker, operator: marker })],
  ['of an unknown event', 'room-events', event(7001, { teacherName: marker, students: [{ name: marker }] })],
  ['of an event that is a text', 'app-events', marker],
  ['of an event that is a list', 'room-events', [marker]],
  ['of an event without a place', 'room-events', event(20, marker, { sequence: 'first' })],
  ['nested deep', 'room-events', event(20, { onlineUsers: [deep(ann)] })],
  ['nested deep in an unknown event', 'room-events', event(7001, deep(ann))],
  ['nested deep beside the data', 'room-events', event(7001, {}, { beside: deep(ann) })],
  ['of who asked a quiz', 'popup-quiz', quiz({ popupQuizId: 'q1', answerState: 1 }, { operator: marker })],
  [
    'of who answered',
    'popup-quiz',
    quiz({ popupQuizId: 'q1', selectedItems: [1] }, { operator: ann, fromUser: marker }),
  ],
  [
    'of who answered, in a list',
    'popup-quiz',
    quiz({ popupQuizId: 'q1', selectedItems: [1] }, { operator: [marker] }),
  ],
  [
    'with dots',
    'popup-quiz',
    quiz({
      'extra.popupQuizId': 'q1',
      'extra.answerState': 1,
      'extra.fromUser.userName': marker,
      'operator.name': marker,
    }),
  ],
  [
    'beside an answer',
    'popup-quiz',
    quiz({ popupQuizId: 'q1', selectedItems: [{ userUuid: 'ann', name: marker }] }),
  ],
  ['of an item that is a text', 'popup-quiz', marker],
  [
    'of a cause that is a text of JSON',
    'popup-quiz',
    quiz({ popupQuizId: 'q1', answerState: 1 }, { cause: JSON.stringify({ by: ann }) }),
  ],
  ['nested deep in a quiz', 'popup-quiz', quiz({ popupQuizId: 'q1', answerState: 1, items: deep(ann) })],
  [
    'of who voted',
    'poll',
    quiz({ pollId: 'p1', selectIndex: [0] }, { operator: { name: marker }, fromUser: ann }),
  ],
  ['of all who voted', 'poll', quiz({ pollId: 'p1', pollDetails: { 0: { num: 1, voters: [marker] } } })],
  [
    'of votes that cannot be read',
    'poll',
    quiz({ pollId: 'p1', pollDetails: { 0: { num: 'x', users: [marker] } } }),
  ],
  ['of a poll that cannot be read', 'poll', quiz({ pollId: 'p1', pollDetails: 'none', userName: marker })],
  ['of a poll without an item', 'poll', [marker]],
  [
    'of a recording',
    'recordings',
    {
      recordId: 'x',
      status: 2,
      url: 'https://r',
      operator: marker,
      recordDetails: [{ url: 'https://r', userName: marker }],
    },
  ],
  ['of a recording that is a text', 'recordings', marker],
  ['of a resource', 'resources', { resourceUuid: 'a', userName: marker, creator: { name: marker } }],
  ['of a resource that is a text', 'resources', marker],
  ['of a resource, nested deep', 'resources', { resourceUuid: 'a', taskProgress: deep(ann) }],
  ['of a player', 'cloud-players', { id: 'p', name: 'camera', userName: marker }],
]

function quiz(changeProperties: object, more: object = {}) {
  return { action: 1, changeProperties, cause: 'because', operator: teacher, ...more }
}

/** Answers that nobody could read, as a whole. */
const answers: readonly (readonly [what: string, body: string])[] = [
  ['a text', `{"code":0,"data":"${marker}"}`],
  ['a text alone', `"${marker}"`],
  ['a list of texts', `{"code":0,"data":{"list":["${marker}"],"total":7}}`],
  ['a list of events', JSON.stringify({ code: 0, data: { total: 9, list: [chat(marker)] } })],
  ['events without a command', JSON.stringify({ code: 0, data: [{ ...chat(marker), cmd: null }] })],
  ['events as texts', JSON.stringify({ code: 0, data: [JSON.stringify(event(20, { onlineUsers: [ann] }))] })],
  ['what is nested deep', JSON.stringify({ code: 0, data: deep(ann, 5) })],
  ['what is nested without end', `${'['.repeat(20_000)}"${marker}"${']'.repeat(20_000)}`],
  ['half of an answer', `{"code":0,"data":{"list":[{"userName":"${marker}`],
]

const kept = new Map<string, ReplayHarness>()
const keepings: Readonly<Record<string, Keeping>> = {
  neither: { chat: 'on', names: 'on' },
  both: { chat: 'off', names: 'off' },
  chats: { chat: 'off', names: 'on' },
  names: { chat: 'on', names: 'off' },
}
beforeAll(async () => {
  for (const [name, keeping] of Object.entries(keepings)) {
    kept.set(name, await openReplayHarness({ keeping }))
  }
})
afterAll(async () => {
  for (const harness of kept.values()) await harness.close()
})

let count = 0

/** A marker of its own in what is told, so that each test finds its own leak. */
function marked(told: unknown): { readonly text: string; readonly mark: string; readonly room: string } {
  const [mark, room] = [`${marker}${++count}e`, `r${count}`]
  const text = typeof told === 'string' ? told : JSON.stringify(told)
  return { text: text.replaceAll(marker, mark).replaceAll('"r"', `"${room}"`), mark, room }
}

/** Tables of which a row holds the marker, whatever its column and however it is written there. */
async function holding({ db }: ReplayHarness, mark: string): Promise<readonly string[]> {
  const all = await db.rows(`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
      and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')`)
  const hex = Buffer.from(mark).toString('hex')
  const each = all.map(
    ({ name }) => `select '${name}' as name where exists (
      select from ${name} t where t::text ilike '%${mark}%' or t::text like '%${hex}%')`,
  )
  return (await db.rows(each.join(' union all '))).map(({ name }) => String(name))
}

/** Commits a page that holds the item, as it comes over the wire; answers where the marker of it is found then. */
async function findAfter(harness: ReplayHarness, [, stream, told]: Shape): Promise<readonly string[]> {
  const { text, mark, room } = marked(typeof told === 'string' ? JSON.stringify(told) : told)
  if (stream === 'cloud-players') await harness.db.store.follow(me, app, stream, '')
  else if (stream !== 'room-events') {
    await harness.read('room-events', room, { items: [record(room, 0, 1, { state: 1 })] })
  }
  await harness.read(stream, room, { items: [decodeJson(Buffer.from(text)) as object] })
  return holding(harness, mark)
}

/** Sets an answer aside that nobody could read; answers where the marker of it is found then. */
async function findAfterAnswer(harness: ReplayHarness, body: string): Promise<readonly string[]> {
  const { text, mark } = marked(body)
  const letter = { app, stream: 'app-events', series: '', reason: 'malformed', detail: 'no answer' } as const
  await harness.db.store.deadLetter({ ...letter, body: Buffer.from(text), alike: 'by body' })
  return holding(harness, mark)
}

it.each([chats[0]!, names[0]!])('what is kept is found: %s', async (...shape) => {
  expect(await findAfter(kept.get('neither')!, shape)).toContain('classroom.room_event')
})

describe.each(['both', 'chats'])('where %s are off', name => {
  it.each(chats)('no chat is stored of %s', async (...shape) => {
    expect(await findAfter(kept.get(name)!, shape)).toEqual([])
  })
})

describe.each(['both', 'names'])('where %s are off', name => {
  it.each(names)('no name is stored %s', async (...shape) => {
    expect(await findAfter(kept.get(name)!, shape)).toEqual([])
  })

  it.each([{ UserName: marker }, { user: { nickName: marker } }])(
    'no name is stored of users of calls: %j',
    async more => {
      const harness = kept.get(name)!
      const { text, mark, room } = marked({ sid: 's1', uid: 5, join_ts: at(0), leave_ts: at(9), ...more })
      await harness.db.store.beginWindows(me, app, 'calls', [''], 0)
      await commitNext(harness.db, 'calls', '', { work: [work(room)] })
      const item = (await openItems(harness.db)).find(({ key }) => key === room)!
      const page = { number: 1, item, asked: { appid: app }, items: [JSON.parse(text)], now: at(60) }
      const { rows, rejects } = streams['call-sessions'].toRows(page, null)
      expect(rows['analytics.call_session']).toMatchObject([{ sid: 's1' }])
      await harness.db.store.commitItem(itemPage(item, { rows, rejects }))
      expect(await holding(harness, mark)).toEqual([])
    },
  )

  it('no name is stored of events in an answer that nobody could read', async () => {
    const body = { data: { list: [event(20, { onlineUsers: [marker, ann] })], total: 9 } }
    expect(await findAfterAnswer(kept.get(name)!, JSON.stringify(body))).toEqual([])
  })

  it('no name is stored of a notification', async () => {
    const harness = kept.get(name)!
    const { text, mark, room } = marked({ player: { id: 'p' }, operator: { userName: marker } })
    const notice = { app, noticeId: room, eventType: 4, playerId: 'p', notifiedAt: 0 }
    await createNotificationStore(harness.db.pool, keepings[name]).keep({
      ...notice,
      payload: JSON.parse(text),
    })
    expect(await holding(harness, mark)).toEqual([])
  })
})

describe.each(['both', 'chats', 'names'])('where %s are off', name => {
  it.each(answers)('nothing is stored of an answer that nobody could read: %s', async (_, body) => {
    const harness = kept.get(name)!
    const { text, mark } = marked(body)
    const letter = {
      app,
      stream: 'app-events',
      series: '',
      reason: 'malformed',
      detail: 'no answer',
    } as const
    await harness.db.store.deadLetter({ ...letter, body: Buffer.from(text), alike: 'by body' })
    expect(await holding(harness, mark)).toEqual([])
  })

  it('a replay makes of all of it what is stored', async () => {
    const { tally } = await kept.get(name)!.compare()
    expect(tally.tables()).toEqual([])
  })
})
