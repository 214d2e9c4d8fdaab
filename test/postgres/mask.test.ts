import { describe, expect, it } from 'vitest'
import { Mask, markOf } from '../../src/postgres/mask.ts'
import type { Keeping } from '../../src/postgres/unkept.ts'
import { streams } from '../../src/streams/index.ts'
import { attendance, classroomTables, roomEvent } from '../../src/tables/classroom.ts'
import { tables } from '../../src/tables/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from '../streams/pages.ts'
import { lesson, pollItems, quizItems } from './replay-harness.ts'

const key = Buffer.alloc(32, 7)
const all: Keeping = { chat: 'on', names: 'on' }

function maskOf(
  keeping: Partial<Keeping>,
  ...who: readonly (readonly ['user' | 'uid' | 'room', string])[]
): Mask {
  const marks = new Set(who.map(([kind, id]) => markOf(key, 'school', kind, id)))
  return new Mask('school', { ...all, ...keeping }, { key, marks })
}

/** A number that no double holds. */
const large = (JSON as unknown as { readonly rawJSON: (text: string) => Json }).rawJSON('1e400')

const pseudonym = expect.stringMatching(/^forgotten-[0-9a-f]{16}$/)
const inClass = (mask: Mask, value: Json) => mask.json(value, true, false)

describe('a person is masked', () => {
  const mask = maskOf({}, ['user', 'ann'], ['user', 'anna-lee'], ['uid', '1204'])

  it('wherever an ID stands, with the name beside it, and nobody else', () => {
    const told = {
      users: [
        { userUuid: 'ann', nickName: 'Annie', level: 3 },
        { userUuid: 'bob', nickName: 'Bobby' },
      ],
    }
    expect(inClass(mask, told)).toEqual({
      users: [{ userUuid: pseudonym, nickName: pseudonym, level: 3 }, told.users[1]],
    })
  })

  it('with every name that `store.names` would leave out', () => {
    const called = { nick: 'Annie', alias: 'A', names: 'Ann Lee', 'given-name': 'Ann' }
    const masked = Object.fromEntries(Object.keys(called).map(key => [key, pseudonym]))
    expect(inClass(mask, { userUuid: 'ann', ...called })).toEqual({ userUuid: pseudonym, ...masked })
    expect(inClass(mask, { userUuid: 'bob', ...called })).toEqual({ userUuid: 'bob', ...called })
  })

  it('in a list of IDs, and as a key', () => {
    expect(inClass(mask, { userUuids: ['bob', 'ann'] })).toEqual({ userUuids: ['bob', pseudonym] })
    expect(inClass(mask, { scores: { 'anna-lee': 5 } })).not.toHaveProperty(['scores', 'anna-lee'])
  })

  it('as a word of another text, where it is long enough to mean nothing else', () => {
    expect(inClass(mask, { url: 'https://cdn/avatars/anna-lee.png', cause: 'annex of ann' })).toEqual({
      url: expect.stringMatching(/^https:\/\/cdn\/avatars\/forgotten-\w{16}\.png$/),
      cause: 'annex of ann',
    })
  })

  it.each(['auth0|5f7c8e', 'school:ann/7', 'अनीता-शर्मा', 'ann%40x'])(
    'as a word that has more in it than letters: %s',
    id => {
      const mask = maskOf({}, ['user', id])
      expect(inClass(mask, { cause: `left by ${id}.`, note: `(${id}): late` })).toEqual({
        cause: expect.stringMatching(/^left by forgotten-\w{16}\.$/),
        note: expect.stringMatching(/^\(forgotten-\w{16}\): late$/),
      })
      expect(inClass(mask, { deep: JSON.stringify({ user: id, called: 'Annie' }) })).toEqual({ deep: '' })
      const letter = Buffer.from(`{"userUuid":"${id}","userName":"An`)
      expect(Buffer.from(mask.letter(letter, 'r', true)).toString()).toMatch(/^\[withheld: /)
    },
  )

  it('and what was written, with all that came with it', () => {
    const message = { fromUser: { userUuid: 'ann' }, message: 'it is me', type: 1, mood: 'good' }
    expect(inClass(mask, message)).toEqual({ fromUser: { userUuid: pseudonym }, message: '', type: 1 })
    expect(inClass(mask, { ...message, fromUser: { userUuid: 'bob' } })).toMatchObject({
      message: 'it is me',
      mood: 'good',
    })
  })

  it('with a text of JSON that tells of them, whose names nobody finds', () => {
    const told = JSON.stringify({ user: 'ann', called: 'Annie' })
    const other = JSON.stringify({ user: 'bob', called: 'Bobby' })
    expect(inClass(mask, { deep: told, other })).toEqual({ deep: '', other })
    expect(mask.json({ deep: other }, true, true)).toEqual({ deep: '' })
  })

  it('of calls by another ID than of classrooms', () => {
    expect(inClass(mask, { userUuid: '1204', streamUuid: '1204' })).toEqual({
      userUuid: '1204',
      streamUuid: pseudonym,
    })
    expect(mask.json({ uid: 1204, value: 1204 }, false, false)).toEqual({
      uid: expect.any(Number),
      value: 1204,
    })
    expect(mask.json({ uid: 1204 }, false, false)).not.toEqual({ uid: 1204 })
    expect(mask.json({ value: large }, false, false)).toEqual({ value: large })
  })

  it('never where a text says what something is', () => {
    const role = maskOf({}, ['user', 'teacher'])
    expect(inClass(role, { role: 'teacher', type: 'teacher', recordId: 'teacher' })).toEqual({
      ...{ role: 'teacher', type: 'teacher', recordId: 'teacher' },
    })
  })

  it('by the same pseudonym everywhere, which the key alone can tell', () => {
    const [one] = [inClass(mask, { userUuid: 'ann' })] as [{ userUuid: string }]
    expect(inClass(mask, { operator: { userUuid: 'ann' } })).toEqual({ operator: one })
    const other = new Mask('school', all, {
      key: Buffer.alloc(32, 8),
      marks: new Set([markOf(Buffer.alloc(32, 8), 'school', 'user', 'ann')]),
    })
    expect(inClass(other, { userUuid: 'ann' })).not.toEqual(one)
    expect(inClass(mask, one)).toEqual(one)
  })
})

describe('what is not kept', () => {
  it('of names: none, in no table of classrooms and in no item', () => {
    const mask = maskOf({ names: 'off' })
    const row = {
      room_uuid: 'r',
      sequence: 1,
      ordinal: 0,
      user_uuid: 'ann',
      user_name: 'Ann',
      extra: { nickName: 'Annie' },
    }
    expect(mask.row(attendance, row)).toMatchObject({
      user_uuid: 'ann',
      user_name: null,
      extra: { nickName: null },
    })
    const item = { resourceName: 'plan.pdf', operator: { userUuid: 'tom', userName: 'Tom', name: 'T' } }
    expect(inClass(mask, item)).toEqual({
      resourceName: 'plan.pdf',
      operator: { userUuid: 'tom', userName: null, name: null },
    })
  })

  it('of chats: no text, also where the message could not be read', () => {
    const mask = maskOf({ chat: 'off' })
    const data = { fromUser: { userUuid: 'ann', userName: 'Ann' }, message: 'secret', quoted: 'secret' }
    const event = { room_uuid: 'r', sequence: 1, cmd: 3, data, extra: null }
    expect(mask.row(roomEvent, event)).toMatchObject({ data: { fromUser: data.fromUser, message: '' } })
    const rejects = [
      {
        reason: 'wrong_type',
        detail: 'data.message',
        item: { cmd: 3, data: { ...data, message: ['secret'] } },
      },
    ] as const
    expect(JSON.stringify(mask.page({ rows: {}, rejects, series: 'r' }, classroomTables))).not.toContain(
      'secret',
    )
  })

  it('of names, and nothing else of what has the shape that it should have', () => {
    const mask = maskOf({ names: 'off' })
    const told = {
      ...{ onlineUsers: [{ userUuid: 'ann', role: 'student', level: large }], users: '12' },
      ...{ userUuids: ['ann'], resourceName: '[1] plan.pdf', cause: '"ended"', items: [{ name: 'A' }, 'B'] },
      ...{ cmd: 3, data: { fromUser: { userUuid: 'ann' }, message: '{"a":1}' }, operator: null },
    }
    expect(inClass(mask, told)).toEqual(told)
  })

  it('of chats: all else stays', () => {
    const mask = maskOf({ chat: 'off' })
    const fromUser = { userUuid: 'ann', userName: 'Ann', role: 2 }
    const told = { roomUuid: 'r', cmd: 3, sequence: 7, version: 1, data: { fromUser, message: '', type: 1 } }
    expect(inClass(mask, told)).toEqual(told)
    const came = { cmd: 20, data: { onlineUsers: [fromUser, 'Bob'] } }
    expect(inClass(mask, came)).toEqual(came)
  })

  it.each(['{"message":"half of', 'not JSON at all'])('of bytes that nobody can read: %s', text => {
    const read = (mask: Mask, isClass = true) =>
      Buffer.from(mask.letter(Buffer.from(text), 'r', isClass)).toString()
    expect(read(maskOf({ names: 'off' }))).toMatch(/^\[withheld: \d+ bytes/)
    expect(read(maskOf({ names: 'off' }), false)).toBe(text)
    expect(read(maskOf({}))).toBe(text)
    expect(read(maskOf({}, ['user', 'nobody']))).toBe(text)
  })

  it('nor of bytes that name someone who is forgotten', () => {
    const mask = maskOf({}, ['user', 'anna-lee'])
    const letter = Buffer.from('{"userUuid":"anna-lee","userName":"An')
    expect(Buffer.from(mask.letter(letter, 'r', true)).toString()).toMatch(/^\[withheld: 37 bytes/)
  })
})

describe('rows that are masked', () => {
  const cases = [
    ['of a user', maskOf({}, ['user', 'ann'])],
    ['of a teacher', maskOf({}, ['user', 'tom'])],
    ['of everyone in a room', maskOf({}, ['room', 'r1'])],
    ['without names', maskOf({ names: 'off' })],
    ['without chats', maskOf({ chat: 'off' })],
    ['without either', maskOf({ chat: 'off', names: 'off' }, ['user', 'bob'])],
  ] as const
  const pages = [
    ['room-events', lesson('r1')],
    ['popup-quiz', quizItems],
    ['poll', pollItems],
  ] as const

  /** A replay makes the tables of what is kept raw: of the masked items must come what was stored. */
  it.each(cases)('%s are those that the masked items make', (_, mask) => {
    for (const [name, items] of pages) {
      const read = (told: readonly unknown[]) =>
        streams[name].toRows(pageOf({ series: 'r1', items: told as object[] }), null)
      const stored = mask.page({ ...read(items), series: 'r1' }, tables).rows
      const raw = name === 'room-events' ? stored['classroom.room_event']! : stored['classroom.widget_event']!
      const masked = raw.map(row =>
        'cmd' in row ? { ...row, roomUuid: row.room_uuid, extra: undefined } : row.data,
      )
      const again = mask.page({ ...read(masked), series: 'r1' }, tables).rows
      for (const [table, rows] of Object.entries(again)) {
        const without = (each: object) => ({
          ...each,
          content_hash: '',
          extra: table === 'classroom.room_event' ? null : Reflect.get(each, 'extra'),
        })
        expect(rows.map(without), table).toEqual(Reflect.get(stored, table).map(without))
      }
      const unmasked = read(masked).rows
      for (const [table, rows] of Object.entries(unmasked)) {
        const without = (each: object) => ({
          ...each,
          content_hash: '',
          extra: table === 'classroom.room_event' ? null : Reflect.get(each, 'extra'),
        })
        expect(rows.map(without), table).toEqual(Reflect.get(stored, table).map(without))
      }
    }
  })
})
