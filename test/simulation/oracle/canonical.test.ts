import { describe, expect, it } from 'vitest'
import { canonical, isSame } from './canonical.ts'

const values: readonly unknown[] = [
  ...[null, undefined, 0, -0, 1, '1', '', true, false, Number.NaN, Number.POSITIVE_INFINITY],
  ...[[], {}, [1], [1, 2], [2, 1], [undefined], [null], { a: 1 }, { a: undefined }, { a: null }, { b: 1 }],
  ...[
    { a: 1, b: [2, { c: 3, d: 4 }] },
    { b: [2, { d: 4, c: 3 }], a: 1 },
    { a: 1, b: [2, { c: 3, d: 5 }] },
  ],
  ...[{ constructor: 1 }, { length: 0 }, { 0: 1 }, [[1]], [{ a: 1 }], '[]', '{}', 'null'],
]

describe('two values', () => {
  it.each(values.map(value => [canonical(value), value]))(
    '%s is the same as what has its text',
    (text, value) => {
      for (const other of values)
        expect(isSame(value, other), canonical(other)).toBe(text === canonical(other))
    },
  )
})
