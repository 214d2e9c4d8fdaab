import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineForgotten, examineRoomForgotten, examineToldBeside } from './forgotten.ts'

const person = { app: 'alpha', kind: 'user', id: 'user-7x' } as const
const masked = 'forgotten-0123456789abcdef'
const own = '{"user_uuid": "user-7x", "message": "hello"}'
const other = '{"user_uuid": "user-7", "message": "of user-7xy"}'

/** What is said where these rows of a table became those. */
async function judge(
  after: readonly string[],
  words: readonly object[] = [],
  table = 'classroom.chat_message',
) {
  const examination = { rows: async () => words } as unknown as Examination
  const before = new Map([[table, [own, other]]])
  const found = await examineForgotten(examination, [person], before, new Map([[table, after]]))
  return found.map(({ kind, text }) => `${kind}: ${text}`)
}

describe('who is forgotten', () => {
  const gone = own.replace('user-7x', masked).replace('hello', '')

  it('stands nowhere, and the others as before', async () => {
    expect(await judge([gone, other])).toEqual([])
  })

  it.each([
    ['whose ID is left', [gone, other, own], /^different: .*user-7x still stands/],
    ['whose ID is left in bytes', [gone, other, '{"body": "\\x757365722d3778"}'], /user-7x still stands/],
    ['whose rows are gone', [other], /^lost: .*2 rows, and are 1/],
    ['with whom another goes', [gone, gone], /^lost: .*of others there was/],
    ['who goes by two names', [gone, gone.replace('0123', '3210'), other], /1 people have 2 pseudonyms/],
  ])('is found where it is one %s', async (_, after, said) => {
    expect(await judge(after)).toContainEqual(expect.stringMatching(said))
  })

  it.each([
    ['is called as before', { user: masked, name: 'Ada', message: '' }, /is called Ada/],
    ['wrote what they wrote', { user: masked, name: masked, message: 'hello' }, /wrote hello/],
  ])('is found where it %s', async (_, words, said) => {
    expect(await judge([gone, other], [words])).toEqual([expect.stringMatching(said)])
  })
})

describe('a room of which everyone is forgotten', () => {
  const row = (incarnation: number, user_uuid: string, message: string, room_uuid = 'r') =>
    JSON.stringify({ app_id: 'alpha', room_uuid, incarnation, user_uuid, message })
  const came = [row(1, 'user-1x', ''), row(2, 'user-2x', '')]
  const wrote = [row(1, 'user-1x', 'hello'), row(2, 'user-2x', 'hello'), row(1, 'user-1x', 'hello', 'other')]
  const gone = [row(1, masked, ''), row(2, masked, '')]
  const judge = (...texts: readonly string[]) => {
    const tables = (attendance: readonly string[], chat: readonly string[]) =>
      new Map([
        ['classroom.attendance', attendance],
        ['classroom.chat_message', chat],
      ])
    return examineRoomForgotten({ app: 'alpha', name: 'r' }, tables(came, wrote), tables(gone, texts))
  }

  it('tells of nobody, whichever class it was, and others tell as before', () => {
    expect(judge(...gone, wrote[2]!)).toEqual([])
  })

  it('is known in what nobody could read of the feed', () => {
    const body = (user: string) => {
      const text = JSON.stringify({ roomUuid: 'r', data: { fromUser: { userUuid: user } } })
      return JSON.stringify({ app_id: 'alpha', series: '', body: `\\x${Buffer.from(text).toString('hex')}` })
    }
    const found = (user: string) =>
      examineRoomForgotten(
        { app: 'alpha', name: 'r' },
        new Map([['classroom.attendance', came]]),
        new Map([['ingest.dead_letter', [body(user)]]]),
      )
    expect(found(masked)).toEqual([])
    expect(found('user-1x').map(({ text }) => text)).toEqual([expect.stringMatching(/user-1x still stands/)])
  })

  it.each([
    ['tells of who was in its first class', [wrote[0]!, gone[1]!, wrote[2]!], /user-1x still stands/],
    ['tells what they wrote', [row(1, masked, 'hello'), gone[1]!, wrote[2]!], /somebody wrote hello/],
    ['has lost a row', [gone[0]!, wrote[2]!], /there were 2 rows, and are 1/],
    ['takes another room with it', [...gone], /of others there was/],
  ])('is found where it %s', (_, texts, said) => {
    expect(judge(...texts).map(({ text }) => text)).toContainEqual(expect.stringMatching(said))
  })
})

describe('a call beside a room of which everyone is forgotten', () => {
  const room = { app: 'alpha', name: 'r' }
  const call = (call_id: string, cname: string) => JSON.stringify({ app_id: 'alpha', call_id, cname })
  const stay = (call_id: string, uid: string) => JSON.stringify({ app_id: 'alpha', call_id, uid })
  const told = (calls: readonly string[], stays: readonly string[]) =>
    new Map([
      ['analytics.call', calls],
      ['analytics.call_session', stays],
    ])
  const calls = [call('c', 'r'), call('d', 'other')]

  it('has its people as they are, and that of the room has none', () => {
    const before = told(calls, [stay('c', '7'), stay('d', '7')])
    const after = told(calls, [stay('c', masked), stay('d', '7')])
    expect(examineRoomForgotten(room, before, after)).toEqual([])
    expect(examineRoomForgotten(room, before, before).map(({ text }) => text)).toEqual([
      expect.stringMatching(/7 was in a call/),
    ])
  })

  it('is found where it has them no more', () => {
    const before = told([call('c', 'r')], [stay('c', masked), stay('e', masked.replace('0', '9'))])
    const later = (uid: string) => told(calls, [stay('c', masked), stay('d', uid)])
    expect(examineToldBeside(room, before, later('7'))).toEqual([])
    expect(examineToldBeside(room, before, later(masked.replace('0', '9')))).toEqual([])
    expect(examineToldBeside(room, before, later(masked))).toMatchObject([
      { kind: 'lost', text: expect.stringMatching(/somebody else is masked/) },
    ])
  })
})
