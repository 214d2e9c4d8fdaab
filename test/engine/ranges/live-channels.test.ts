import { describe, expect, it } from 'vitest'
import { minute } from '../rig.ts'
import { nowOf, realtime, rigged } from './window-rig.ts'

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
  const rig = rigged(undefined, options)
  const keys = async () =>
    (await rig.store.windows('app', 'calls')).map(({ series }) => series).filter(Boolean)
  /** Minutes in which everything is done that can be done. */
  const pass = async (minutes: number) => {
    const purposes: string[] = []
    for (let n = 0; n < minutes; n++) {
      await rig.clock.advance(minute)
      purposes.push(...(await rig.work()))
    }
    return purposes
  }
  return { ...rig, keys, pass }
}

describe('channels that are asked about while something goes on in them', () => {
  it('are followed from their choice on, never more than there is room for', async () => {
    const rig = playing()
    await rig.source.begin()
    expect(await rig.keys()).toEqual([])
    rig.store.live = [on('c'), on('b'), on('a')]
    await rig.pass(2)
    expect(await rig.keys()).toEqual(['c', 'b'])
    const { backlogFrom } = rig.store.window('calls', 'c')
    expect(nowOf(rig) - backlogFrom).toBeLessThan(4 * 60)
    await rig.pass(10)
    expect(rig.store.window('calls', 'c').covered.at(-1)!.to).toBeGreaterThan(nowOf(rig) - 7 * 60)
  })

  it('stay while newer ones come, and are left when they are no longer listed', async () => {
    const rig = playing()
    rig.store.live = [on('b'), on('a')]
    await rig.source.begin()
    rig.store.live = [on('d'), on('c'), on('b'), on('a')]
    await rig.pass(5)
    expect(await rig.keys()).toEqual(['b', 'a'])
    rig.store.live = [on('d'), on('b')]
    await rig.pass(2)
    expect(await rig.keys()).toEqual(['b', 'd'])
    expect(rig.store.closedWindows).toEqual(['calls a'])
  })

  it('have the lowest claim, unless it is over in them or nearly too late', async () => {
    const rig = playing()
    await rig.source.begin()
    await rig.work()
    rig.store.live = [on('a')]
    const jobsOf = async () => {
      const { requests: jobs } = await rig.source.find()
      return jobs.filter(({ purpose, expiresAt }) => purpose && expiresAt > 0).map(({ purpose }) => purpose)
    }
    await rig.clock.advance(minute)
    await rig.source.find()
    await rig.clock.advance(6 * minute)
    expect((await jobsOf()).toSorted()).toEqual(['backfill', 'live'])
    rig.store.live = [{ channel: 'a', endedAt: nowOf(rig) - 60 }]
    await rig.clock.advance(minute)
    expect(await jobsOf()).toEqual(['live', 'live'])
    rig.store.live = [on('a')]
    await rig.clock.advance(minute)
    expect((await jobsOf()).toSorted()).toEqual(['backfill', 'live'])
    await rig.clock.advance(21 * minute)
    expect(await jobsOf()).toEqual(['live', 'live'])
  })

  it('are the same after a restart, and those that ended meanwhile are left', async () => {
    const rig = playing()
    const early = nowOf(rig) - 600
    for (const series of ['old', 'ended']) rig.store.putWindow('calls', { series, backlogFrom: early })
    rig.store.live = [on('newest'), on('newer'), on('old')]
    await rig.source.begin()
    expect((await rig.keys()).toSorted()).toEqual(['newest', 'old'])
    expect(rig.store.window('calls', 'old').backlogFrom).toBe(early)
    expect(rig.store.closedWindows).toEqual(['calls ended'])
    await rig.work()
    expect(rig.asked.some(({ from }) => from <= early)).toBe(true)
  })

  it('with half of a character in the name are left out', async () => {
    const rig = playing()
    rig.store.live = [on('\ud800'), on('whole')]
    await rig.source.begin()
    expect(await rig.keys()).toEqual(['whole'])
  })
})
