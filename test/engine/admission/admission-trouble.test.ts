import { describe, expect, it } from 'vitest'
import { seriesPause } from '../../../src/engine/admission/retry-rules.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import type { Failure, FailureKind } from '../../../src/provider/errors.ts'
import { perDay } from '../../../src/provider/limits.ts'
import { hour, minute, second } from '../harness.ts'
import { counted, makeHarness } from './admission-harness.ts'

/** Fails for so long; then answers. Keeps asking, as a poller's lanes would. */
async function attemptsDuring(kind: FailureKind, lasts: number): Promise<readonly number[]> {
  const { transport, ofRoom, askOn } = makeHarness()
  transport.answers = ({ at }) => (at < lasts ? kind : { items: [] })
  const lanes = ['a', 'b', 'c', 'd', 'e', 'f'].map(room => () => ofRoom(room))
  return (await askOn(lasts, lanes)).map(({ at }) => at)
}

describe('a provider in trouble', () => {
  it('an outage of thirty minutes costs at most forty requests, at the end one a minute', async () => {
    const asked = await attemptsDuring('unavailable', 30 * minute)
    expect(asked.length).toBeLessThanOrEqual(40)
    const late = asked.filter(at => at > 3 * minute)
    const gaps = late.slice(1).map((at, i) => at - late[i]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(minute)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * minute)
  })

  it('after a 401 one quick try is made with the credentials read again, then one a minute', async () => {
    const asked = await attemptsDuring('unauthorized', 30 * minute)
    const [first, ...rest] = [...new Set(asked.filter(at => at >= 0.1 * second))]
    expect(asked.filter(at => at < second).length).toBeLessThanOrEqual(6)
    expect(first).toBeGreaterThanOrEqual(second)
    expect(first).toBeLessThan(2 * second)
    expect(rest[0]! - first!).toBeGreaterThanOrEqual(minute)
    expect(asked.length).toBeLessThanOrEqual(37)
  })

  describe('whose answers nobody can read', () => {
    /** Rooms of a school, each asked again after a second by a lane of its own, for a minute. */
    async function school(
      rooms: number,
      isBroken: (room: string, at: number) => boolean,
      broken: FailureKind | Failure = 'malformed',
    ) {
      const { clock, transport, ofRoom, ofFeed, controller } = makeHarness()
      transport.answers = ({ operation, at, room }) =>
        operation === 'roomEvents' && isBroken(room, at) ? broken : { items: [] }
      const lane = async (room: string) => {
        while (!controller.signal.aborted) {
          await ofRoom(room, { series: room })
          await clock.sleep(second, controller.signal)
        }
      }
      const lanes = Array.from({ length: rooms }, (_, n) => lane(`r${n}`))
      await clock.advance(minute)
      const feed = await Promise.race([ofFeed(), clock.advance(second).then(() => 'held')])
      const asked = transport.asked.filter(({ operation }) => operation === 'roomEvents').length
      controller.abort()
      await clock.advance(0)
      await Promise.all(lanes)
      return { asked, feed }
    }

    it('is asked a few times a minute where many series have such answers, and its other groups go on', async () => {
      const { asked, feed } = await school(50, () => true)
      expect(asked).toBeLessThanOrEqual(30)
      expect(feed).toMatchObject({ outcome: 'replied' })
    })

    it('is asked as ever within a minute after its answers can be read again', async () => {
      const { asked } = await school(50, (_, at) => at < 10 * second)
      expect(asked).toBeGreaterThan(1_500)
    })

    it('is met alike where it says of many rooms, or of one, that they are muted', async () => {
      const muted = { kind: 'conflict', text: 'muted', status: 403, code: 30403200 } as const
      expect((await school(50, () => true, muted)).asked).toBeLessThanOrEqual(30)
      expect((await school(50, room => room === 'r1', muted)).asked).toBeGreaterThan(2_500)
    })

    it('is met alike where it refuses the questions of many rooms, or of one', async () => {
      expect((await school(50, () => true, 'bad_request')).asked).toBeLessThanOrEqual(30)
      expect((await school(50, room => room === 'r1', 'bad_request')).asked).toBeGreaterThan(2_500)
    })

    it('pauses for nobody where few series have such answers', async () => {
      const { asked } = await school(50, room => /^r[0-6]$/.test(room))
      expect(asked).toBeGreaterThan(2_500)
    })
  })

  it('two failures of a passing kind shut nothing', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    transport.answers = ({ at }) => (at < 2 ? 'timeout' : { items: [] })
    await ofRoom('a')
    const second = ofRoom('b')
    const third = ofRoom('c')
    await clock.advance(5)
    await Promise.all([second, third])
    expect(transport.asked).toHaveLength(3)
  })

  it('after a pause one request goes ahead alone, and the others follow when it succeeds', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    const probe = Promise.withResolvers<{ items: [] }>()
    let answered = 0
    transport.answers = () => (++answered <= 3 ? 'network' : answered === 4 ? probe.promise : { items: [] })
    for (const room of ['a', 'b', 'c']) {
      void ofRoom(room)
      await clock.advance(10)
    }
    const waiting = ['d', 'e', 'f'].map(room => ofRoom(room))
    await clock.advance(5 * second)
    expect(transport.asked).toHaveLength(4)
    probe.resolve({ items: [] })
    await clock.advance(second)
    await Promise.all(waiting)
    expect(transport.asked).toHaveLength(6)
  })

  it('a 429 pauses its group for as long as the provider asked, and no other group', async () => {
    const { clock, transport, ofRoom, ofFeed } = makeHarness()
    transport.answers = ({ operation, at }) =>
      operation === 'roomEvents' && at < second
        ? { kind: 'rate_limited', text: '', status: 429, retryAfter: 20 }
        : { items: [] }
    await ofRoom('a')
    const held = ofRoom('b')
    void ofFeed()
    await clock.advance(19.9 * second)
    expect(transport.asked.map(({ operation }) => operation)).toEqual(['roomEvents', 'appEvents'])
    await clock.advance(3 * second)
    expect(await held).toMatchObject({ outcome: 'replied' })
  })

  it('a 429 after failures of another kind is the first: the provider is believed', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    const refused = { kind: 'rate_limited', text: '', status: 429, retryAfter: 2 } as const
    const answers = ['unavailable', 'unavailable', refused] as const
    transport.answers = () => answers[transport.asked.length - 1] ?? { items: [] }
    for (const room of ['a', 'b', 'c', 'd']) {
      void ofRoom(room)
      await clock.advance(100)
    }
    expect(transport.asked).toHaveLength(3)
    await clock.advance(3 * second)
    expect(transport.asked).toHaveLength(4)
  })

  it('a 503 that names a time shuts the gate at once', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    transport.answers = ({ at }) =>
      at < second ? { kind: 'unavailable', text: '', status: 503, retryAfter: 10 } : { items: [] }
    await ofRoom('a')
    const held = ofRoom('b')
    await clock.advance(9.9 * second)
    expect(transport.asked).toHaveLength(1)
    await clock.advance(2 * second)
    expect(await held).toMatchObject({ outcome: 'replied' })
  })

  it('a 429 without a time pauses for at least a minute', async () => {
    const asked = await attemptsDuring('rate_limited', 5 * minute)
    const later = asked.filter(at => at > second)
    expect(later[0]).toBeGreaterThanOrEqual(minute)
    expect(later.length).toBeLessThanOrEqual(2)
  })

  it.each([
    ['unauthorized', ['roomEvents unauthorized']],
    ['forbidden', ['roomEvents forbidden']],
    ['rate_limited', ['roomEvents rate_limited']],
    ['server_error', []],
    ['not_found', []],
    ['network', []],
  ] as const)('%s counts as a refusal only where the provider turned us away', async (kind, refusals) => {
    const { transport, counts, ofRoom } = makeHarness()
    transport.answers = () => kind
    await ofRoom('a')
    expect(counts.refusals).toEqual(refusals)
  })

  it('a failure that only concerns its series shuts nothing', async () => {
    const asked = await attemptsDuring('malformed', minute)
    expect(asked.length).toBeGreaterThan(300)
  })

  it('what waited a minute before a shut gate is planned anew', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    transport.answers = () => ({ kind: 'rate_limited', text: '', status: 429, retryAfter: 90 })
    await ofRoom('a')
    const late = ofRoom('b')
    await clock.advance(3 * minute)
    expect(await late).toEqual({ outcome: 'late' })
    expect(transport.asked).toHaveLength(1)
  })
})

it.each([undefined, { kind: 'malformed', text: '' }] as const)(
  'what is of a room pauses no longer than a part of the time for which it is remembered, after %o too',
  failure => {
    const pauses = Array.from({ length: 12 }, (_, n) => seriesPause(failure, n + 1, 0.99, 2 * minute))
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2 * minute)
    expect(Math.max(...pauses)).toBeGreaterThan(1.9 * minute)
  },
)

describe('a day whose requests others have spent', () => {
  const day = 86_400
  const realtime: GroupLimit = {
    ...counted,
    range: { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 },
    rates: [perDay(480)],
  }
  const insights: GroupLimit = {
    ...counted,
    range: { availableData: 14 * day, timeFrame: 3 * day, dataDelay: 43_200 },
    rates: [perDay(40)],
  }

  /** When one is asked who says for ten hours that the day is spent, of one app after the other. */
  async function looks(...limits: readonly GroupLimit[]): Promise<readonly number[]> {
    const { transport, ofFeed, askOn } = makeHarness()
    const lasts = 10 * hour
    transport.answers = ({ at }) => (at < lasts ? 'qpd_limit' : { items: [] })
    const lanes = limits.map((limit, n) => () => ofFeed({ app: `a${n}`, limit, life: Infinity }))
    return (await askOn(lasts, lanes)).map(({ at }) => at)
  }
  const pausesOf = (asked: readonly number[]) => asked.slice(1).map((at, n) => at - asked[n]!)

  it('is looked at while at least half of what can be had in real time is not lost yet', async () => {
    const pauses = pausesOf(await looks(realtime))
    expect(Math.max(...pauses)).toBeLessThanOrEqual(20 * minute)
    expect(Math.min(...pauses)).toBeGreaterThan(12 * minute)
  })

  it('is looked at once an hour where what is asked for can be had for weeks', async () => {
    const pauses = pausesOf(await looks(insights)).slice(2)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(hour)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1.5 * hour)
  })

  it('is looked at with a quarter of what is allowed at most, however little that is', async () => {
    const asked = await looks({ ...realtime, rates: [perDay(96)] })
    expect(asked.length).toBeLessThanOrEqual((96 / 4 / 24) * 10 + 2)
    const fewer = await looks({ ...realtime, rates: [perDay(4)] })
    expect(Math.min(...pausesOf(fewer).slice(2))).toBeGreaterThanOrEqual(hour)
  })

  it('is looked at as soon as that of the apps needs which can have its data for the shortest time', async () => {
    const pauses = pausesOf(await looks({ ...insights, rates: realtime.rates }, realtime))
    expect(Math.max(...pauses)).toBeLessThanOrEqual(20 * minute)
  })
})
