import { describe, expect, it } from 'vitest'
import type { BudgetReading } from '../../../src/engine/ports.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import { perDay, perMinute } from '../../../src/provider/limits.ts'
import { createHarness, hour, minute } from '../harness.ts'

function makeHarness() {
  const harness = createHarness([])
  const measured: BudgetReading[] = []
  const meter = {
    ...harness.meter,
    budget: (_scope: string, _group: string, reading: BudgetReading) => void measured.push(reading),
  }
  const limit = {
    scope: 'key:1',
    rates: [perMinute(3), perDay(480)],
    concurrency: 1,
    counted: 'ledger',
  } as const
  const ports = { clock: harness.clock, ledger: harness.ledger, meter }
  const pacers = createPacers(ports)
  return { ...harness, pacer: pacers.of('a1', 'realtime', limit, 7), pacers, ports, limit, measured }
}

/** A burst was spent, and since then one request has come free. */
async function withOneToSpend() {
  const harness = makeHarness()
  const { pacer, ledger, clock } = harness
  ledger.state = { ...ledger.state, used: 26, freesIn: 24 * hour, recent: 26, total: 26, sinceLast: minute }
  await pacer.waits()
  await clock.advance(5 * minute)
  expect((await pacer.waits()).backfill).toBe(0)
  return harness
}

describe('the pace of a budget', () => {
  it('lets a fresh budget begin at once', async () => {
    const { pacer } = makeHarness()
    expect(await pacer.waits()).toEqual({ live: 0, repair: 0, revisit: 0, backfill: 0 })
  })

  it('makes everyone wait once the day is used up, until the oldest request stops counting', async () => {
    const { pacer, ledger, measured } = makeHarness()
    ledger.state = { ...ledger.state, used: 480, freesIn: 5 * hour, recent: 0 }
    const waits = await pacer.waits()
    expect(Math.min(...Object.values(waits))).toBeGreaterThanOrEqual(5 * hour)
    expect(measured.map(({ used }) => used)).toEqual([1])
  })

  it('is measured against an even spending, over as long as a burst takes to be earned', async () => {
    const { pacer, ledger, measured } = makeHarness()
    // Of 480 a day a burst is 24 and what comes to it for repairs 2.4; 26.4 of 480 are 79.2 minutes of a day.
    for (const recent of [0, 26, 66]) {
      ledger.state = { ...ledger.state, recent }
      await pacer.waits()
    }
    expect(measured.map(({ over }) => over)).toEqual([0, 1, 2].map(() => expect.closeTo(79.2 * minute)))
    expect(measured.map(({ pace }) => Math.round(pace * 100) / 100)).toEqual([0, 0.98, 2.5])
  })

  it('keeps for new data what is long past may not use', async () => {
    const { pacer, ledger, clock } = makeHarness()
    await pacer.waits()
    ledger.state = { ...ledger.state, used: 14, freesIn: 24 * hour, recent: 14, total: 14 }
    await clock.advance(minute)
    const { live, backfill } = await pacer.waits()
    expect(live).toBe(0)
    expect(backfill).toBeGreaterThan(0)
  })

  it('is one for all apps that share a credential', async () => {
    const { pacer, pacers, limit, ledger, clock } = makeHarness()
    await pacer.waits()
    ledger.state = { ...ledger.state, used: 24, freesIn: 24 * hour, recent: 24, total: 24 }
    await clock.advance(minute)
    await pacer.waits()
    const neighbour = await pacers.of('a2', 'realtime', limit, 7).waits()
    expect(neighbour.live).toBeGreaterThan(0)
  })

  it('is shared fairly by the apps that have something to ask for, whoever looks first', async () => {
    const { pacers, limit, ledger, clock } = makeHarness()
    const apps = ['a1', 'a2', 'a3'].map(id => ({ id, pacer: pacers.of(id, 'realtime', limit, 1), sent: 0 }))
    const due = new Map(apps.map(({ id }) => [id, clock.monotonic()]))
    let total = 0
    const until = clock.monotonic() + 24 * hour
    while (clock.monotonic() < until) {
      for (const app of apps) {
        if (app.id === 'a3' && total > 200) due.delete('a3')
        if ((due.get(app.id) ?? until) > clock.monotonic()) continue
        const { live } = await app.pacer.waits(['live'])
        due.set(app.id, clock.monotonic() + Math.max(live, 1_000))
        if (live > 0) continue
        app.pacer.began()
        app.sent += 1
        total += 1
        ledger.state = { ...ledger.state, used: total, freesIn: until - clock.monotonic(), total }
      }
      await clock.advance(Math.max(1, Math.min(...due.values()) - clock.monotonic()))
    }
    const [first, second, third] = apps.map(({ sent }) => sent)
    expect(total).toBeGreaterThan(450)
    expect(Math.abs(first! - second!)).toBeLessThan(5)
    expect(third).toBeGreaterThan(60)
  })

  it.each([
    { name: 'one always hears of what is free a little later', later: 20, early: 0 },
    { name: 'one began with more to spend', later: 0, early: 3 * hour },
  ])('is shared fairly by apps of two processes, of which $name', async ({ later, early }) => {
    const { ports, limit, ledger, clock } = makeHarness()
    const apps = ['a1', 'a2'].map((id, n) => {
      const pacer = createPacers(ports).of(id, 'realtime', limit, 7)
      return { pacer, sent: 0, due: clock.monotonic() + later * n, later: later * n, at: [] as number[] }
    })
    // An even spending, and for one of them a time in which nothing was sent.
    const begin = clock.monotonic() + early
    const debits = Array.from({ length: 470 }, (_, n) => begin - early - (470 - n) * 3 * minute)
    const look = async (app: (typeof apps)[number]) => {
      const now = clock.monotonic()
      const counted = debits.filter(at => at > now - 24 * hour)
      const recent = debits.filter(at => at > now - 79.2 * minute).length
      const used = { used: counted.length, freesIn: counted[0]! + 24 * hour - now }
      ledger.state = { ...used, recent, total: debits.length, sinceLast: now - debits.at(-1)! }
      return (await app.pacer.waits(['live'])).live
    }
    if (early > 0) {
      await look(apps[0]!)
      await clock.advance(early)
      apps[0]!.due = apps[1]!.due = begin
    }
    while (clock.monotonic() < begin + 24 * hour) {
      const now = clock.monotonic()
      for (const app of apps.filter(({ due }) => due <= now)) {
        const live = await look(app)
        app.due = now + (live > 0 ? live + app.later : 1_000)
        if (live > 0) continue
        app.pacer.began()
        app.sent += 1
        app.at.push(now)
        debits.push(now)
      }
      await clock.advance(Math.max(1, Math.min(...apps.map(({ due }) => due)) - clock.monotonic()))
    }
    const [first, second] = apps.map(({ sent }) => sent)
    expect(first! + second!).toBeGreaterThan(470)
    expect(Math.abs(first! - second!)).toBeLessThan(10)
    const order = apps
      .flatMap(({ at }, n) => at.map(time => ({ time, n })))
      .toSorted((a, b) => a.time - b.time)
    expect(order.map(({ n }) => n).join('')).not.toMatch(/0000|1111/)
  })

  it('keeps no app waiting for the turn of another while there is enough for both', async () => {
    const { ports, limit, ledger, clock } = makeHarness()
    const large = { ...limit, rates: [perDay(10_000)] }
    const pacers = createPacers(ports)
    const apps = ['a1', 'a2'].map(id => ({ pacer: pacers.of(id, 'realtime', large, 7), sent: 0, due: 0 }))
    const [begin, each] = [clock.monotonic(), 100]
    while (apps.some(({ sent }) => sent < each)) {
      for (const app of apps) {
        if (app.sent === each || app.due > clock.monotonic()) continue
        const { backfill } = await app.pacer.waits(['backfill'])
        app.due = clock.monotonic() + Math.max(backfill, 100)
        if (backfill > 0) continue
        app.pacer.began()
        app.sent += 1
        const total = ledger.state.total + 1
        ledger.state = { ...ledger.state, used: total, freesIn: 24 * hour, total, sinceLast: 0 }
      }
      await clock.advance(100)
    }
    expect(clock.monotonic() - begin).toBeLessThan(minute)
  })

  it('has one request spent by whoever begins it, before the ledger has heard of it', async () => {
    const { pacer, ledger } = await withOneToSpend()
    pacer.began()
    const { backfill } = await pacer.waits()
    expect(backfill).toBeGreaterThan(minute)
    ledger.state = { ...ledger.state, used: 27, recent: 27, total: 27, sinceLast: 0 }
    expect(Math.abs((await pacer.waits()).backfill - backfill)).toBeLessThan(1_000)
  })

  it('takes back what was begun and never debited', async () => {
    const { pacer, clock } = await withOneToSpend()
    pacer.began()
    expect((await pacer.waits()).backfill).toBeGreaterThan(minute)
    await clock.advance(minute)
    expect((await pacer.waits()).backfill).toBe(0)
  })

  it('takes back at once what has ended without a debit', async () => {
    const { pacer } = await withOneToSpend()
    const over = pacer.began()
    expect((await pacer.waits()).backfill).toBeGreaterThan(minute)
    over()
    expect((await pacer.waits()).backfill).toBe(0)
  })

  it('leaves windows of a minute to the ledger', async () => {
    const { pacers, limit, ledger } = makeHarness()
    ledger.state = { ...ledger.state, used: 3, freesIn: minute, recent: 3 }
    const waits = await pacers.of('a1', 'other', { ...limit, rates: [perMinute(3)] }, 1).waits()
    expect(waits.live).toBe(0)
  })
})

describe('a history of the database that went back', () => {
  /** So many were debited by the time of the backup that is restored, and as many again and more since. */
  const [then, since] = [5_000, 400]

  async function restored() {
    const harness = makeHarness()
    const { pacer, ledger, clock } = harness
    const full = { used: 200, freesIn: 12 * hour, recent: 26, sinceLast: minute }
    ledger.state = { ...full, total: then + since }
    for (let n = 0; n < 3; n++) {
      await pacer.waits()
      await clock.advance(minute)
    }
    ledger.state = { ...full, used: 100, total: then }
    return { ...harness, full }
  }

  it('does not let the rest of a day be spent at one time, until as much was spent as before', async () => {
    const { pacer, ledger, clock } = await restored()
    let sent = 0
    for (let n = 0; n < 6 * 60; n++) {
      await clock.advance(minute)
      if ((await pacer.waits()).backfill > 0) continue
      sent += 1
      const { used, total } = ledger.state
      ledger.state = { ...ledger.state, used: used + 1, total: total + 1, sinceLast: 0 }
    }
    // Six hours of 480 a day are 120, and a burst is 24.
    expect(sent).toBeLessThan(150)
  })
})
