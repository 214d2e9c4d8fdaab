import { describe, expect, it } from 'vitest'
import { minute } from '../harness.ts'
import { makeHarness, nowOf, realtime } from './window-harness.ts'

const settings = {
  ...realtime.settings,
  live: {
    most: 2,
    of: (channel: string) => [{ key: channel, ask: { cname: channel }, step: 20 }],
  },
}
const on = (channel: string) => ({ channel, endedAt: null })
const options = { limits: realtime.limits, settings }

function playing() {
  const harness = makeHarness(undefined, options)
  const keys = async () =>
    (await harness.store.windows('app', 'calls')).map(({ series }) => series).filter(Boolean)
  /** Minutes in which everything is done that can be done. */
  const pass = async (minutes: number) => {
    const purposes: string[] = []
    for (let n = 0; n < minutes; n++) {
      await harness.clock.advance(minute)
      purposes.push(...(await harness.work()))
    }
    return purposes
  }
  return { ...harness, keys, pass }
}

describe('channels that are asked about while something goes on in them', () => {
  it('are followed from their choice on, never more than there is room for', async () => {
    const harness = playing()
    await harness.source.begin()
    expect(await harness.keys()).toEqual([])
    harness.store.live = [on('c'), on('b'), on('a')]
    await harness.pass(2)
    expect(await harness.keys()).toEqual(['c', 'b'])
    const { backlogFrom } = harness.store.window('calls', 'c')
    expect(nowOf(harness) - backlogFrom).toBeLessThan(4 * 60)
    await harness.pass(10)
    expect(harness.store.window('calls', 'c').covered.at(-1)!.to).toBeGreaterThan(nowOf(harness) - 7 * 60)
  })

  it('stay while newer ones come, and are left when they are no longer listed', async () => {
    const harness = playing()
    harness.store.live = [on('b'), on('a')]
    await harness.source.begin()
    harness.store.live = [on('d'), on('c'), on('b'), on('a')]
    await harness.pass(5)
    expect(await harness.keys()).toEqual(['b', 'a'])
    harness.store.live = [on('d'), on('b')]
    await harness.pass(2)
    expect(await harness.keys()).toEqual(['b', 'd'])
    expect(harness.store.closedWindows).toEqual(['calls a'])
  })

  it('have the lowest claim, unless it is over in them or nearly too late', async () => {
    const harness = playing()
    await harness.source.begin()
    await harness.work()
    harness.store.live = [on('a')]
    const jobsOf = async () => {
      const { requests: jobs } = await harness.source.find()
      return jobs.filter(({ purpose, expiresAt }) => purpose && expiresAt > 0).map(({ purpose }) => purpose)
    }
    await harness.clock.advance(minute)
    await harness.source.find()
    await harness.clock.advance(6 * minute)
    expect((await jobsOf()).toSorted()).toEqual(['backfill', 'live'])
    harness.store.live = [{ channel: 'a', endedAt: nowOf(harness) - 60 }]
    await harness.clock.advance(minute)
    expect(await jobsOf()).toEqual(['live', 'live'])
    harness.store.live = [on('a')]
    await harness.clock.advance(minute)
    expect((await jobsOf()).toSorted()).toEqual(['backfill', 'live'])
    await harness.clock.advance(21 * minute)
    expect(await jobsOf()).toEqual(['live', 'live'])
  })

  it('wait on purpose for longer than a round, until it is over in them', async () => {
    const harness = playing()
    await harness.source.begin()
    await harness.work()
    const turn = async () => {
      await harness.source.find()
      return harness.counts.backlog.at(-1)!.turn
    }
    const round = await turn()
    harness.store.live = [on('a')]
    await harness.clock.advance(minute)
    await harness.source.find()
    harness.store.putWindow('calls', { series: '', covered: [{ from: 0, to: nowOf(harness) }] })
    await harness.clock.advance(2 * minute)
    // Seven tenths of forty minutes are behind a question before it goes before others.
    expect(await turn()).toBe(round! + 28 * 60)
    harness.store.live = [{ channel: 'a', endedAt: nowOf(harness) - 60 }]
    await harness.clock.advance(minute)
    expect(await turn()).toBe(round)
  })

  it('are the same after a restart, and those that ended meanwhile are left', async () => {
    const harness = playing()
    const early = nowOf(harness) - 600
    for (const series of ['old', 'ended']) harness.store.putWindow('calls', { series, backlogFrom: early })
    harness.store.live = [on('newest'), on('newer'), on('old')]
    await harness.source.begin()
    expect((await harness.keys()).toSorted()).toEqual(['newest', 'old'])
    expect(harness.store.window('calls', 'old').backlogFrom).toBe(early)
    expect(harness.store.closedWindows).toEqual(['calls ended'])
    await harness.work()
    expect(harness.asked.some(({ from }) => from <= early)).toBe(true)
  })

  it('with half of a character in the name are left out', async () => {
    const harness = playing()
    harness.store.live = [on('\ud800'), on('whole')]
    await harness.source.begin()
    expect(await harness.keys()).toEqual(['whole'])
  })
})
