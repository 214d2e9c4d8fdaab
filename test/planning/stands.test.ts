import { describe, expect, it } from 'vitest'
import { isTurnOf, type KnownStand, standOf } from '../../src/planning/stands.ts'

function stand(app: string, asSeries: number, more: Partial<KnownStand> = {}): KnownStand {
  return { app, asApp: 0, asSeries, isUrgent: false, isAwaited: true, ...more }
}
const nothing = { times: 0, series: 4, isUrgent: false }

describe('where an app stands', () => {
  it('moves on by each request, as one app and as so many series', () => {
    const own = standOf('a', { ...nothing, times: 2 }, [stand('a', 3, { asApp: 12 }), stand('b', 1)])
    expect(own).toMatchObject({ asApp: 14, asSeries: 3.5 })
  })

  it('is where those stand who wait, when it comes anew', () => {
    expect(standOf('c', nothing, [stand('a', 7), stand('b', 9)])).toMatchObject({ asSeries: 7 })
  })

  it('is not where somebody stands who waits no more', () => {
    const gone = stand('a', 2, { isAwaited: false })
    expect(standOf('c', nothing, [gone, stand('b', 9)])).toMatchObject({ asSeries: 9 })
  })

  it('is not caught up with after it has been away', () => {
    const away = stand('a', 2, { isAwaited: false })
    expect(standOf('a', nothing, [away, stand('b', 9)])).toMatchObject({ asSeries: 9 })
    expect(standOf('a', nothing, [away, stand('b', 9, { isAwaited: false })])).toMatchObject({ asSeries: 9 })
  })

  it('is kept while it waits, and not lost by being away', () => {
    expect(standOf('a', nothing, [stand('a', 2), stand('b', 9)])).toMatchObject({ asSeries: 2 })
    const ahead = stand('a', 12, { isAwaited: false })
    expect(standOf('a', nothing, [ahead, stand('b', 9)])).toMatchObject({ asSeries: 12 })
  })

  it('begins with nothing', () => {
    expect(standOf('a', nothing, [])).toEqual({ app: 'a', asApp: 0, asSeries: 0, isUrgent: false })
  })
})

describe('a turn', () => {
  it.each([
    ['of whose series had least', stand('a', 2), [stand('b', 3)], true],
    ['not of whose series had more', stand('a', 3), [stand('b', 2)], false],
    ['of either where both had as much', stand('a', 3), [stand('b', 3)], true],
    ['not kept for who waits no more', stand('a', 3), [stand('b', 2, { isAwaited: false })], true],
    ['not taken from oneself', stand('a', 3), [stand('a', 2)], true],
    ['of who would lose something', stand('a', 3, { isUrgent: true }), [stand('b', 2)], true],
    ['not of who loses nothing', stand('a', 2), [stand('b', 3, { isUrgent: true })], false],
  ] as const)('is %s', (_, own, known, is) => {
    expect(isTurnOf(own, known, 1)).toBe(is)
  })

  it('is of the app that had least, where several would lose something', () => {
    const few = stand('few', 9, { asApp: 9, isUrgent: true })
    const many = stand('many', 2, { asApp: 20, isUrgent: true })
    expect([isTurnOf(few, [few, many], 1), isTurnOf(many, [few, many], 1)]).toEqual([true, false])
  })

  it('is of everyone while there is a request for each that waits', () => {
    const known = [stand('b', 2), stand('c', 2, { isUrgent: true }), stand('d', 1, { isAwaited: false })]
    expect([2.9, 3].map(ready => isTurnOf(stand('a', 3), known, ready))).toEqual([false, true])
  })
})
