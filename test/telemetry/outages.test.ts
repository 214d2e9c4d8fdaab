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
