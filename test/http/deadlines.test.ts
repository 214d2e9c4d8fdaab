import { expect, it } from 'vitest'
import { type Agency, Deadlines, exchange } from '../../src/http/exchange.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const makeDeadlines = () => {
  const clock = new VirtualClock()
  return { clock, deadlines: new Deadlines(clock, 100) }
}

it('requests that began one after the other end each at its own deadline', async () => {
  const { clock, deadlines } = makeDeadlines()
  const first = deadlines.start(undefined)
  await clock.advance(50)
  const second = deadlines.start(undefined)
  await clock.advance(49)
  expect([first.givenUp(), second.givenUp()]).toEqual([undefined, undefined])
  await clock.advance(1)
  expect([first.givenUp(), first.signal.aborted, second.givenUp()]).toEqual(['deadline', true, undefined])
  await clock.advance(50)
  expect(second.givenUp()).toBe('deadline')
})

it('a request that is over is given up no more, and the others are', async () => {
  const { clock, deadlines } = makeDeadlines()
  const [over, running] = [deadlines.start(undefined), deadlines.start(undefined)]
  over.clear()
  await clock.advance(100)
  expect([over.givenUp(), running.givenUp()]).toEqual([undefined, 'deadline'])
})

it('no timer is left when no request is under way, and the next request has one again', async () => {
  const { clock, deadlines } = makeDeadlines()
  deadlines.start(undefined).clear()
  const next = deadlines.start(undefined)
  await clock.advance(100)
  expect(next.givenUp()).toBe('deadline')
  next.clear()
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
  deadlines.start(undefined).clear()
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
})

it('whoever asked may give a request up, also before it begins', () => {
  const { deadlines } = makeDeadlines()
  const asker = new AbortController()
  const running = deadlines.start(asker.signal)
  asker.abort()
  const late = deadlines.start(asker.signal)
  expect([running.givenUp(), late.givenUp(), late.signal.aborted]).toEqual(['cancelled', 'cancelled', true])
})

it('who waits for a connection is given up at once, and is not written when there is one', async () => {
  const dispatched: Parameters<Agency['dispatch']>[1][] = []
  const agent: Agency = {
    dispatch: (_, handler) => dispatched.push(handler) > 0,
    close: (async () => {}) as Agency['close'],
  }
  const asker = new AbortController()
  const seen: string[] = []
  const outgoing = {
    ...{
      origin: 'http://provider',
      path: '/',
      method: 'GET' as const,
      headers: {},
      body: undefined,
      bodyBytes: 1,
    },
    ...{ signal: asker.signal, beforeWrite: () => seen.push('written') },
  }
  const answered = exchange(agent, outgoing)
  asker.abort(new Error('given up'))
  await expect(answered).rejects.toThrow('given up')
  const controller = { abort: (reason: Error) => seen.push(`aborted: ${reason.message}`) }
  dispatched[0]!.onRequestStart?.(controller as never, undefined)
  expect(seen).toEqual(['aborted: given up'])
})
