import { describe, expect, it } from 'vitest'
import type { SyncOptions } from '../../../src/engine/series/sync.ts'
import { type Failure, failureKinds } from '../../../src/provider/errors.ts'
import type { Page, PageResult } from '../../../src/streams/page.ts'
import { roomLog } from '../fake-streams.ts'
import { hour } from '../harness.ts'
import { makeHarness } from './sync-harness.ts'

describe('a reading that is broken off', () => {
  /** A log of four pages, one of which is answered with a failure; nextIds are refused after an end. */
  function broken(failure: Failure | 'throws', stream = roomLog) {
    const harness = makeHarness(stream, { cursor: 'end', certain: true })
    const asked = new Set<string | null>()
    const next: Record<string, string> = { null: 'b', b: 'c', c: 'd' }
    let isWell = false
    harness.learnt.refusedTails = 3
    harness.transport.answers = ({ nextId }) => {
      const page = { items: [{ id: Number(nextId === 'd') }], nextId: next[String(nextId)]! }
      if (nextId !== 'c' || isWell) return page
      if (failure !== 'throws') return failure
      harness.store.fail('commit', new TypeError('a bug'))
      return page
    }
    const go = async (options: Partial<SyncOptions> = {}) => {
      // Whatever the failure had wait, its pause is over.
      await harness.clock.advance(2 * hour)
      return harness.go({ asked, ...options })
    }
    const heal = () => {
      isWell = true
    }
    return { ...harness, go, heal, reading: asked }
  }

  it.each(failureKinds.filter(kind => kind !== 'bad_request' && kind !== 'not_found'))(
    'by %s goes on at the page that failed',
    async kind => {
      const { go, heal, asked, reading } = broken({ kind, text: '' })
      expect(await go()).toMatchObject({ end: 'failed', isFurther: true })
      expect(await go()).toMatchObject({ end: 'failed', isFurther: false })
      heal()
      expect(await go()).toMatchObject({ end: 'done', isFurther: true })
      expect(asked()).toEqual([null, 'b', 'c', 'c', 'c', 'd'])
      expect(reading.size).toBe(0)
      await go()
      expect(asked().slice(6)).toEqual([null, 'b', 'c', 'd'])
    },
  )

  it('by a fault of this program likewise', async () => {
    const { go, heal, asked } = broken('throws')
    await expect(go()).rejects.toThrow('a bug')
    heal()
    expect(await go()).toMatchObject({ end: 'done' })
    expect(asked()).toEqual([null, 'b', 'c', 'c', 'd'])
  })

  it('goes on although the log is to be read once more', async () => {
    const { go, heal, asked } = broken({ kind: 'malformed', text: '' }, { ...roomLog, rereads: () => true })
    await go()
    heal()
    await go()
    expect(asked()).toEqual([null, 'b', 'c', 'c', 'd'])
  })

  it.each(['bad_request', 'not_found'] as const)('by %s begins anew: its nextId is at fault', async kind => {
    const { go, asked, learnt: tailMemory } = broken({ kind, text: '' })
    expect(await go()).toMatchObject({ end: 'failed' })
    expect(await go()).toMatchObject({ end: 'failed', isFurther: false })
    tailMemory.refusedTails = 0
    await go()
    expect(asked()).toEqual([null, 'b', 'c', null, 'b', 'c', 'c', null, 'b', 'c'])
  })

  it('probes a room that has become doubtful before it goes on', async () => {
    const { go, heal, asked } = broken({ kind: 'server_error', text: '' })
    await go()
    expect(await go({ room: 'doubtful' })).toMatchObject({ end: 'failed', isFurther: false })
    heal()
    expect(await go({ room: 'doubtful' })).toMatchObject({ end: 'done', isFurther: true })
    expect(asked()).toEqual([null, 'b', 'c', null, 'c', null, 'c', 'd'])
  })

  it('says of a probe whether a reading goes on after it, unless the room was gone meanwhile', async () => {
    const probes: (boolean | undefined)[] = []
    const toRows = (page: Page): PageResult => {
      if (page.purpose === 'probe') probes.push(page.isUnderWay)
      return roomLog.toRows(page, null)
    }
    const { go, transport, learnt } = broken({ kind: 'server_error', text: '' }, { ...roomLog, toRows })
    await go()
    await go({ room: 'doubtful' })
    const { answers } = transport
    transport.answers = () => ({ kind: 'not_found', text: '' })
    expect(await go({ room: 'doubtful' })).toMatchObject({ end: 'failed' })
    transport.answers = answers
    learnt.refusedTails = 0
    await go({ room: 'doubtful' })
    expect(probes).toEqual([true, false])
  })

  it('ends where the probe shows another room, whose log may have the same nextIds', async () => {
    let isAnother = false
    const follow = (page: Page): PageResult => {
      const pageResult = roomLog.toRows(page, null)
      return isAnother ? { ...pageResult, follow: 'next' } : pageResult
    }
    const { go, heal, asked } = broken({ kind: 'server_error', text: '' }, { ...roomLog, toRows: follow })
    await go()
    heal()
    isAnother = true
    expect(await go({ room: 'doubtful' })).toMatchObject({ end: 'done' })
    expect(asked()).toEqual([null, 'b', 'c', null, 'b', 'c', 'd'])
  })

  it('begins anew where the series was set back meanwhile', async () => {
    const { go, heal, asked, store } = broken({ kind: 'server_error', text: '' })
    await go()
    heal()
    store.put('room-events', 'algebra', { cursor: null, certain: true })
    expect(await go()).toMatchObject({ end: 'done' })
    expect(asked().slice(3)).toEqual([null, 'b', 'c', 'd'])
  })
})
