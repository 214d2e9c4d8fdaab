import { expect, it } from 'vitest'
import { Outages } from '../../src/telemetry/outages.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const minute = 60_000
const hour = 60 * minute

it('a stream of rooms whose last page failed is not said to fail all night when its rooms are gone', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const quiz = { app: 'a1', stream: 'popup-quiz' } as const
  outages.page(quiz, 'committed')
  await clock.advance(minute)
  outages.page(quiz, 'timeout')
  for (let n = 0; n < 3; n++) outages.page(quiz, 'gone')
  await clock.advance(30 * minute)
  expect(outages.streamOf('a1', 'popup-quiz')?.failing).toMatchObject({ reason: 'timeout' })
  await clock.advance(8 * hour)
  expect(outages.streamOf('a1', 'popup-quiz')?.failing).toBeNull()
})

it('a stream whose pages are kept from being stored says by what', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const since = new Date(clock.now()).toISOString()
  outages.page({ app: 'a1', stream: 'room-events' }, 'store_blocked')
  await clock.advance(6 * minute)
  outages.page({ app: 'a1', stream: 'room-events' }, 'store_blocked')
  const reason = expect.stringContaining('holds a lock in the database')
  expect(outages.streamOf('a1', 'room-events')?.failing).toMatchObject({ since, reason })
})

it('one that goes on failing, however seldom it is asked, has failed since its first failure', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const began = new Date(clock.now()).toISOString()
  const times = [
    ['recordings', 45 * minute],
    ['call-metrics', 18 * hour],
  ] as const
  for (const [stream] of times) outages.page({ app: 'a1', stream }, 'malformed')
  for (const [stream, pause] of times) {
    for (let n = 0; n < 3; n++) {
      await clock.advance(pause)
      outages.page({ app: 'a1', stream }, 'malformed')
    }
    expect(outages.streamOf('a1', stream)?.failing).toMatchObject({ since: began })
  }
})

it('a failure of another kind begins anew, and the whole goes on', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const times: string[] = []
  for (const kind of ['network', 'unauthorized', 'unauthorized'] as const) {
    times.push(new Date(clock.now()).toISOString())
    outages.request('a1', 'classroom', kind)
    await clock.advance(minute)
  }
  const [since, kindSince, last] = times
  expect(outages.providersOf('a1')).toMatchObject([{ failing: { since, kindSince, last } }])
})

it('refusals for a limit go on, whatever is answered between them, until none came for a quarter of an hour', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const since = new Date(clock.now()).toISOString()
  for (let n = 0; n < 3; n++) {
    outages.request('a1', 'analytics', 'time_range_limit')
    outages.request('a1', 'analytics', 'ok')
    await clock.advance(10 * minute)
  }
  expect(outages.providersOf('a1')).toMatchObject([
    { failing: null, refusals: [{ kind: 'time_range_limit', since, requests: 3 }] },
  ])
  await clock.advance(5 * minute)
  expect(outages.providersOf('a1')[0]).not.toHaveProperty('refusals')
  outages.request('a1', 'analytics', 'no_access')
  await clock.advance(hour)
  expect(outages.providersOf('a1')).toMatchObject([{ refusals: [{ kind: 'no_access', requests: 1 }] }])
  outages.forget('a1')
  expect(outages.providersOf('a1')).toEqual([])
})

it('refusals that come seldom go on too: after three of them for half as long again as it took to the next', async () => {
  const clock = new VirtualClock()
  const outages = new Outages(clock)
  const since = new Date(clock.now()).toISOString()
  const refusalsAfter = async (minutes: number) => {
    await clock.advance(minutes * minute)
    return outages.providersOf('a1')[0]?.refusals
  }
  outages.request('a1', 'analytics', 'qps_limit')
  expect(await refusalsAfter(20)).toBeUndefined()
  outages.request('a1', 'analytics', 'qps_limit')
  // Two may be by chance: the second is told as if it were the first.
  expect(await refusalsAfter(0)).toMatchObject([{ since: new Date(clock.now()).toISOString(), requests: 1 }])
  expect(await refusalsAfter(20)).toBeUndefined()
  outages.request('a1', 'analytics', 'qps_limit')
  expect(await refusalsAfter(29)).toMatchObject([{ kind: 'qps_limit', since, requests: 3 }])
  expect(await refusalsAfter(1)).toBeUndefined()
  outages.request('a1', 'analytics', 'qps_limit')
  expect(await refusalsAfter(44)).toMatchObject([{ since, requests: 4 }])
  expect(await refusalsAfter(31)).toBeUndefined()
  outages.request('a1', 'analytics', 'qps_limit')
  expect(await refusalsAfter(0)).toMatchObject([{ requests: 1 }])
})
