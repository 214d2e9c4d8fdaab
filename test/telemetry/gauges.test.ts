import { describe, expect, it } from 'vitest'
import type { QualityRealtimeRow } from '../../src/tables/analytics.ts'
import { samples, setUp } from './meter-harness.ts'

function freeze(at: string, value: number, parts: Partial<QualityRealtimeRow> = {}): QualityRealtimeRow {
  return {
    product: 'Native',
    metric: 'audioFreezeRate',
    cname: '',
    uid: '',
    at,
    value,
    extra: null,
    ...parts,
  }
}

describe('what is owed', () => {
  it('is told by app, of those beyond the cap added up, and the soonest end counts down between two readings', async () => {
    const { meter, clock } = setUp({ perApp: 1 })
    meter.backlog({ app: 'a', stream: 'calls' }, { seconds: 7, expiresIn: 660_000 })
    meter.backlog({ app: 'b', stream: 'calls' }, { seconds: 60, expiresIn: 3_600_000 })
    meter.backlog({ app: 'c', stream: 'calls' }, { seconds: 5, expiresIn: 600_000 })
    await clock.advance(60_000)
    const text = await meter.scrape()
    expect(samples(text, 'penstock_backlog_seconds')).toEqual([
      'penstock_backlog_seconds{app="a",stream="calls"} 7',
      'penstock_backlog_seconds{app="others",stream="calls"} 65',
    ])
    expect(samples(text, 'penstock_backlog_expires_seconds')).toEqual([
      'penstock_backlog_expires_seconds{app="a",stream="calls"} 600',
      'penstock_backlog_expires_seconds{app="others",stream="calls"} 540',
    ])
  })

  it('singles out the app whose data are about to expire, and the one whose rooms are late', async () => {
    const { meter } = setUp({ perApp: 0, apps: ['a', 'b', 'c', 'd'] })
    for (const [app, lateBy] of [
      ['a', 299_999],
      ['b', 300_000],
      ['c', 5_000],
    ] as const)
      meter.schedule({ app, stream: 'room-events' }, { series: 2, lateBy })
    meter.schedule({ app: 'c', stream: 'calls' }, { series: 1, lateBy: 7_200_000 })
    meter.backlog({ app: 'c', stream: 'calls' }, { seconds: 5, expiresIn: 300_001 })
    meter.schedule({ app: 'd', stream: 'calls' }, { series: 1, lateBy: 1 })
    meter.backlog({ app: 'd', stream: 'calls' }, { seconds: 5, expiresIn: 300_000 })
    expect(samples(await meter.scrape(), 'penstock_lag_seconds')).toEqual([
      'penstock_lag_seconds{app="others",stream="room-events"} 299.999',
      'penstock_lag_seconds{app="b",stream="room-events"} 300',
      'penstock_lag_seconds{app="others",stream="calls"} 7200',
      'penstock_lag_seconds{app="d",stream="calls"} 0.001',
    ])
  })

  it('has no end while nothing is owed', async () => {
    const { meter } = setUp({ streams: ['calls', 'room-events'] })
    meter.backlog({ app: 'a', stream: 'calls' }, { seconds: 0, expiresIn: null })
    const text = await meter.scrape()
    expect(samples(text, 'penstock_backlog_expires_seconds')).toEqual([])
    expect(samples(text, 'penstock_backlog_seconds')).toEqual([
      'penstock_backlog_seconds{app="a",stream="calls"} 0',
    ])
  })

  it('is forgotten when the apps are another process’s', async () => {
    const { meter } = setUp()
    meter.backlog({ app: 'a', stream: 'calls' }, { seconds: 60, expiresIn: 1_000 })
    meter.owned(0)
    expect(samples(await meter.scrape(), 'penstock_backlog_expires_seconds')).toEqual([])
  })
})

it('a budget that this process asks nothing of any more does not stay spent', async () => {
  const { meter, clock } = setUp()
  meter.budget('key:a', 'call-search', { used: 1, pace: 1, over: 3_600_000 })
  const used = async () => {
    const [line = ''] = samples(await meter.scrape(), 'penstock_budget_used_ratio')
    return Number(line.split(' ').at(-1))
  }
  await clock.advance(20 * 3_600_000)
  expect(await used()).toBe(1)
  await clock.advance(4 * 3_600_000)
  expect(await used()).toBe(0)
})

describe('call quality', () => {
  it('is the latest value of the whole project, with the age of its window', async () => {
    const { meter, clock } = setUp()
    const minuteAgo = new Date(clock.now() - 60_000).toISOString()
    const earlier = new Date(clock.now() - 80_000).toISOString()
    meter.quality('a', [
      freeze(minuteAgo, 1.5),
      freeze(earlier, 9),
      freeze(minuteAgo, 7, { cname: 'algebra' }),
      freeze(minuteAgo, 8, { cname: 'algebra', uid: '12' }),
    ])
    const text = await meter.scrape()
    expect(samples(text, 'penstock_call_quality')).toEqual([
      'penstock_call_quality{app="a",product="Native",metric="audioFreezeRate"} 1.5',
    ])
    expect(samples(text, 'penstock_call_quality_age_seconds')).toEqual([
      'penstock_call_quality_age_seconds{app="a",product="Native",metric="audioFreezeRate"} 40',
    ])
  })

  it('that is asked for and never came grows old from the moment that it is asked for', async () => {
    const asked = [
      { app: 'a', product: 'Native', metric: 'audioFreezeRate' },
      { app: 'a', product: 'Native', metric: 'joinSuccessRate' },
    ]
    const { meter, clock } = setUp({ qualityAsked: () => asked })
    const ages = async () => samples(await meter.scrape(), 'penstock_call_quality_age_seconds').toSorted()
    const age = (metric: string, seconds: number) =>
      `penstock_call_quality_age_seconds{app="a",product="Native",metric="${metric}"} ${seconds}`
    expect(await ages()).toEqual([age('audioFreezeRate', 0), age('joinSuccessRate', 0)])
    await clock.advance(90_000)
    meter.quality('a', [freeze(new Date(clock.now() - 30_000).toISOString(), 1)])
    expect(await ages()).toEqual([age('audioFreezeRate', 10), age('joinSuccessRate', 90)])
    expect(samples(await meter.scrape(), 'penstock_call_quality')).toHaveLength(1)
    asked.length = 0
    await meter.scrape()
    asked.push({ app: 'a', product: 'Native', metric: 'joinSuccessRate' })
    expect(await ages()).toEqual([age('audioFreezeRate', 10), age('joinSuccessRate', 0)])
  })

  it('of apps beyond the cap is the worst of the last hour, with its age', async () => {
    const { meter, clock } = setUp({ perApp: 0 })
    const ago = (seconds: number) => new Date(clock.now() - (seconds + 20) * 1_000).toISOString()
    const joins = { metric: 'joinSuccessRate' }
    meter.quality('a', [freeze(ago(3_700), 9), freeze(ago(60), 95, joins)])
    meter.quality('b', [freeze(ago(120), 3), freeze(ago(90), 91, joins)])
    meter.quality('c', [freeze(ago(30), 2), freeze(ago(30), 99, joins)])
    const text = await meter.scrape()
    const labels = (metric: string) => `{app="others",product="Native",metric="${metric}"}`
    expect(samples(text, 'penstock_call_quality')).toEqual([
      `penstock_call_quality${labels('audioFreezeRate')} 3`,
      `penstock_call_quality${labels('joinSuccessRate')} 91`,
    ])
    expect(samples(text, 'penstock_call_quality_age_seconds')).toEqual([
      `penstock_call_quality_age_seconds${labels('audioFreezeRate')} 120`,
      `penstock_call_quality_age_seconds${labels('joinSuccessRate')} 90`,
    ])
  })

  it('does not go back when an older window is read again', async () => {
    const { meter, clock } = setUp()
    meter.quality('a', [freeze(new Date(clock.now() - 60_000).toISOString(), 2)])
    meter.quality('a', [freeze(new Date(clock.now() - 600_000).toISOString(), 3)])
    expect(samples(await meter.scrape(), 'penstock_call_quality')[0]).toMatch(/ 2$/)
  })

  it('is bounded, however many products and metrics a provider names', async () => {
    const { meter, clock } = setUp()
    const at = new Date(clock.now()).toISOString()
    for (let n = 0; n < 5_000; n++) meter.quality('a', [freeze(at, n, { metric: `metric${n}` })])
    expect(samples(await meter.scrape(), 'penstock_call_quality').length).toBeLessThanOrEqual(2_000)
  })
})

describe('budgets and clocks', () => {
  it('tell the fullest budget of a limit group', async () => {
    const { meter } = setUp()
    meter.budget('key:1', 'realtime', { used: 0.25, pace: 1, over: 3_600_000 })
    meter.budget('key:2', 'realtime', { used: 0.75, pace: 0.5, over: 3_600_000 })
    expect(samples(await meter.scrape(), 'penstock_budget_used_ratio')).toEqual([
      'penstock_budget_used_ratio{group="realtime",window="day"} 0.75',
    ])
  })

  it('tell the highest pace of a limit group, and a lower one the longer nobody has counted', async () => {
    const { meter, clock } = setUp()
    const paceOf = async () => samples(await meter.scrape(), 'penstock_budget_pace_ratio')
    meter.budget('key:1', 'realtime', { used: 0.25, pace: 3, over: 3_600_000 })
    meter.budget('key:2', 'realtime', { used: 0.75, pace: 0.5, over: 3_600_000 })
    expect(await paceOf()).toEqual(['penstock_budget_pace_ratio{group="realtime"} 3'])
    await clock.advance(1_800_000)
    expect(await paceOf()).toEqual(['penstock_budget_pace_ratio{group="realtime"} 2'])
    meter.owned(0)
    expect(await paceOf()).toEqual([])
  })

  it('tell the largest share of calls that cannot be measured as it goes now, and that it is none again', async () => {
    const { meter } = setUp()
    const lossAhead = async () => samples(await meter.scrape(), 'penstock_expected_loss_ratio')
    meter.lossAhead('a', 'call-details', 0.25)
    meter.lossAhead('b', 'call-details', 0.125)
    expect(await lossAhead()).toEqual(['penstock_expected_loss_ratio{group="call-details"} 0.25'])
    meter.lossAhead('a', 'call-details', 0)
    expect(await lossAhead()).toEqual(['penstock_expected_loss_ratio{group="call-details"} 0.125'])
    meter.lossAhead('b', 'call-details', 0)
    expect(await lossAhead()).toEqual(['penstock_expected_loss_ratio{group="call-details"} 0'])
    meter.owned(0)
    expect(await lossAhead()).toEqual([])
  })

  it('tell nothing of a limit group of which every app is drained elsewhere by now', async () => {
    const { meter } = setUp()
    meter.lossAhead('a', 'call-details', 0.25)
    meter.schedule({ app: 'a', stream: 'calls' }, { series: 2, lateBy: 5_000 })
    meter.backlog({ app: 'a', stream: 'calls' }, { seconds: 60, expiresIn: 3_600_000 })
    meter.left('a')
    const text = await meter.scrape()
    expect(samples(text, 'penstock_expected_loss_ratio')).toEqual([])
    expect(text).not.toMatch(/ (NaN|[+-]?Inf(inity)?)$/m)
  })

  it('tell how far the database’s clock jumped', async () => {
    const { meter } = setUp()
    meter.clockDoubt(172_800_000)
    expect(samples(await meter.scrape(), 'penstock_clock_doubt_seconds')).toEqual([
      'penstock_clock_doubt_seconds 172800',
    ])
  })
})
