import { describe, expect, it } from 'vitest'
import { fence, hour, minute, second } from '../harness.ts'
import { makeHarness } from './item-harness.ts'

describe('an item that cannot be had', () => {
  it('on a page that is refused twice behind full ones has come to its end', async () => {
    const full = Array.from({ length: 3 }, (_, n) => n)
    const { put, work, asked, store } = makeHarness(({ page }) =>
      page === 1 ? { items: full } : 'bad_request',
    )
    put('hundred', 3_600)
    await work()
    expect(asked.map(({ page }) => page)).toEqual([1, 2])
    expect(Object.values(store.states())).toEqual(['pending'])
    store.undefer()
    await work()
    expect(asked.map(({ page }) => page)).toEqual([1, 2, 2])
    expect(Object.values(store.states())).toEqual(['done'])
    expect(store.gaps).toEqual([])
  })

  it('on a page that is refused once, after a failure of a page before it, is asked for that page again', async () => {
    const full = Array.from({ length: 3 }, (_, n) => n)
    const failures = [undefined, 'timeout', undefined, 'bad_request'] as const
    const { put, work, asked, store } = makeHarness(({ page }) => {
      return failures[asked.length - 1] ?? { items: page < 3 ? full : [7] }
    })
    put('hundred', 3_600)
    for (let n = 0; n < 3; n++) {
      await work()
      store.undefer()
    }
    expect(asked.map(({ page }) => page)).toEqual([1, 2, 2, 3, 3])
    expect(Object.values(store.states())).toEqual(['done'])
  })

  it('because its answer is too large is asked for in parts, and what is had that way is no dead letter', async () => {
    const { put, work, asked, store, counts } = makeHarness(({ from, to }) =>
      to - from > 200 ? 'too_large' : { items: [] },
    )
    put('large', 3_600)
    await work()
    expect(asked.filter(({ from, to }) => to - from <= 200)).toHaveLength(4)
    expect([store.gaps, store.letters, counts.letters]).toEqual([[], [], []])
  })

  it('because a process ended while it read the answer is asked for in parts, and the others as ever', async () => {
    const { put, work, asked, store, counts } = makeHarness()
    put('fatal', 3_600, {}, { inHandOf: 'a process that is no more' })
    put('other', 3_000)
    put('mine', 2_900, {}, { inHandOf: fence.owner })
    await work()
    expect(asked.filter(({ call }) => call === 'fatal').map(({ from, to }) => to - from)).toEqual([300, 299])
    expect(asked.filter(({ call }) => call !== 'fatal').map(({ from, to }) => to - from)).toEqual([600, 600])
    expect([store.gaps, store.letters, counts.letters]).toEqual([[], [], []])
  })

  it('because processes ended at it in every size is set aside and a gap, and is not asked for', async () => {
    const { put, work, asked, store, now } = makeHarness()
    put('fatal', 3_600, { to: now - 3_600 }, { inHandOf: 'a process that is no more' })
    put('other', 3_000)
    await work()
    expect(asked.map(({ call }) => call)).toEqual(['other'])
    expect(store.gaps.map(({ series, reason }) => [series, reason])).toEqual([['fatal', 'too_large']])
    expect(store.letters).toMatchObject([{ series: 'fatal', reason: 'too_large' }])
    expect(Buffer.from(store.letters[0]!.body).toString()).toContain('call_id=fatal')
  })

  it('is known to be in hand before a large answer to it is read, and a small one is not written down', async () => {
    const seen: (string | null)[] = []
    const { put, work, store, size } = makeHarness(({ call }) => {
      seen.push(store.item('call-sessions', call).inHandOf)
      return { items: [] }
    })
    put('small', 3_600)
    size.now = 1_000
    await work()
    put('large', 3_600)
    size.now = 2_000_000
    await work()
    expect(seen).toEqual([null, fence.owner])
  })

  it.each([
    ['bad_request', 'refused'],
    ['not_found', 'vanished'],
    ['too_large', 'too_large'],
  ] as const)('because of %s is asked again ever later, and a gap when it expires', async (kind, reason) => {
    const { put, work, asked, store, clock, now } = makeHarness(() => kind)
    put('unwanted', 20 * 3_600, { to: now - 20 * 3_600 })
    const pauses = async () => {
      for (let n = 0; n < 6; n++) {
        await work()
        await clock.advance(30 * minute)
        store.undefer()
      }
      return store.deferrals
    }
    expect(Math.max(...(await pauses()))).toBeGreaterThan(hour)
    expect([asked.length, store.gaps]).toEqual([6, []])
    await clock.advance(2 * hour)
    await work()
    expect(store.gaps.map(gap => gap.reason)).toEqual([reason])
  })

  it('for three hours is had after them', async () => {
    let isWell = false
    const { put, work, store, clock } = makeHarness(() => (isWell ? { items: [] } : 'bad_request'))
    put('unwanted', 3_600)
    for (let n = 0; n < 9; n++) {
      await work()
      await clock.advance(20 * minute)
      store.undefer()
    }
    isWell = true
    await work()
    expect([store.states(), store.gaps]).toEqual([{ 'call-sessions unwanted ': 'done' }, []])
  })

  it('because it was served in no shape that is understood is stored as far as it is, and asked again ever later', async () => {
    const { put, work, store } = makeHarness(({ call }) => ({ items: call === 'odd' ? [-1, 1] : [1] }))
    put('odd', 3_600)
    put('plain', 3_000)
    expect(await work()).toEqual(['live', 'live'])
    expect(store.states()).toEqual({ 'call-sessions odd ': 'pending', 'call-sessions plain ': 'done' })
    for (let n = 0; n < 3; n++) {
      store.undefer()
      expect(await work()).toEqual(['repair'])
    }
    const pauses = store.itemCommits.filter(({ item }) => item.key === 'odd').map(({ again }) => again)
    expect(pauses).toHaveLength(4)
    expect(pauses[0]).toBeGreaterThanOrEqual(30 * second)
    for (const [n, pause] of pauses.entries()) if (n > 0) expect(pause).toBeGreaterThan(pauses[n - 1]!)
  })

  it('because of an error of the server, while the others are answered, is asked again ever later', async () => {
    const { put, work, asked, store, clock } = makeHarness(({ call }) =>
      call === 'broken' ? 'server_error' : { items: [] },
    )
    put('broken', 3 * 3_600)
    for (let n = 0; n < 10; n++) {
      put(`well ${n}`, 2 * 3_600)
      await work()
      await clock.advance(10 * minute)
      store.undefer()
    }
    expect(asked.filter(({ call }) => call === 'broken').length).toBeGreaterThan(8)
    expect(store.deferrals[0]).toBeLessThan(2 * minute)
    expect(Math.max(...store.deferrals)).toBeGreaterThan(hour)
  })

  it('because this program fails on the answer is asked again ever later, and the others go on', async () => {
    const { put, source, asked, clock } = makeHarness(({ call }) =>
      call === 'strange'
        ? {
            get items(): readonly number[] {
              throw new TypeError('nobody thought of this')
            },
          }
        : { items: [] },
    )
    put('strange', 3 * 3_600)
    put('other', 2 * 3_600)
    for (let n = 0; n < 360; n++) {
      const { requests } = await source.find()
      const [job] = requests.toSorted((a, b) => a.expiresAt - b.expiresAt)
      void job?.run()
      await clock.advance(10 * second)
    }
    expect(asked.filter(({ call }) => call === 'other')).toHaveLength(1)
    expect(asked.filter(({ call }) => call === 'strange').length).toBeLessThan(6)
  })

  it('for now is tried again later, and the others go on', async () => {
    let isDown = true
    const { put, work, asked, store } = makeHarness(({ call }) =>
      call === 'a' && isDown ? 'malformed' : { items: [] },
    )
    put('a', 3_600)
    put('b', 3_000)
    await work()
    expect(store.states()).toEqual({ 'call-sessions a ': 'pending', 'call-sessions b ': 'done' })
    isDown = false
    store.undefer()
    expect(await work()).toEqual(['repair'])
    expect(asked.map(({ call }) => call)).toEqual(['a', 'b', 'a'])
  })
})
