import { describe, expect, it } from 'vitest'
import { ourClocks } from './our-clocks.ts'

/** One process whose clock is set back by 60 at 100, and one that lives from 300 to 400 with a clock that is right. */
const clocks = ourClocks({
  clocks: [
    { from: 0, to: 100, ahead: 0 },
    { from: 100, to: 200, ahead: -60 },
    { from: 300, to: 400, ahead: 0 },
  ],
})
const isWithin = (shown: unknown, from: number, to: number) => clocks.between(from, to).allows(shown, {})

describe('a time of our clocks', () => {
  it('was shown when one of them, as it was set, came to it', () => {
    expect(clocks.momentsOf(30)).toEqual([{ from: 30, to: 30 }])
    expect(clocks.momentsOf(70)).toEqual([
      { from: 70, to: 70 },
      { from: 130, to: 130 },
    ])
    expect([clocks.momentsOf(250), clocks.momentsOf(null)]).toEqual([[], []])
  })

  it('is early where the clock was behind, and nowhere else', () => {
    expect([isWithin(70, 120, 140), isWithin(70, 140, 200), isWithin(310, 320, 400)]).toEqual([
      ...[true, false, false],
    ])
  })

  it('that was put off until after another one may have been shown any time before', () => {
    expect(clocks.momentsAfter(91, 90)).toEqual([
      { from: 0, to: 91 },
      { from: 100, to: 151 },
    ])
    expect(clocks.momentsAfter(92, 90)).toEqual(clocks.momentsOf(92))
    expect(clocks.momentsAfter(91, undefined)).toEqual(clocks.momentsOf(91))
  })

  it('is that of the world where nothing is known of them', () => {
    const [from, to] = [10, 20]
    expect([9, 10, 20, 21].map(shown => ourClocks({}).between(from, to).allows(shown, {}))).toEqual([
      ...[false, true, true, false],
    ])
  })
})
