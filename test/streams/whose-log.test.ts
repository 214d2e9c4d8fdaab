import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Page } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const stream = streams['room-events']

function chat(sequence: number | bigint) {
  return { roomUuid: 'algebra-7b', cmd: 3, sequence, data: { fromUser: { userUuid: 'ann' }, message: 'hi' } }
}

function read(parts: Partial<Page>, streamState: Json = null) {
  return stream.toRows(pageOf(parts), streamState)
}

/** Whether a log is still that of the room that is known, or of the next one of its name. */

it('a probe that shows the whole log reads on in it', () => {
  const known = read({ items: [chat(1)], nextId: 'n1' })
  const probe = read({ items: [chat(1), chat(2)], purpose: 'probe' }, known.streamState)
  expect(probe.follow).toBe('next')
  expect(probe.rows['classroom.room_event']).toHaveLength(2)
})

it('a log that begins with sequences not seen before is that of another room', () => {
  const known = read({ items: [chat(50), chat(51)] }, { incarnation: 2 })
  const other = read({ items: [chat(1)] }, known.streamState)
  expect(other.room).toEqual({ kind: 'incarnation', incarnation: 3, opens: true })
})

describe('a log whose first events have no time of their own', () => {
  const log = (words: readonly string[]) =>
    words.map((message, n) => ({ ...chat(n + 1), data: { fromUser: { userUuid: 'ann' }, message } }))
  const said = Array.from({ length: 20 }, (_, n) => `so ${n}`)
  const known = read({ items: log(said) })

  it('is that of another room when most of them say something else', () => {
    const items = log(Array.from({ length: 23 }, (_, n) => `or ${n}`))
    const other = read({ items }, known.streamState)
    expect(other.room).toEqual({ kind: 'incarnation', incarnation: 2, opens: true })
    expect(other.rows['classroom.room_event']).toHaveLength(23)
    expect(read({ items }, other.streamState).room).toEqual({
      kind: 'incarnation',
      incarnation: 2,
      opens: false,
    })
  })

  it.each([
    ['one of them', 3, 4],
    ['what comes after the first ten', 10, 20],
  ])('is that of the same room when %s says something else', (_, from, to) => {
    const items = log(said.map((message, n) => (n >= from && n < to ? 'else' : message)))
    expect(read({ items }, known.streamState).room).toMatchObject({ incarnation: 1, opens: false })
  })

  it('is that of the same room when one event has the time that it had, whatever the others say', () => {
    const start = {
      roomUuid: 'algebra-7b',
      cmd: 1,
      sequence: 0,
      data: { state: 1, startTime: 1_767_222_000_000 },
    }
    const { streamState } = read({ items: [start, ...log(said)] })
    const items = [start, ...log(said.map(message => `${message}?`))]
    expect(read({ items }, streamState).room).toMatchObject({ incarnation: 1, opens: false })
  })

  describe('and are told one a page', () => {
    /** Reads on until another room is opened or everything is read; a probe, where the log is known. */
    const follow = (words: readonly string[], streamState: Json = null) => {
      let [at, toRows] = [0, read({ items: [] }, streamState)]
      for (let reads = 0; reads < 50 && at < words.length; reads++) {
        const place = at === 0 ? { purpose: 'probe' as const } : { cursor: `n${at}` }
        const onwards = at + 1 < words.length ? { nextId: `n${at + 1}` } : {}
        toRows = read({ items: [log(words)[at]!], ...onwards, ...place }, toRows.streamState)
        if (toRows.follow === 'next') at += 1
        else if (stream.rereads(toRows.streamState))
          [at, toRows] = [0, { ...toRows, streamState: stream.rewind(toRows.streamState) }]
        else break
        if (toRows.room.kind === 'incarnation' && toRows.room.opens) break
      }
      return { at, harvest: toRows }
    }
    const told = follow(said).harvest.streamState

    it('is that of another room as soon as most of them say something else, read anew from the beginning', () => {
      const { at, harvest: toRows } = follow([said[0]!, said[1]!, 'or', 'so', 'else', 'or what'], told)
      expect(at).toBe(1)
      expect(toRows.room).toEqual({ kind: 'incarnation', incarnation: 2, opens: true })
      expect(toRows.rows['classroom.room_event']).toHaveLength(1)
    })

    it('is read on until it is known again, and stays that of its room', () => {
      const { at, harvest: toRows } = follow(said, told)
      expect(at).toBe(said.length)
      expect(toRows.room).toEqual({ kind: 'incarnation', incarnation: 1, opens: false })
    })

    it('proves nothing of its room until it is known again, or is another one', () => {
      const first = read({ items: [log(said)[0]!], nextId: 'n1', purpose: 'probe' }, told)
      expect(first.isUndecided).toBe(true)
      const second = read(
        { items: [log(['so 0', 'or 1'])[1]!], cursor: 'n1', nextId: 'n2' },
        first.streamState,
      )
      expect(second.isUndecided).toBe(true)
      const third = read(
        { items: [log(['', '', 'or 2'])[2]!], cursor: 'n2', nextId: 'n3' },
        second.streamState,
      )
      expect(third).toMatchObject({ follow: 'stay', isUndecided: true })
      expect(follow(said.slice(0, 10), told).harvest.isUndecided).toBeUndefined()
    })

    it.each([
      ['is not begun again while it is being read', true, 'stay'],
      ['is begun again where the room was gone since a part of it was read', false, 'next'],
    ] as const)('%s', (_, isUnderWay, follow) => {
      const probe = { items: [log(said)[0]!], nextId: 'n1', purpose: 'probe', isUnderWay } as const
      const { streamState } = read({ ...probe, purpose: 'read' }, told)
      expect(read(probe, streamState)).toMatchObject({ streamState, follow })
    })
  })

  describe('and end with one that has a time, as a class that people come to before it starts', () => {
    const start = (minute: number) => ({
      ...{ roomUuid: 'algebra-7b', cmd: 1, sequence: 21 },
      data: { state: 1, startTime: 1_767_222_000_000 + minute * 60_000 },
    })
    const lesson = [...log(said), start(0), ...[22, 23].map(chat)]
    const next = [...log(said), start(45), chat(22)]
    const before = read({ items: lesson }).streamState

    it('is that of another room where that time is another, though all of them say the same', () => {
      const other = read({ items: next, purpose: 'probe' }, before)
      expect(other.room).toEqual({ kind: 'incarnation', incarnation: 2, opens: true })
      expect(other.rows['classroom.room_event']).toHaveLength(22)
      expect(read({ items: lesson, purpose: 'probe' }, before)).toMatchObject({ room: { opens: false } })
    })

    it('is that of another room where half of them say something else', () => {
      const items = next.map(item =>
        Number(item.sequence) % 2 > 0 ? item : { ...item, data: { ...item.data, n: 1 } },
      )
      expect(read({ items }, before).room).toMatchObject({ incarnation: 2, opens: true })
    })

    it('proves nothing of its room while it does not reach that far', () => {
      for (const count of [10, 15, 20])
        expect(read({ items: next.slice(0, count), purpose: 'probe' }, before)).toMatchObject({
          ...{ isUndecided: true, room: { incarnation: 1, opens: false } },
        })
      expect(read({ items: lesson.slice(0, 21), purpose: 'probe' }, before).isUndecided).toBeUndefined()
    })

    it('is read on until it reaches that far, where it is told in pages', () => {
      const first = { items: next.slice(0, 15), nextId: 'n1', purpose: 'probe' } as const
      const page = read(first, before)
      expect(page).toMatchObject({ isUndecided: true, follow: 'next' })
      const second = read({ items: next.slice(15), cursor: 'n1' }, page.streamState)
      expect(second).toMatchObject({ isUndecided: true, follow: 'stay' })
      const anew = read(first, stream.rewind(second.streamState))
      expect(anew.room).toEqual({ kind: 'incarnation', incarnation: 2, opens: true })
      const same = read({ items: lesson.slice(15), cursor: 'n1' }, page.streamState)
      expect(same).toMatchObject({ room: { incarnation: 1, opens: false } })
      expect(same.isUndecided).toBeUndefined()
    })

    it('learns it from a later reading, and once', () => {
      const short = read({ items: lesson.slice(0, 20) }).streamState
      const whole = read({ items: lesson }, short).streamState
      expect(read({ items: next }, whole).room).toMatchObject({ opens: true })
      expect(read({ items: next }, short).room).toMatchObject({ opens: false })
      expect(read({ items: [...lesson, start(90)].slice(0, 23) }, whole).streamState).toEqual(whole)
    })
  })

  it('is known again by the order of no keys, and where nobody has kept what they said', () => {
    const turned = log(said).map(item => ({
      ...item,
      data: Object.fromEntries(Object.entries(item.data).toReversed()),
    }))
    expect(read({ items: turned }, known.streamState).room).toMatchObject({ opens: false })
    const old = {
      incarnation: 1,
      fingerprint: '1.3.~ 2.3.~',
      seen: 2,
      caughtUp: true,
    }
    const again = read({ items: log(said) }, old)
    expect(again.room).toMatchObject({ opens: false })
    expect((again.streamState as typeof old).fingerprint).toEqual(
      (known.streamState as typeof old).fingerprint,
    )
  })
})
