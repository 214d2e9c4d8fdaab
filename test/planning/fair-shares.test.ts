import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fairShares } from '../../src/planning/fair-shares.ts'

const same = (replicas: number, knows: readonly number[]) => Array.from({ length: replicas }, () => knows)
const sharesOf = (knows: readonly (readonly number[])[]) =>
  knows.map((_, replica) => fairShares(knows, replica).reduce((sum, { share }) => sum + share, 0))

describe('the fair shares', () => {
  it('of one are everything', () => {
    expect(sharesOf([Array(64).fill(1)])).toEqual([64])
  })

  it.each([
    [2, [32, 32]],
    [3, [22, 21, 21]],
    [5, [13, 13, 13, 13, 12]],
  ])('of %i replicas that know the same differ by one at most', (replicas, shares) => {
    expect(sharesOf(same(replicas, Array(64).fill(3)))).toEqual(shares)
  })

  it('spread shards with apps as evenly as all of them', () => {
    const knows = Array.from({ length: 64 }, (_, shard) => Number(shard < 10))
    const shares = same(3, knows).map((_, replica, all) => fairShares(all, replica))
    expect(shares.map(([apps]) => apps!.share)).toEqual([4, 3, 3])
    expect(sharesOf(same(3, knows))).toEqual([22, 21, 21])
  })

  it('give a shard with an app that one replica alone knows to that replica', () => {
    const former = [1, 1, 1, 1, 1, 1]
    const newer = [1, 1, 2, 1, 1, 1]
    const knows = [former, former, newer]
    const onlyNewer = knows.map((_, replica) =>
      fairShares(knows, replica).find(({ shards }) => shards.includes(2)),
    )
    expect(onlyNewer).toEqual([
      { shards: [2], share: 0 },
      { shards: [2], share: 0 },
      { shards: [2], share: 1 },
    ])
    expect(sharesOf(knows)).toEqual([2, 2, 2])
  })

  it('give nothing to replicas that know less of everything', () => {
    expect(sharesOf([...same(2, [1, 1, 1]), [2, 2, 2]])).toEqual([0, 0, 3])
  })

  it('are of every shard once, whatever the replicas know', () => {
    const lists = fc.integer({ min: 1, max: 70 }).chain(shards =>
      fc.array(fc.array(fc.nat(3), { minLength: shards, maxLength: shards }), {
        minLength: 1,
        maxLength: 8,
      }),
    )
    fc.assert(
      fc.property(lists, knows => {
        const first = fairShares(knows, 0)
        expect(first.flatMap(({ shards }) => shards).toSorted((a, b) => a - b)).toEqual([...knows[0]!.keys()])
        for (const [kind, { shards }] of first.entries()) {
          const shares = knows.map((_, replica) => fairShares(knows, replica)[kind]!.share)
          expect(shares.reduce((a, b) => a + b)).toBe(shards.length)
          const most = Math.max(...knows.map(each => each[shards[0]!]!))
          for (const [replica, share] of shares.entries()) {
            if (knows[replica]![shards[0]!]! < most) expect(share).toBe(0)
          }
        }
      }),
    )
  })
})
