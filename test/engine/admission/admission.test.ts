import { describe, expect, it } from 'vitest'
import { StoreUnavailable, type TakeResult } from '../../../src/engine/ports.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import { perDay, perSecond } from '../../../src/provider/limits.ts'
import { minute, second } from '../harness.ts'
import { counted, makeHarness, quick } from './admission-harness.ts'

describe('order', () => {
  it('what is live goes before what is visited again', async () => {
    const { clock, transport, ofRoom } = makeHarness()
    const limit: GroupLimit = { ...quick, rates: [perSecond(1)], concurrency: 1 }
    const all = [
      ofRoom('first', { limit }),
      ofRoom('again', { limit, purpose: 'revisit' }),
      ofRoom('live', { limit, purpose: 'live' }),
    ]
    await clock.advance(5 * second)
    await Promise.all(all)
    expect(transport.asked.map(({ room, at }) => [room, at])).toEqual([
      ['first', 0],
      ['live', second],
      ['again', 2 * second],
    ])
  })

  it('what is told to stop while it waits sends nothing', async () => {
    const { clock, transport, ofRoom, controller } = makeHarness()
    const limit: GroupLimit = { ...quick, rates: [perSecond(1)], concurrency: 1 }
    const all = [ofRoom('a', { limit }), ofRoom('b', { limit }), ofRoom('c', { limit })]
    await clock.advance(0.5 * second)
    controller.abort()
    await clock.advance(0)
    expect((await Promise.all(all)).map(({ outcome }) => outcome)).toEqual(['replied', 'stopped', 'stopped'])
    expect(transport.asked).toHaveLength(1)
  })
})

describe('a request by hand', () => {
  const wide: GroupLimit = { ...counted, rates: [perSecond(100)], concurrency: 8 }

  it.each([
    ['another one that goes ahead to see', 'rate_limited', wide],
    ['another one whose place it needs', undefined, { ...wide, concurrency: 1 }],
    [
      'another one whose place it needs, of those that only we count',
      undefined,
      { ...quick, concurrency: 1 },
    ],
  ] as const)('is given up when its time is up, also behind %s', async (_, refusal, limit) => {
    const { clock, transport, ofFeed } = makeHarness()
    transport.answers = () => refusal ?? { items: [] }
    void ofFeed({ limit })
    await clock.advance(10 * 60 * second)
    const hung = Promise.withResolvers<{ items: [] }>()
    transport.answers = () => hung.promise
    void ofFeed({ limit })
    await clock.advance(0)
    let outcome: string | undefined
    void ofFeed({ limit, life: Infinity, until: clock.monotonic() + 5 * second }).then(sent => {
      outcome = sent.outcome
    })
    await clock.advance(4 * second)
    expect(outcome).toBeUndefined()
    await clock.advance(second)
    expect(outcome).toBe('late')
    hung.resolve({ items: [] })
    await clock.advance(second)
    expect(await ofFeed({ limit })).toMatchObject({ outcome: 'replied' })
    expect(transport.asked).toHaveLength(3)
  })
})

it('what is told to stop does not wait for another one that goes ahead to see', async () => {
  const { clock, transport, ofFeed } = makeHarness()
  const limit: GroupLimit = { ...counted, rates: [perSecond(100)], concurrency: 8 }
  transport.answers = () => 'rate_limited'
  await ofFeed({ limit })
  await clock.advance(10 * 60 * second)
  transport.answers = () => new Promise(() => {})
  void ofFeed({ limit })
  await clock.advance(0)
  const stopping = new AbortController()
  const sent = ofFeed({ limit, app: 'a2', signal: stopping.signal })
  await clock.advance(0)
  stopping.abort()
  await clock.advance(0)
  expect(await Promise.race([sent, Promise.resolve('waits on')])).toEqual({ outcome: 'stopped' })
})

describe('a group that is counted in the database', () => {
  it('is debited before anything is sent', async () => {
    const { ledger, transport, ofFeed } = makeHarness()
    let debitsWhenSent = 0
    transport.answers = () => {
      debitsWhenSent = ledger.taken.length
      return { items: [] }
    }
    expect(await ofFeed()).toMatchObject({ outcome: 'replied', grant: { n: 1 } })
    expect(debitsWhenSent).toBe(1)
    expect(ledger.settled).toEqual([])
  })

  it('gives up at once what would be planned anew before there is room, and tells how long there is none', async () => {
    const { clock, ledger, transport, ofFeed, heldFor } = makeHarness()
    const none = { granted: false, wait: 14 * 3_600 * second, now: 0, ahead: 0 } as const
    ledger.answers.push(none)
    const sent = ofFeed({ isPlannedAgain: true })
    await clock.advance(0)
    expect(await sent).toMatchObject({ outcome: 'late' })
    expect(heldFor(counted.scope, 'classroom-feed')).toBe(none.wait)
    await clock.advance(none.wait)
    expect(heldFor(counted.scope, 'classroom-feed')).toBe(0)
    expect(await ofFeed({ isPlannedAgain: true })).toMatchObject({ outcome: 'replied' })
    expect(transport.asked).toHaveLength(1)
  })

  it('sends nothing that was outdated while it waited, and debits nothing for it', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    ledger.answers.push({ granted: false, wait: 700, now: 0, ahead: 0 })
    let isOutdated = false
    const sent = ofFeed({ isOutdated: () => isOutdated })
    await clock.advance(0.5 * second)
    isOutdated = true
    await clock.advance(2 * second)
    expect(await sent).toEqual({ outcome: 'late' })
    expect([ledger.taken, transport.asked]).toEqual([[], []])
  })

  it('gives back the debit of what was outdated while it was debited', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    let isOutdated = false
    ledger.beforeGrant = async () => {
      isOutdated = true
    }
    const sent = ofFeed({ isOutdated: () => isOutdated })
    await clock.advance(second)
    expect(await sent).toEqual({ outcome: 'late' })
    expect(ledger.settled).toEqual([{ n: 1, outcome: 'refused' }])
    expect(transport.asked).toEqual([])
  })

  const grant = (n: number): TakeResult => {
    const of = { scope: counted.scope, group: 'classroom-feed', clockBounds: { floor: 0, ceiling: 8.64e15 } }
    return { granted: true, grant: { ...of, n }, now: 0, ahead: 0 }
  }

  it('does not use a number that was given before, and tells since when debits are missing', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    ledger.answers.push(grant(5), grant(3), grant(4))
    await ofFeed()
    await clock.advance(7 * second)
    expect(await ofFeed()).toMatchObject({ grant: { n: 4 } })
    expect(ledger.setBack).toEqual([7 * second])
    expect(ledger.settled).toEqual([{ n: 3, outcome: 'refused' }])
    expect(transport.asked).toHaveLength(2)
  })

  it('uses a number that was given before a later one and is told after it', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    const late = Promise.withResolvers<void>()
    const answers = [late.promise.then(() => grant(5)), Promise.resolve(grant(6))]
    ledger.take = async () => answers.shift()!
    const limit = { ...counted, concurrency: 2 }
    const both = [ofFeed({ limit }), ofFeed({ limit })]
    await clock.advance(0)
    late.resolve()
    await clock.advance(0)
    expect(await Promise.all(both)).toMatchObject([{ grant: { n: 5 } }, { grant: { n: 6 } }])
    expect(ledger.setBack).toEqual([])
    expect(transport.asked).toHaveLength(2)
  })

  it('waits as long as the ledger says', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    ledger.answers.push(
      { granted: false, wait: 700, now: 0, ahead: 0 },
      { granted: false, wait: 300, now: 0, ahead: 0 },
    )
    const sent = ofFeed()
    await clock.advance(2 * second)
    await sent
    expect(transport.asked.map(({ at }) => at)).toEqual([second])
  })

  it('whose day is spent waits outside the queue, and asks the ledger once', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    const limit: GroupLimit = { ...counted, rates: [perDay(480)] }
    ledger.answers.push({ granted: false, wait: 50 * second, now: 0, ahead: 0 })
    const all = [ofFeed({ limit }), ofFeed({ limit }), ofFeed({ limit })]
    await clock.advance(49 * second)
    expect(ledger.answers).toEqual([])
    expect(ledger.taken).toEqual([])
    await clock.advance(2 * second)
    await Promise.all(all)
    expect(transport.asked.map(({ at }) => at)).toEqual([50 * second, 50 * second, 50 * second])
  })

  it('asks the ledger anew for an app of which a changed configuration may allow more', async () => {
    const { clock, ledger, transport, ofFeed, heldFor, forget } = makeHarness()
    const asked = { limit: { ...counted, rates: [perDay(1_000)] }, life: Infinity, isPlannedAgain: true }
    ledger.answers.push({ granted: false, wait: 10 * 3_600 * second, now: 0, ahead: 0 })
    const stopping = new AbortController()
    const before = ofFeed({ ...asked, signal: stopping.signal })
    await clock.advance(minute)
    stopping.abort()
    expect(await before).toEqual({ outcome: 'stopped' })
    forget('a1')
    expect(heldFor(counted.scope, 'classroom-feed')).toBe(0)
    const sent = ofFeed({ ...asked, limit: { ...counted, rates: [perDay(10_000)] } })
    await clock.advance(second)
    expect(await sent).toMatchObject({ outcome: 'replied' })
    expect(transport.asked).toHaveLength(1)
  })

  it('does not use a grant that is older than two seconds', async () => {
    const { clock, ledger, transport, ofFeed } = makeHarness()
    let isFirst = true
    ledger.beforeGrant = async () => {
      if (isFirst) await clock.sleep(2_001)
      isFirst = false
    }
    const sent = ofFeed()
    await clock.advance(5 * second)
    expect(await sent).toMatchObject({ grant: { n: 2 } })
    expect(ledger.settled).toEqual([{ n: 1, outcome: 'refused' }])
    expect(transport.asked).toHaveLength(1)
  })

  it('sends nothing when the shard is lost', async () => {
    const { ledger, transport, ofFeed } = makeHarness()
    ledger.answers.push({ granted: 'fenced' })
    expect(await ofFeed()).toEqual({ outcome: 'fenced' })
    expect(transport.asked).toEqual([])
  })

  it('sends nothing when the ledger cannot be reached', async () => {
    const { ledger, transport, ofFeed } = makeHarness()
    ledger.answers.push(new StoreUnavailable('57P01'))
    await expect(ofFeed()).rejects.toBeInstanceOf(StoreUnavailable)
    expect(transport.asked).toEqual([])
    expect(await ofFeed()).toMatchObject({ outcome: 'replied' })
  })

  it.each<[FailureKind, string]>([
    ['rate_limited', 'refused'],
    ['unauthorized', 'refused'],
    ['bad_request', 'refused'],
    ['not_found', 'refused'],
    ['timeout', 'unanswered'],
    ['network', 'unanswered'],
    ['gateway_timeout', 'unanswered'],
    ['malformed', 'unread'],
    ['too_large', 'unread'],
  ])('an attempt that ended with %s is settled as %s', async (kind, outcome) => {
    const { ledger, transport, ofFeed } = makeHarness()
    transport.answers = () => kind
    await ofFeed()
    expect(ledger.settled).toEqual([{ n: 1, outcome }])
  })

  it('is read to its end when the engine stops meanwhile', async () => {
    const { clock, transport, ofFeed, controller } = makeHarness()
    const answer = Promise.withResolvers<{ items: [] }>()
    transport.answers = () => answer.promise
    const sent = ofFeed()
    await clock.advance(0)
    controller.abort()
    answer.resolve({ items: [] })
    expect(await sent).toMatchObject({ outcome: 'replied', grant: { n: 1 } })
  })
})
