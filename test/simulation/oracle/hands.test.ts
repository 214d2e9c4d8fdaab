import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { type Create, examineHands, type Hand } from './hands.ts'

interface Made {
  readonly id: string
  readonly streamUrl: string
  readonly region: string
  readonly createdAt: number
  readonly destroyedAt?: number
}

const one: Made = { id: 'p1', streamUrl: 'rtmp://a/1', region: 'eu', createdAt: 1 }
const gone: Made = { id: 'p2', streamUrl: 'rtmp://a/2', region: 'ap', createdAt: 2, destroyedAt: 5 }
const asked: Hand = { act: 'create', app: 'a', streamUrl: 'rtmp://a/1', id: 'p1', end: 'done', at: 3 }
const ended: Hand = { act: 'destroy', app: 'a', destroys: 'p2', end: 'done', at: 5 }

async function judge(
  hands: readonly Hand[],
  players: readonly Made[] = [one, gone],
  region = 'eu',
  refused: readonly object[] = [],
) {
  const rows = async () => [{ key: 'a p1', region }]
  const sandbox = { players: () => players, arrivals: { count: refused.length, list: () => refused } }
  const examination = { sandbox, rows, hands, isEnd: true } as unknown as Examination
  return (await examineHands(examination)).map(({ kind, text }) => `${kind}: ${text}`)
}

describe('players that are made by hand', () => {
  it('are well where each was made once, and told of truly', async () => {
    const unsettled: Hand = { act: 'create', app: 'a', streamUrl: 'rtmp://a/2', end: 'unsettled', at: 3 }
    expect(await judge([asked, ended, unsettled])).toEqual([])
  })

  it('are written down before they are asked for', async () => {
    const create: Create = { app: 'a', name: 'n', at: 1_000 }
    const found = async (creates: readonly Create[], at: number) => {
      const rows = async (text: string) =>
        text.includes('attempts') ? [{ app: 'a', name: 'n', at }] : [{ key: 'a p1', region: 'eu' }]
      const sandbox = { players: () => [one], arrivals: { count: 0, list: () => [] } }
      const examination = { sandbox, rows, hands: [asked], creates, isEnd: true } as unknown as Examination
      return examineHands(examination)
    }
    expect(await found([create], 990)).toEqual([])
    expect(await found([create], 1_400)).toEqual([
      { kind: 'different', text: expect.stringContaining('n of a was asked for 400 ms before') },
    ])
    // Of a name that was used again nobody knows which of the two is written down.
    expect(await found([create, { ...create, at: 1_500 }], 1_400)).toEqual([])
  })

  it('are not made twice', async () => {
    const found = await judge([asked], [one, { ...one, id: 'p3' }])
    expect(found).toEqual([expect.stringMatching(/^duplicate: .*rtmp:\/\/a\/1 of a was made 2 times/)])
  })

  it('are made again where the provider has destroyed the first meanwhile', async () => {
    const first = { ...one, id: 'p0', createdAt: 0, destroyedAt: 1 }
    expect(await judge([asked], [one, first])).toEqual([])
    expect(await judge([asked], [one, { ...first, destroyedAt: 2 }])).toHaveLength(1)
  })

  it('are not those of strangers', async () => {
    expect(await judge([{ ...asked, id: 'p2' }])).toEqual([
      expect.stringMatching(/^different: .*p2 of a is another than was wanted/),
    ])
  })

  it('are not refused though they were made', async () => {
    const { id: _, ...refused } = asked
    expect(await judge([{ ...refused, end: 'conflict' }])).toEqual([
      expect.stringMatching(/^lost: .*p1 of a was made/),
    ])
  })

  it('are too many, and not asked for too often, where the provider has its quota of them', async () => {
    const { id: _, ...refused } = asked
    const hasty: Hand = { ...refused, end: 'rate_limited' }
    const arrival = { app: 'a', operation: 'createPlayer', status: 429 }
    const judgeRefusal = (refusal: object) => judge([hasty], [], 'eu', [refusal])
    expect(await judgeRefusal(arrival)).toEqual([
      expect.stringMatching(/^different: .*a is said to ask too often/),
    ])
    expect(await judgeRefusal({ ...arrival, fault: 'status' })).toEqual([])
  })

  it('do not live on when they are said to be destroyed', async () => {
    expect(await judge([{ ...ended, destroys: 'p1' }])).toEqual([
      expect.stringMatching(/^different: .*p1 of a is said to be destroyed/),
    ])
    expect(await judge([{ ...ended, at: 4 }])).toEqual([
      expect.stringMatching(/^different: .*p2 of a is said to be destroyed/),
    ])
  })

  it('are found where they are', async () => {
    const missed: Hand = { ...ended, destroys: 'p1', region: 'eu', end: 'not_found' }
    expect(await judge([missed])).toEqual([
      expect.stringMatching(/^different: .*p1 of a is said to be nowhere/),
    ])
    expect(await judge([{ ...missed, region: 'ap' }])).toEqual([])
    const last: Hand = { ...missed, destroys: 'p2', region: 'ap' }
    expect(await judge([last])).toEqual([])
    expect(await judge([{ ...last, at: 4 }])).toHaveLength(1)
  })

  it('are known to be where they were made', async () => {
    expect(await judge([asked], [one], 'ap')).toEqual([
      expect.stringMatching(/^different: .*p1 of a is in eu, not in ap/),
    ])
  })
})
