import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../sandbox/src/seeded.ts'
import { createLoad, MOST_ROOM, type Share } from '../../../src/engine/admission/load.ts'

const { signal: never } = new AbortController()
const kibibyte = 1_024

/** A load of one mebibyte in which answers named by their weight in KiB have been seen before. */
async function loaded(...weights: readonly number[]) {
  const load = createLoad({ heavy: 896 * kibibyte, light: 128 * kibibyte })
  for (const weight of weights) {
    const share = await load.take(`${weight}`, never)
    share!.weigh(weight * kibibyte)
    share!.release()
  }
  const entered: string[] = []
  const shares: Share[] = []
  const enter = (kind: string, signal = never) =>
    load.take(kind, signal).then(share => {
      entered.push(share ? kind : `no ${kind}`)
      if (share) shares.push(share)
    })
  /** Lets whoever may enter do so. */
  const settled = async () => {
    await new Promise(resolve => setImmediate(resolve))
    return entered
  }
  return { enter, entered, shares, settled }
}

it('lets one in that weighs all that there is room for, whatever was there before it', async () => {
  const load = createLoad(MOST_ROOM)
  const random = seededRandom('weights')
  const large = (await load.take('large', never))!
  large.weigh(2 * MOST_ROOM.heavy)
  large.release()
  // What is expected of a kind fades, and is held beside others that end in another order.
  for (let round = 0; round < 3_000; round++) {
    const shares: Share[] = []
    for (const kind of ['a', 'b', 'c']) shares.push((await load.take(kind, never))!)
    for (const share of shares) share.weigh(Math.floor(140_000 + random.next() * 400_000))
    for (const share of shares.sort(() => random.next() - 0.5)) share.release()
    let entered = -1
    void load.take('large', never).then(share => {
      entered = round
      share!.release()
    })
    await new Promise(resolve => setImmediate(resolve))
    expect(entered).toBe(round)
  }
})

describe('answers that are under way', () => {
  it('wait until they fit beside the others', async () => {
    const { enter, shares, settled } = await loaded(400)
    for (let i = 0; i < 4; i++) void enter('400')
    expect(await settled()).toHaveLength(2)
    shares[0]!.release()
    expect(await settled()).toHaveLength(3)
  })

  it('enter in the order in which they came, so that small ones never keep a large one waiting', async () => {
    const { enter, shares, settled } = await loaded(100, 750)
    void enter('100')
    void enter('100')
    void enter('750')
    void enter('100')
    expect(await settled()).toEqual(['100', '100'])
    shares[0]!.release()
    shares[1]!.release()
    expect(await settled()).toEqual(['100', '100', '750', '100'])
  })

  it('go alone where one is larger than all the room there is', async () => {
    const { enter, shares, settled } = await loaded(100, 5_000)
    void enter('100')
    void enter('5000')
    void enter('100')
    expect(await settled()).toEqual(['100'])
    shares[0]!.release()
    expect(await settled()).toEqual(['100', '5000'])
    shares[1]!.weigh(5_000 * kibibyte)
    expect(await settled()).toEqual(['100', '5000'])
    shares[1]!.release()
    expect(await settled()).toEqual(['100', '5000', '100'])
  })

  it('count by what they weigh once they have come', async () => {
    const { enter, shares, settled } = await loaded(600)
    void enter('600')
    void enter('600')
    expect(await settled()).toEqual(['600'])
    shares[0]!.weigh(100 * kibibyte)
    expect(await settled()).toEqual(['600', '600'])
  })

  it('of a kind that nobody has seen are two at a time, and keep no other kind waiting', async () => {
    const { enter, shares, settled } = await loaded(100)
    for (const kind of ['a', 'a', 'a', 'b', 'b', 'b', '100', 'c']) void enter(kind)
    expect(await settled()).toEqual(['a', 'a', 'b', 'b', '100', 'c'])
    shares[0]!.weigh(kibibyte)
    expect(await settled()).toEqual(['a', 'a', 'b', 'b', '100', 'c', 'a'])
    // Nothing was learnt of one that failed.
    shares[2]!.release()
    expect(await settled()).toEqual(['a', 'a', 'b', 'b', '100', 'c', 'a', 'b'])
  })

  it('that are light enter beside heavy ones that do not come', async () => {
    const { enter, settled } = await loaded(800, 4)
    for (const kind of ['800', '800', '4', '800', '4']) void enter(kind)
    expect(await settled()).toEqual(['800', '4', '4'])
  })

  it('that are light are bounded too', async () => {
    const { enter, shares, settled } = await loaded(32)
    for (let i = 0; i < 6; i++) void enter('32')
    expect(await settled()).toHaveLength(4)
    shares[0]!.release()
    expect(await settled()).toHaveLength(5)
  })

  it('are expected to be as heavy as the last ones for a while', async () => {
    const { enter, shares, settled } = await loaded(900)
    void enter('900')
    await settled()
    shares[0]!.weigh(kibibyte)
    void enter('900')
    void enter('900')
    expect(await settled()).toEqual(['900', '900'])
  })

  it('need not wait any longer when nobody wants them', async () => {
    const { enter, shares, settled } = await loaded(100, 900)
    const controller = new AbortController()
    void enter('100')
    void enter('100')
    void enter('900', controller.signal)
    void enter('100')
    expect(await settled()).toEqual(['100', '100'])
    controller.abort()
    expect(await settled()).toEqual(['100', '100', 'no 900', '100'])
    for (const share of shares) share.release()
    for (const share of shares) share.release()
    void enter('900')
    expect(await settled()).toContain('900')
  })
})
