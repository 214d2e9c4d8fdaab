import { describe, expect, it } from 'vitest'
import { minute, second } from '../harness.ts'
import { day, limits, makeHarness, nowOf, ofCalls, realtime } from './window-harness.ts'

describe('a first start', () => {
  it('has the newest window and the oldest one to ask for', async () => {
    const harness = makeHarness()
    await harness.source.begin()
    const { requests: jobs } = await harness.source.find()
    expect(jobs.map(({ purpose }) => purpose)).toEqual(['live', 'backfill'])
    const [live, oldest] = jobs
    expect(oldest!.expiresAt - nowOf(harness)).toBeLessThan(90)
    expect(live!.expiresAt - nowOf(harness)).toBeGreaterThan(2 * day)
  })

  it('reads all that the plan has available, in as few windows as can be', async () => {
    const harness = makeHarness()
    await harness.source.begin()
    const began = nowOf(harness)
    const done = await harness.work()
    expect(done.filter(purpose => purpose === 'live')).toHaveLength(1)
    expect(harness.asked.length).toBe(Math.ceil((3 * day) / (8 * 3_600)))
    expect(harness.asked[0]!.from).toBeLessThan(began - 3 * day + 90)
    expect(Math.max(...harness.asked.map(({ to }) => to))).toBeGreaterThan(began - 60 - 10)
    const { covered } = harness.progress()
    expect(covered).toHaveLength(1)
    expect(covered[0]!.to).toBeGreaterThan(began - 3_600 - 60 - 5)
  })

  it('asks for what is newest at once again, when the first answer tells the time', async () => {
    const harness = makeHarness(() => {
      harness.offset.known = { ahead: -360 * second, doubt: 0 }
      return { items: [] }
    })
    harness.offset.known = undefined
    await harness.source.begin()
    const askNewest = async () => {
      const { requests } = await harness.source.find()
      const run = requests.find(({ purpose }) => purpose === 'live')?.run()
      await harness.clock.advance(second)
      await run
      return harness.asked.at(-1)!
    }
    const first = await askNewest()
    expect(first.to).toBeLessThan(first.at - 360 - limits.dataDelay)
    const next = await askNewest()
    expect(next.to).toBeGreaterThan(next.at - 360 - limits.dataDelay - 10)
    expect(next.to).toBeLessThan(next.at - 360 - limits.dataDelay)
    expect(await askNewest()).toBe(next)
  })

  it('asks nothing outside the strict bounds of the plan', async () => {
    const harness = makeHarness()
    await harness.source.begin()
    await harness.work()
    for (const { from, to, at } of harness.asked) {
      expect(from).toBeGreaterThan(at - limits.availableData)
      expect(to).toBeLessThan(at - limits.dataDelay)
      expect(to - from).toBeLessThan(limits.timeFrame)
    }
  })
})

describe('a start soon after a process that had read all', () => {
  /** What the process before left of a source; the provider's clock is not known to the one that follows it. */
  async function follow(of: typeof ofCalls | typeof realtime, ahead = 0) {
    const harness = makeHarness(() => {
      if (isTelling) harness.offset.known = { ahead: ahead * second, doubt: 0 }
      return { items: [] }
    }, of)
    let isTelling = true
    harness.offset.known = { ahead: ahead * second, doubt: 0 }
    await harness.source.begin()
    await harness.work()
    await harness.clock.advance(2 * minute)
    const next = harness.restart()
    const before = harness.asked.length
    harness.offset.known = undefined
    return {
      ...harness,
      ...next,
      silence: () => (isTelling = false),
      since: () => harness.asked.slice(before),
    }
  }

  it.each([
    ['calls', ofCalls],
    ['real time', realtime],
  ] as const)('asks for what is newest of %s at once, when one answer has told the time', async (_, of) => {
    const { source, work, since } = await follow(of)
    await source.begin()
    await work()
    const [first, ...others] = since()
    expect(first!.to - first!.from).toBeLessThanOrEqual(60)
    expect(others).not.toEqual([])
    const { to, at } = others.at(-1)!
    expect(to).toBeGreaterThan(at - of.limits.dataDelay - 30)
  })

  it('gives nothing up by a clock of ours that is days ahead, before the provider has told the time', async () => {
    const { source, clock, store, offset } = await follow(realtime)
    clock.jump(2 * day * second)
    await source.begin()
    await source.find()
    expect(store.gaps).toEqual([])
    offset.known = { ahead: -2 * day * second, doubt: 0 }
    await clock.advance(minute)
    await source.find()
    expect(store.gaps).toEqual([])
  })

  it('asks for nothing that a provider whose clock is far behind takes for too young', async () => {
    const { source, work, since } = await follow(ofCalls, -360)
    await source.begin()
    await work()
    expect(since().length).toBeGreaterThan(1)
    for (const { to, at } of since()) expect(to).toBeLessThan(at - 360 - limits.dataDelay)
  })

  it('asks once to learn the time of a provider that does not tell it', async () => {
    const { source, work, since, silence, clock } = await follow(ofCalls)
    silence()
    await source.begin()
    await work()
    const asked = since()
    await clock.advance(second)
    await work()
    expect(since()).toEqual(asked)
    const { to, at } = asked.at(-1)!
    expect(to).toBeGreaterThan(at - limits.dataDelay - 150)
  })

  it('asks nothing of a stream of which nothing would be wanted if the time were known', async () => {
    const hourly = { ...ofCalls.settings, series: [{ key: '', ask: {}, step: 3_600 }], allowedLateness: 0 }
    const { source, work, since } = await follow({ limits: { ...limits, dataDelay: 600 }, settings: hourly })
    await source.begin()
    await work()
    expect(since()).toEqual([])
  })
})
