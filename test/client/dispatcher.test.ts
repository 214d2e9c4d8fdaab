import { beforeEach, describe, expect, test } from 'vitest'
import { Dispatcher } from '../../src/client/dispatcher.ts'
import { CallError } from '../../src/client/errors.ts'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import type { GroupLimit } from '../../src/engine/settings.ts'
import { perSecond } from '../../src/provider/limits.ts'
import { type RequestLine, requestLine } from '../../src/provider/operation.ts'
import { createPlayer, listPlayers } from '../../src/provider/players/index.ts'
import { createHarness, errorOf, outcomeOf } from './harness.ts'

const minute = 60_000
const ledgered: GroupLimit = { scope: 's', rates: [perSecond(2)], concurrency: 2, counted: 'ledger' }
const paced: GroupLimit = { scope: 'a', rates: [perSecond(2)], concurrency: 2, counted: 'process' }
const list = requestLine(listPlayers, { appId: 'a' })

let harness: ReturnType<typeof createHarness>
let caller: Dispatcher

beforeEach(() => {
  harness = createHarness()
  caller = new Dispatcher(harness)
})

const sending = (limit: GroupLimit, request: RequestLine = list, timeout = minute) => ({
  ...{ app: 'a', request, limit, timeout: timeout },
})

async function failing(limit: GroupLimit, request?: RequestLine, timeout?: number): Promise<CallError> {
  const error = await errorOf(harness.clock, caller.send(sending(limit, request, timeout)))
  expect(error).toBeInstanceOf(CallError)
  return error as CallError
}

describe('a request that the ledger counts', () => {
  test('is debited before it is sent and settled when it is answered; the fence is given back', async () => {
    harness.script.answer = () => {
      expect(harness.takes).toEqual(['s players-list'])
      expect(harness.lent.out).toBe(1)
      return { players: [] }
    }
    const { body } = await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    expect(body).toEqual({ players: [] })
    expect({ settled: harness.settled, lent: harness.lent }).toEqual({
      settled: ['unread'],
      lent: { out: 0, ever: 1 },
    })
  })

  test('keeps its answer where the fence cannot be given back: the database may have gone away meanwhile', async () => {
    harness.script.answer = () => ({ players: [] })
    const lent = {
      fence: { shard: 1, owner: 'somebody', epoch: 1 },
      giveBack: () => Promise.reject(new StoreUnavailable(undefined)),
    }
    caller = new Dispatcher({ ...harness, fences: { acquire: async () => lent } })
    const { body } = await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    expect(body).toEqual({ players: [] })
  })

  test('waits for a limit that frees within its patience', async () => {
    harness.script.waits = [1_500, 20_000]
    await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    expect(harness.sent.map(({ at }) => at)).toEqual([21_500])
  })

  test('is given up at once when the limit frees too late, and says when it frees', async () => {
    harness.script.waits = [5 * 3_600_000]
    const error = await failing(ledgered)
    expect(error).toMatchObject({ kind: 'budget', retryAfter: 18_000, trace: undefined })
    expect(error.message).toBe(
      'players.listPlayers: nothing was sent: the limit of players-list is used up; it frees in 5 hours',
    )
    expect({ now: harness.clock.monotonic(), sent: harness.sent }).toEqual({ now: 0, sent: [] })
  })

  test('does not ask the ledger again while it is known to be used up', async () => {
    harness.script.waits = [5 * 3_600_000]
    await failing(ledgered)
    const error = await failing(ledgered)
    expect(error).toMatchObject({ kind: 'budget', retryAfter: 18_000 })
    expect({ now: harness.clock.monotonic(), takes: harness.takes.length }).toEqual({ now: 0, takes: 1 })
  })

  test('takes another fence when the app has changed hands', async () => {
    harness.script.waits = ['fenced']
    await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    expect({ sent: harness.sent.length, lent: harness.lent }).toEqual({ sent: 1, lent: { out: 0, ever: 2 } })
  })

  test('gives up when the app changes hands for longer than its patience', async () => {
    harness.script.fences = () => false
    const error = await failing(ledgered, list, 3_000)
    expect(error).toMatchObject({ kind: 'busy', retryAfter: 1 })
    expect(harness.sent).toEqual([])
  })

  test('is not lost when its debit cannot be settled', async () => {
    const broken = { ...harness.ledger, settle: async () => Promise.reject(new StoreUnavailable('57P01')) }
    caller = new Dispatcher({ ...harness, ledger: broken })
    harness.script.answer = () => ({ players: [] })
    expect((await outcomeOf(harness.clock, caller.send(sending(ledgered)))).body).toEqual({ players: [] })
    harness.script.answer = () => 'not_found'
    expect(await failing(ledgered)).toMatchObject({ kind: 'not_found' })
  })

  test('is not sent when it cannot be debited', async () => {
    const broken = { ...harness.ledger, take: async () => Promise.reject(new StoreUnavailable('57P01')) }
    caller = new Dispatcher({ ...harness, ledger: broken })
    const error = await errorOf(harness.clock, caller.send(sending(ledgered)))
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect({ sent: harness.sent, out: harness.lent.out }).toEqual({ sent: [], out: 0 })
  })
})

describe('a request that is paced in the process', () => {
  test('needs neither a database nor the right to debit', async () => {
    await outcomeOf(harness.clock, caller.send(sending(paced)))
    expect({ takes: harness.takes, lent: harness.lent.ever }).toEqual({ takes: [], lent: 0 })
  })

  test('keeps its distance from the one before', async () => {
    const all = [1, 2, 3, 4].map(() => caller.send(sending(paced)))
    await outcomeOf(harness.clock, Promise.all(all))
    expect(harness.sent.map(({ at }) => at)).toEqual([0, 500, 1_000, 1_500])
  })
})

describe('patience', () => {
  test('ends with the sending: an answer that comes later is waited for', async () => {
    harness.script.takesLong = 20_000
    await outcomeOf(harness.clock, caller.send(sending(paced, list, 1_000)))
    expect(harness.clock.monotonic()).toBe(20_000)
    harness.script.answer = () => 'server_error'
    expect(await failing(paced, list, 1_000)).toMatchObject({ kind: 'server_error' })
    expect(await failing(ledgered, list, 1_000)).toMatchObject({ kind: 'server_error' })
  })

  test('leaves no timer behind', async () => {
    await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    expect(harness.clock.sleeping).toBe(0)
  })

  test('is over when others take too long', async () => {
    harness.script.takesLong = 30_000
    const first = [1, 2].map(() => caller.send(sending(ledgered)))
    const error = await failing(ledgered, list, 5_000)
    expect(error).toMatchObject({ kind: 'budget' })
    expect(error.message).toContain('wait for longer than 5 seconds')
    await outcomeOf(harness.clock, Promise.all(first))
    expect(harness.sent).toHaveLength(2)
  })
})

describe('a refusal', () => {
  test('of a rate is waited for and tried again through the gate', async () => {
    harness.script.answer = () =>
      harness.sent.length < 2
        ? { kind: 'rate_limited', text: 'too many', status: 429, retryAfter: 5 }
        : { players: [] }
    await outcomeOf(harness.clock, caller.send(sending(ledgered)))
    const [first, second] = harness.sent
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(5_000)
    expect(harness.sent).toHaveLength(2)
  })

  test('of a rate for longer than patience is told at once', async () => {
    harness.script.answer = () => ({ kind: 'rate_limited', text: 'too many', status: 429, retryAfter: 600 })
    expect(await failing(ledgered)).toMatchObject({ kind: 'rate_limited', status: 429, retryAfter: 600 })
    expect(harness.sent).toHaveLength(1)
  })

  test('that goes on is told when patience is over', async () => {
    harness.script.answer = () => ({ kind: 'rate_limited', text: 'too many', status: 429, retryAfter: 7 })
    expect(await failing(ledgered)).toMatchObject({ kind: 'rate_limited' })
    expect(harness.clock.monotonic()).toBeLessThanOrEqual(minute)
    expect(harness.sent.length).toBeGreaterThan(1)
  })

  test.each([429, 403])(
    'for too many players (HTTP %i) is no rate, and shuts nobody else out',
    async status => {
      const create = requestLine(
        createPlayer,
        { appId: 'a', region: 'ap' },
        { streamUrl: 'rtmp://a/b', channelName: 'c', uid: 1 },
      )
      harness.script.answer = () =>
        harness.sent.length === 1 ? { kind: 'quota', text: 'refused', status } : {}
      const error = await failing(ledgered, create)
      expect(error).toMatchObject({ kind: 'quota', status, retryAfter: undefined })
      expect(error.message).toContain('delete one first')
      await outcomeOf(harness.clock, caller.send(sending(ledgered, create)))
      expect({ now: harness.clock.monotonic(), sent: harness.sent.length }).toEqual({ now: 0, sent: 2 })
    },
  )

  test.each(['bad_request', 'not_found', 'conflict', 'server_error', 'timeout', 'malformed'] as const)(
    'of kind %s is sent once',
    async kind => {
      harness.script.answer = () => kind
      expect(await failing(paced)).toMatchObject({ kind, trace: { requestId: 'sent-1' } })
      expect(harness.sent).toHaveLength(1)
    },
  )

  test('says what the contract says of its status', async () => {
    harness.script.answer = () => ({ kind: 'not_found', text: 'the provider answered HTTP 404', status: 404 })
    expect((await failing(paced)).message).toBe(
      'players.listPlayers: the provider answered HTTP 404: there is no such player, or it has been destroyed',
    )
  })
})

describe('a client that closes', () => {
  test('ends every wait, and lets what is under way be read', async () => {
    harness.script.takesLong = 10_000
    const running = [1, 2].map(() => caller.send(sending(ledgered)))
    const fate = caller.send(sending(ledgered)).catch((error: unknown) => error)
    await harness.clock.advance(1_000)
    caller.close()
    await outcomeOf(harness.clock, Promise.all(running))
    expect(await fate).toMatchObject({ kind: 'closed' })
    expect(harness.sent).toHaveLength(2)
  })

  test('sends nothing any more', async () => {
    caller.close()
    expect(await failing(ledgered)).toMatchObject({ kind: 'closed' })
    expect(await failing(paced)).toMatchObject({ kind: 'closed' })
    expect(harness.sent).toEqual([])
  })
})
