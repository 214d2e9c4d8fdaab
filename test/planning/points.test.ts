import { describe, expect, it } from 'vitest'
import { withoutValue } from '../../src/planning/points.ts'

const hour = 3_600
const noon = 20_000 * 24 * hour + 12 * hour

describe('what an answer lacks', () => {
  it('is nothing where each step has its value, and the end of the frame counts for the next one', () => {
    const boundaries = Array.from({ length: 25 }, (_, n) => noon + n * hour)
    expect(withoutValue({ from: noon, to: noon + 24 * hour }, hour, boundaries)).toEqual([])
  })

  it('is all of it where the answer is empty', () => {
    const range = { from: noon, to: noon + 40 * 60 }
    expect(withoutValue(range, 20, [])).toEqual([range])
  })

  it('is each step alone, with its neighbours where they are missing too', () => {
    const received = [noon, noon + 60, noon + 80]
    expect(withoutValue({ from: noon, to: noon + 120 }, 20, received)).toEqual([
      { from: noon + 20, to: noon + 60 },
      { from: noon + 100, to: noon + 120 },
    ])
  })

  it('is not a step whose value is dated anywhere in it', () => {
    expect(withoutValue({ from: noon, to: noon + 40 }, 20, [noon + 19, noon + 39])).toEqual([])
  })
})
