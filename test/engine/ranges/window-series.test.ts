import { describe, expect, it } from 'vitest'
import {
  isMalformedAgain,
  newSeries,
  noteAnswered,
  noteFailedAsGroup,
  noteMalformed,
  noteWhole,
  type SeriesState,
  trustSeries,
} from '../../../src/engine/ranges/window-series.ts'
import type { Range } from '../../../src/planning/ranges.ts'

const whole = { from: 0, to: 80 }
const [left, right] = [
  { from: 0, to: 40 },
  { from: 40, to: 80 },
]

/** It was malformed before, whatever of it was asked for then. */
function malformedAgain(state: SeriesState, range: Range) {
  isMalformedAgain(state, range)
  return noteMalformed(state, range, 20)
}

describe('a window whose answers are malformed', () => {
  it('is parted, and one part further only once something else was read', () => {
    const state = newSeries(0)
    malformedAgain(state, whole)
    expect(state.parts).toEqual([left, right])
    malformedAgain(state, left)
    expect(state.parts).toEqual([right, left])
    noteWhole(state, right)
    malformedAgain(state, left)
    expect(state.parts).toEqual([
      { from: 0, to: 20 },
      { from: 20, to: 40 },
    ])
  })

  it('is asked for whole again where no part of it can be read', () => {
    const state = newSeries(0)
    for (const range of [whole, left, right]) expect(malformedAgain(state, range)).toBe('asked again')
    expect(state.parts).toEqual([])
  })

  it('is given up in one step alone, and only where another was read', () => {
    const state = newSeries(0)
    const [first, second] = [
      { from: 0, to: 20 },
      { from: 20, to: 40 },
    ]
    malformedAgain(state, { from: 0, to: 40 })
    expect(malformedAgain(state, first)).toBe('asked again')
    noteWhole(state, second)
    expect(malformedAgain(state, first)).toBe('spoilt')
  })

  it('is not given up before it was asked for alone twice, whatever was read beside it', () => {
    const state = newSeries(0)
    const [first, second] = [
      { from: 0, to: 20 },
      { from: 20, to: 40 },
    ]
    malformedAgain(state, { from: 0, to: 40 })
    noteWhole(state, { from: 40, to: 80 })
    expect(malformedAgain(state, first)).toBe('asked again')
    expect(state.parts).toEqual([first, second])
    expect(malformedAgain(state, first)).toBe('spoilt')
    expect(malformedAgain(state, second)).toBe('asked again')
  })
})

describe('series that fail', () => {
  const failing = () => ({ ...newSeries(0), isFailing: true, failures: 3, notBefore: 500 })

  it('are trusted when another one is answered again, until they fail again', () => {
    const other = failing()
    trustSeries([other], 100)
    expect(other).toMatchObject({ isFailing: false, failures: 0, notBefore: 100 })
    Object.assign(other, { isFailing: true, failures: 1, notBefore: 600 })
    trustSeries([other], 200)
    expect(other).toMatchObject({ isFailing: true, failures: 1, notBefore: 600 })
  })
  it('as the group may are blamed for it only where others are answered between their failures', () => {
    const one = newSeries(0)
    expect([5, 5, 5, 5].map(answers => noteFailedAsGroup(one, answers))).not.toContain(true)
    expect([6, 7].map(answers => noteFailedAsGroup(one, answers))).toEqual([false, true])
    noteAnswered(one)
    expect(noteFailedAsGroup(one, 9)).toBe(false)
  })
})
