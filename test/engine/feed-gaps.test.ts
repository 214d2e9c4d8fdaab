import { describe, expect, it } from 'vitest'
import { createFeedGaps } from '../../src/engine/feed-gaps.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { FakeStore } from './fake-store.ts'

const second = 1_000

describe('an answer of the feed that nobody settled', () => {
  it('is looked for until its request can no longer arrive, and then no more', async () => {
    const clock = new VirtualClock()
    const store = new FakeStore(['room-events'])
    const fence = () => ({ shard: 0, owner: 'me', epoch: 1 })
    const gaps = createFeedGaps({ app: 'app', store, fence, clock, reach: 40 * second })
    const looked = () => store.calls.filter(call => call === 'recordUnread').length
    await clock.advance(second)
    await gaps.review()
    const before = looked()
    gaps.suspect()
    for (let polls = 0; polls < 4; polls++) {
      await clock.advance(10 * second)
      await gaps.review()
    }
    expect(looked() - before).toBe(4)
    await clock.advance(second)
    await gaps.review()
    expect(looked() - before).toBe(5)
    await clock.advance(10 * second)
    await gaps.review()
    expect(looked() - before).toBe(5)
  })
})
