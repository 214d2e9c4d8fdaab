import { expect, it } from 'vitest'
import { shardOf } from '../../src/engine/ports/ledger.ts'

/** FNV-1a, 32 bits: the first three are test vectors of its authors ('' 811c9dc5, 'a' e40c292c, 'foobar' bf9cf968). */
it.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('the hash of %j is the one of every other process and release', (app, hash) => {
  expect(shardOf(app, 2 ** 32)).toBe(hash)
  expect(shardOf(app, 64)).toBe(hash % 64)
})

it('ten thousand apps spread evenly over the shards', () => {
  const counts = Array<number>(64).fill(0)
  for (let i = 0; i < 10_000; i++) counts[shardOf(`app-${i}`, 64)]! += 1
  expect(Math.min(...counts)).toBeGreaterThan(100)
  expect(Math.max(...counts)).toBeLessThan(220)
})
