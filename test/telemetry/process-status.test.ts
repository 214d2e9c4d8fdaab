import { describe, expect, it } from 'vitest'
import { setUp } from './meter-harness.ts'

const timing = { receivedAt: 0, elapsed: 250 }

describe('what the process saw of an app', () => {
  const labels = { app: 'a1', stream: 'app-events' } as const

  it('is when pages came last and since when they fail, and the same of each service', async () => {
    const { meter, clock } = setUp()
    meter.request('a1', 'classroom', 'appEvents', 'ok', timing)
    meter.page(labels, 'empty')
    await clock.advance(1_000)
    for (let second = 0; second < 3; second++) {
      meter.request('a1', 'classroom', 'appEvents', 'network', timing)
      meter.page(labels, 'network')
      await clock.advance(1_000)
    }
    const since = '2026-01-01T00:00:01.000Z'
    expect(meter.reading(['a1'])).toMatchObject({
      providers: [
        { family: 'classroom', answeredAt: '2026-01-01T00:00:00.000Z', failing: { since, kind: 'network' } },
      ],
      reading: [{ ...labels, readAt: '2026-01-01T00:00:00.000Z', failing: { since, reason: 'network' } }],
    })
    expect(meter.reading(['a2']).reading).toEqual([])
    meter.request('a1', 'classroom', 'roomEvents', 'not_found', timing)
    meter.page(labels, 'committed')
    expect(meter.reading(['a1'])).toMatchObject({
      providers: [{ failing: null }],
      reading: [{ readAt: '2026-01-01T00:00:04.000Z', failing: null }],
    })
  })

  it('is no failure of the provider where it answers that there is no such room', () => {
    const { meter } = setUp()
    meter.page(labels, 'committed')
    meter.page(labels, 'gone')
    expect(meter.reading(['a1']).reading).toMatchObject([{ failing: null }])
  })

  it('is when the oldest of a backlog expires, and since when it is the oldest, however it is estimated', async () => {
    const { meter, clock } = setUp()
    const oldest = () => meter.reading(['a1']).reading[0]!.oldest
    meter.backlog(labels, { seconds: 60, expiresIn: 100_000 })
    await clock.advance(30_000)
    meter.backlog(labels, { seconds: 90, expiresIn: 72_000, turn: 34_560 })
    const first = {
      expiresAt: '2026-01-01T00:01:40.000Z',
      since: '2026-01-01T00:00:00.000Z',
      turnSeconds: 34_560,
    }
    expect(oldest()).toEqual(first)
    meter.backlog(labels, { seconds: 30, expiresIn: 90_000 })
    const next = { expiresAt: '2026-01-01T00:02:00.000Z', since: '2026-01-01T00:00:30.000Z', turnSeconds: 0 }
    expect(oldest()).toEqual(next)
    meter.backlog(labels, { seconds: 0, expiresIn: null })
    expect(oldest()).toBeNull()
  })

  it('is when the oldest of a backlog was read last, where it was and is not final', async () => {
    const { meter, clock } = setUp()
    meter.backlog(labels, { seconds: 1, expiresIn: 100_000 })
    await clock.advance(30_000)
    const readAt = clock.monotonic()
    await clock.advance(30_000)
    meter.backlog(labels, { seconds: 1, expiresIn: 40_000, oldestReadAt: readAt })
    expect(meter.reading(['a1']).reading[0]!.oldest).toMatchObject({
      expiresAt: '2026-01-01T00:01:40.000Z',
      since: '2026-01-01T00:00:30.000Z',
    })
  })

  it('is nothing any more once another process owns the apps', () => {
    const { meter } = setUp()
    meter.page(labels, 'committed')
    meter.owned(0)
    expect(meter.reading(['a1'])).toEqual({
      ...{ databaseFullSince: null, providers: [], reading: [], budgets: [], lossAhead: [] },
    })
  })
})
