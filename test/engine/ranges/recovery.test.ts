import { describe, expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { RunningApp } from '../../../src/engine/app.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { createPacers } from '../../../src/engine/ranges/pacer.ts'
import type { RangeLimits } from '../../../src/planning/windows.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import { perDay, perMinute, perSecond, type Rate } from '../../../src/provider/limits.ts'
import type { StreamName, WindowSettings, WindowStream } from '../../../src/streams/stream.ts'
import { DayLedger } from '../day-ledger.ts'
import { calls } from '../fake-windows.ts'
import { appOf, createHarness, fence, hour, minute, settingsOf } from '../harness.ts'

/** What is available for a week may wait for hours when it failed, what is for forty minutes may not. */
const ranges = {
  'call-search': { availableData: 7 * 86_400, timeFrame: 57_600, dataDelay: 60 },
  realtime: { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 },
}
const values: WindowStream = {
  ...calls,
  name: 'realtime-usage',
  operation: { ...calls.operation, limitGroup: 'realtime' },
}
const settings: WindowSettings = {
  series: [{ key: '', ask: {}, step: 1 }],
  every: minute,
  allowedLateness: 0,
  revisitEvery: 10 * minute,
  frame: 'needed',
}

interface Question {
  readonly group: string
  /** The series of it that has a name. */
  readonly series: string | null
}

/** An app that drains these streams from a provider that answers as a test says. */
function startApp(
  groups: Readonly<Record<string, RangeLimits>>,
  windows: Readonly<Record<StreamName, WindowSettings>>,
  {
    rates,
    streams,
    answers,
  }: {
    readonly rates: readonly Rate[]
    readonly streams: readonly WindowStream[]
    readonly answers: (question: Question) => FailureKind | undefined
  },
) {
  const harness = createHarness([])
  const ledger = new DayLedger(harness.clock)
  const blank = appOf('a1', [])
  const limits = Object.fromEntries(
    Object.entries(groups).map(([group, range]) => {
      return [group, { scope: 'a1', range, rates, concurrency: 2, counted: 'ledger' }]
    }),
  ) as typeof blank.limits
  const app = { ...blank, windows, limits: { ...blank.limits, ...limits } }
  const engine = settingsOf([app])
  harness.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  harness.transport.send = async (_app, { operation, target }) => {
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    const series = new URL(target, 'http://provider').searchParams.get('cname')
    const kind = answers({ group: operation.limitGroup, series })
    if (kind) return { ok: false, failure: { kind, text: kind }, timing }
    return { ok: true, answer: { body: { items: [] }, answeredAt: undefined, size: 0 }, timing }
  }
  const controller = new AbortController()
  const running = new RunningApp({
    context: {
      ...{ ...harness, app, settings: engine, fence: () => fence, signal: controller.signal },
      admission: new Admission({ ...harness, ledger }, engine.deadline),
      health: createStoreHealth(harness, () => {}),
      onFenced: () => {},
    },
    streams,
    pacers: createPacers({ ...harness, ledger }),
    clockOffset: harness.transport.clockOffset.bind(null, 'analytics'),
  })
  const goOn = async (ms: number) => {
    for (let at = 0; at < ms; at += minute) await harness.clock.advance(minute)
  }
  const stop = async () => {
    controller.abort()
    await harness.clock.advance(minute)
    await running.done
  }
  return { clock: harness.clock, goOn, stop }
}

/** Drains a search and values for `during`; answers when each group was served after that, ms after it ended. */
async function servedAfter(
  during: number,
  fails: (group: string) => boolean,
  rates: readonly Rate[] = [perSecond(100)],
): Promise<Readonly<Record<string, { readonly first: number | undefined; readonly asked: number }>>> {
  let isWell = false
  const served: { readonly group: string; readonly at: number }[] = []
  const refused: string[] = []
  const { clock, goOn, stop } = startApp(
    ranges,
    { calls: settings, 'realtime-usage': settings },
    {
      rates,
      streams: [calls, values],
      answers: ({ group }) => {
        if (!isWell && fails(group)) {
          refused.push(group)
          return 'bad_request'
        }
        if (isWell) served.push({ group, at: clock.monotonic() })
        return undefined
      },
    },
  )
  await goOn(during)
  isWell = true
  const since = clock.monotonic()
  await goOn(30 * minute)
  await stop()
  return Object.fromEntries(
    Object.keys(ranges).map(group => {
      const found = served.find(one => one.group === group)
      const asked = refused.filter(one => one === group).length
      return [group, { first: found && found.at - since, asked }]
    }),
  )
}

it('what fails in every stream of an app is asked again in all of them as soon as one is answered', async () => {
  for (const { first } of Object.values(await servedAfter(hour, () => true))) {
    expect(first).toBeLessThan(5 * minute)
  }
})

it('what alone fails is asked again within minutes of being answered', async () => {
  const { 'call-search': search } = await servedAfter(40 * minute, group => group === 'call-search')
  expect(search!.first).toBeLessThan(5 * minute)
})

it('what fails for a day costs no more than a part of what the budget allows', async () => {
  const perDayOf = async (requests: number) => {
    const found = await servedAfter(24 * hour, group => group === 'call-search', [perDay(requests)])
    return found['call-search']!.asked
  }
  expect(await perDayOf(1_000)).toBeLessThan(1_000 / 4)
  expect(await perDayOf(40)).toBeLessThan(40 / 4)
})

describe('eight metrics that share forty requests a day', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  /** As on a plan that has them: hours of the past two weeks, told half a day late, all of it in one answer or a few. */
  const insight = { availableData: 14 * 86_400, timeFrame: 3 * 86_400, dataDelay: 43_200 }
  const metrics: WindowStream = {
    ...calls,
    name: 'usage-insight',
    operation: { ...calls.operation, limitGroup: 'usage-insight' },
    request: (app, { key }, { start, end }, page) => {
      return { appid: app, start_ts: start, end_ts: end, cname: key, page_no: page, page_size: 3 }
    },
  }
  const hourly: WindowSettings = {
    ...{ every: hour, allowedLateness: 48 * 3_600, revisitEvery: hour, frame: 'full' },
    series: names.map(key => ({ key, ask: {}, step: 3_600 })),
  }

  /** Drains them while some fail; `asked` says when each was asked, ms. */
  function start(kindOf: (series: string) => FailureKind | undefined) {
    const asked = new Map<string, number[]>(names.map(name => [name, []]))
    const { clock, goOn, stop } = startApp(
      { 'usage-insight': insight },
      { 'usage-insight': hourly },
      {
        rates: [perMinute(3), perDay(40)],
        streams: [metrics],
        answers: ({ series }) => {
          asked.get(series!)!.push(clock.monotonic())
          return kindOf(series!)
        },
      },
    )
    return { clock, goOn, stop, asked }
  }

  it.each(['server_error', 'timeout'] as const)(
    '%s, of one of them alone, keeps no other waiting',
    async kind => {
      const { asked, goOn, stop } = start(series => (series === 'c' ? kind : undefined))
      await goOn(4 * 24 * hour)
      await stop()
      const { c: failing, ...well } = Object.fromEntries(asked)
      expect(failing!.length).toBeLessThan((4 * 40) / 8)
      for (const times of Object.values(well)) {
        const later = times.filter(at => at > 24 * hour)
        const pauses = later.slice(1).map((at, n) => at - later[n]!)
        // A round of eight at an even pace takes some five hours.
        expect(Math.max(...pauses)).toBeLessThan(10 * hour)
        expect(later.length).toBeGreaterThan(10)
      }
    },
  )

  it('are all asked soon after an outage that met all of them', async () => {
    let isWell = true
    const { clock, asked, goOn, stop } = start(() => (isWell ? undefined : 'server_error'))
    await goOn(24 * hour)
    isWell = false
    await goOn(24 * hour)
    isWell = true
    const since = clock.monotonic()
    await goOn(12 * hour)
    await stop()
    for (const times of asked.values()) {
      expect(times.find(at => at > since)! - since).toBeLessThan(8 * hour)
    }
  })

  it('one that failed alone is asked as the others are soon after it is answered', async () => {
    let isWell = false
    const { clock, asked, goOn, stop } = start(series =>
      series === 'c' && !isWell ? 'server_error' : undefined,
    )
    await goOn(4 * 24 * hour)
    isWell = true
    const since = clock.monotonic()
    await goOn(48 * hour)
    await stop()
    const times = asked.get('c')!.filter(at => at > since)
    expect(times[0]! - since).toBeLessThan(24 * hour)
    expect(times.length).toBeGreaterThan(3)
  })
})
