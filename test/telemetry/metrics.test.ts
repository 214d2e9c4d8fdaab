import { describe, expect, it } from 'vitest'
import { samples, setUp } from './meter-harness.ts'

const timing = { receivedAt: 0, elapsed: 250 }

describe('the metrics', () => {
  it('have the names that others rely on', async () => {
    const text = await setUp().meter.scrape()
    const types = text.split('\n').flatMap(line => /^# TYPE (penstock_\S+ \S+)$/.exec(line)?.[1] ?? [])
    expect(types.toSorted()).toEqual([
      'penstock_backlog_expires_seconds gauge',
      'penstock_backlog_seconds gauge',
      'penstock_budget_pace_ratio gauge',
      'penstock_budget_used_ratio gauge',
      'penstock_build_info gauge',
      'penstock_call_quality gauge',
      'penstock_call_quality_age_seconds gauge',
      'penstock_clock_doubt_seconds gauge',
      'penstock_commit_seconds histogram',
      'penstock_config_in_force gauge',
      'penstock_config_reloads_total counter',
      'penstock_connections_refused_total counter',
      'penstock_database_figures_age_seconds gauge',
      'penstock_database_up gauge',
      'penstock_dead_letters_total counter',
      'penstock_debits_total counter',
      'penstock_default_partition_rows gauge',
      'penstock_divergences_total counter',
      'penstock_due_series gauge',
      'penstock_event_loop_lag_seconds gauge',
      'penstock_expected_loss_ratio gauge',
      'penstock_gaps gauge',
      'penstock_ignored_values_total counter',
      'penstock_lag_seconds gauge',
      'penstock_last_success_timestamp_seconds gauge',
      'penstock_longest_pause_seconds gauge',
      'penstock_notifications_total counter',
      'penstock_orphan_players gauge',
      'penstock_pages_total counter',
      'penstock_players gauge',
      'penstock_recent_losses gauge',
      'penstock_refusals_total counter',
      'penstock_request_seconds histogram',
      'penstock_requests_total counter',
      'penstock_rooms gauge',
      'penstock_rows_total counter',
      'penstock_shards_owned gauge',
      'penstock_unframed_answers_total counter',
      'penstock_verdict gauge',
    ])
  })

  it('say what the engine told them', async () => {
    const { meter, clock } = setUp()
    const labels = { app: 'app1', stream: 'room-events' } as const
    await clock.advance(5_000)
    meter.request('app1', 'classroom', 'roomEvents', 'ok', timing)
    meter.request('app1', 'classroom', 'roomEvents', 'timeout', timing)
    meter.limitViolation('roomEvents', 'rate_limited')
    meter.page(labels, 'committed')
    meter.rows({ 'classroom.room_event': 100, 'classroom.attendance': 7 })
    meter.commit(3)
    meter.deadLetters(labels, 'missing_key', 2)
    meter.divergences(labels, 1)
    meter.ignored(labels, 3)
    meter.debit('classroom')
    meter.owned(64)
    meter.unframed({ family: 'classroom', name: 'roomEvents' } as Parameters<typeof meter.unframed>[0])
    const text = await meter.scrape()
    for (const line of [
      'penstock_requests_total{family="classroom",operation="roomEvents",app="app1",outcome="ok"} 1',
      'penstock_requests_total{family="classroom",operation="roomEvents",app="app1",outcome="timeout"} 1',
      'penstock_request_seconds_bucket{le="0.1",family="classroom",operation="roomEvents"} 0',
      'penstock_request_seconds_bucket{le="0.25",family="classroom",operation="roomEvents"} 2',
      'penstock_refusals_total{operation="roomEvents",kind="rate_limited"} 1',
      'penstock_pages_total{stream="room-events",outcome="committed"} 1',
      'penstock_last_success_timestamp_seconds{stream="room-events"} 1767225605',
      'penstock_rows_total{table="classroom.room_event"} 100',
      'penstock_commit_seconds_sum 0.003',
      'penstock_dead_letters_total{stream="room-events",reason="missing_key"} 2',
      'penstock_divergences_total{stream="room-events"} 1',
      'penstock_debits_total{limit_group="classroom"} 1',
      'penstock_shards_owned 64',
      'penstock_unframed_answers_total{family="classroom",operation="roomEvents"} 1',
      `penstock_build_info{version="0.1.0",node="${process.version}"} 1`,
    ]) {
      expect(text.split('\n')).toContain(line)
    }
  })

  it('that should stay zero are there from the start', async () => {
    const text = await setUp().meter.scrape()
    for (const line of [
      'penstock_refusals_total{operation="appEvents",kind="rate_limited"} 0',
      'penstock_refusals_total{operation="roomEvents",kind="unauthorized"} 0',
      'penstock_divergences_total{stream="app-events"} 0',
      'penstock_dead_letters_total{stream="room-events",reason="malformed"} 0',
      'penstock_dead_letters_total{stream="room-events",reason="missing_key"} 0',
      'penstock_pages_total{stream="room-events",outcome="looped"} 0',
      'penstock_gaps{stream="room-events",state="lost"} 0',
    ]) {
      expect(text.split('\n')).toContain(line)
    }
  })

  it('tell the lag of each app, until it has caught up or belongs to someone else', async () => {
    const { meter } = setUp()
    meter.schedule({ app: 'a', stream: 'room-events' }, { series: 3, lateBy: 2_000 })
    meter.schedule({ app: 'b', stream: 'room-events' }, { series: 4, lateBy: 90_000 })
    expect(samples(await meter.scrape(), 'penstock_lag_seconds')).toEqual([
      'penstock_lag_seconds{app="a",stream="room-events"} 2',
      'penstock_lag_seconds{app="b",stream="room-events"} 90',
    ])
    meter.schedule({ app: 'b', stream: 'room-events' }, { series: 0, lateBy: 0 })
    const text = await meter.scrape()
    expect(samples(text, 'penstock_lag_seconds')).toEqual([
      'penstock_lag_seconds{app="a",stream="room-events"} 2',
      'penstock_lag_seconds{app="b",stream="room-events"} 0',
    ])
    expect(samples(text, 'penstock_due_series')).toEqual([
      'penstock_due_series{app="a",stream="room-events"} 3',
      'penstock_due_series{app="b",stream="room-events"} 0',
    ])
    meter.owned(0)
    expect(samples(await meter.scrape(), 'penstock_lag_seconds')).toEqual([])
  })
})

describe('labels', () => {
  const many = Array.from({ length: 10_000 }, (_, i) => `app${i}`)

  it('are given to the first apps of the configuration, whichever is heard of first', async () => {
    const { meter } = setUp({ apps: many, perApp: 2 })
    for (const app of many.toReversed()) meter.request(app, 'classroom', 'roomEvents', 'ok', timing)
    meter.request('app1', 'classroom', 'roomEvents', 'ok', timing)
    meter.request('unheard of', 'classroom', 'roomEvents', 'ok', timing)
    const found = samples(await meter.scrape(), 'penstock_requests_total')
    expect(found.toSorted()).toEqual([
      'penstock_requests_total{family="classroom",operation="roomEvents",app="app0",outcome="ok"} 1',
      'penstock_requests_total{family="classroom",operation="roomEvents",app="app1",outcome="ok"} 2',
      'penstock_requests_total{family="classroom",operation="roomEvents",app="others",outcome="ok"} 9999',
    ])
  })

  it('are given to an app that has failed for a minute, for good, and to a bounded number of such apps', async () => {
    const { meter, clock } = setUp({ apps: many, perApp: 1 })
    const labels = async () =>
      [...(await meter.scrape()).matchAll(/^penstock_requests_total.*app="(\w+)",outcome="ok"/gm)].map(
        ([, app]) => app,
      )
    meter.request('app7', 'classroom', 'roomEvents', 'unauthorized', timing)
    await clock.advance(60_000)
    await meter.scrape()
    for (const app of ['app7', 'app8']) meter.request(app, 'classroom', 'roomEvents', 'ok', timing)
    expect(await labels()).toEqual(['app7', 'others'])
    for (const app of many) meter.request(app, 'classroom', 'roomEvents', 'timeout', timing)
    await clock.advance(60_000)
    await meter.scrape()
    for (const app of many) meter.request(app, 'classroom', 'roomEvents', 'ok', timing)
    const found = new Set(await labels())
    expect([found.size, found.has('app7')]).toEqual([1 + 20 + 1, true])
  })

  it('count notifications from 0 for every app that has them, where there are any', async () => {
    const { meter } = setUp({ apps: ['app0'], noticeOutcomes: ['stored'], noticeApps: ['app0'] })
    expect(samples(await meter.scrape(), 'penstock_notifications_total')).toEqual([
      'penstock_notifications_total{app="",outcome="stored"} 0',
      'penstock_notifications_total{app="app0",outcome="stored"} 0',
    ])
    const { meter: without } = setUp({ noticeOutcomes: ['stored'] })
    expect(samples(await without.scrape(), 'penstock_notifications_total')).toEqual([])
  })

  it('count notifications by app and outcome, and those that nobody signed under none', async () => {
    const { meter } = setUp({ apps: ['app0', 'app1'], perApp: 1, noticeOutcomes: ['stored', 'unsigned'] })
    meter.notification('app0', 'stored')
    meter.notification('app1', 'stored')
    meter.notification(undefined, 'unsigned')
    meter.notification(undefined, 'user 4711')
    expect(samples(await meter.scrape(), 'penstock_notifications_total')).toEqual([
      'penstock_notifications_total{app="app0",outcome="stored"} 1',
      'penstock_notifications_total{app="others",outcome="stored"} 1',
      'penstock_notifications_total{app="",outcome="unsigned"} 1',
      'penstock_notifications_total{app="",outcome="other"} 1',
    ])
  })

  it('hold no character that a reader of metrics could stumble over', async () => {
    const { meter } = setUp({ apps: ['a\0b\ud800c\nd"e'] })
    meter.request('a\0b\ud800c\nd"e', 'classroom', 'roomEvents', 'ok', timing)
    const [found] = samples(await meter.scrape(), 'penstock_requests_total')
    expect(found).toContain('app="a?b?c?d\\"e"')
  })

  it('know only the operations and reasons of the daemon', async () => {
    const { meter } = setUp()
    meter.limitViolation('room 4711', 'timeout')
    meter.deadLetters({ app: 'app1', stream: 'room-events' }, 'user 4711', 1)
    const text = await meter.scrape()
    expect(text).not.toContain('4711')
    expect(text).toContain('penstock_refusals_total{operation="other",kind="timeout"} 1')
  })
})

it('the verdict is a metric of which one state holds', async () => {
  const { meter } = setUp()
  meter.verdict('well')
  meter.verdict('behind')
  const told = (await meter.scrape()).match(/^penstock_verdict.*$/gm)
  expect(told).toEqual([
    ...['penstock_verdict{state="well"} 0', 'penstock_verdict{state="starting"} 0'],
    ...['penstock_verdict{state="behind"} 1', 'penstock_verdict{state="losing"} 0'],
    'penstock_verdict{state="stopped"} 0',
  ])
})

it('a stream that is asked at moments has its longest pause, and one that is not has none', async () => {
  const { meter } = setUp({ pauses: () => new Map([['app-events', 240]]) })
  expect(samples(await meter.scrape(), 'penstock_longest_pause_seconds')).toEqual([
    'penstock_longest_pause_seconds{stream="app-events"} 240',
  ])
})

it('an app that the configuration names later has series of its own, and one that it names no more has no lag', async () => {
  const { meter } = setUp({ apps: ['app0', 'app1'], perApp: 200 })
  const late = { series: 3, lateBy: 60_000 }
  for (const app of ['app0', 'app1', 'app2']) meter.schedule({ app, stream: 'app-events' }, late)
  meter.follow(['app1', 'app2'], ['app0'])
  const found = samples(await meter.scrape(), 'penstock_lag_seconds')
  expect(found).toEqual([
    'penstock_lag_seconds{app="app1",stream="app-events"} 60',
    'penstock_lag_seconds{app="app2",stream="app-events"} 60',
  ])
})

it('shards that cannot be renewed are owned no more, and a database that takes no rows is not up', async () => {
  const { meter } = setUp()
  const told = async () => {
    const text = await meter.scrape()
    return [...samples(text, 'penstock_shards_owned'), ...samples(text, 'penstock_database_up')]
  }
  meter.owned(64)
  expect(await told()).toEqual(['penstock_shards_owned 64', 'penstock_database_up 1'])
  meter.unrenewed({ code: '57014' })
  expect(await told()).toEqual(['penstock_shards_owned 0', 'penstock_database_up 1'])
  meter.unrenewed({ code: '25006' })
  expect(await told()).toEqual(['penstock_shards_owned 0', 'penstock_database_up 0'])
  meter.owned(64)
  expect(await told()).toEqual(['penstock_shards_owned 64', 'penstock_database_up 1'])
})

it('a database whose disk is full is not up, though some pages find room, until none failed for a minute', async () => {
  const { meter, clock } = setUp()
  const told = async () => samples(await meter.scrape(), 'penstock_database_up')
  meter.storeFailed({ code: '57014' })
  expect(await told()).toEqual(['penstock_database_up 1'])
  expect(meter.reading([]).databaseFullSince).toBeNull()
  const since = new Date(clock.now()).toISOString()
  for (let n = 0; n < 4; n++) {
    meter.storeFailed({ code: '53100' })
    meter.owned(64)
    await clock.advance(59_000)
    expect(await told()).toEqual(['penstock_database_up 0'])
    expect(meter.reading([]).databaseFullSince).toBe(since)
  }
  await clock.advance(1_000)
  expect(await told()).toEqual(['penstock_database_up 1'])
  expect(meter.reading([]).databaseFullSince).toBeNull()
})
