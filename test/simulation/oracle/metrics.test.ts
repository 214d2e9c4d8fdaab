import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineMetrics } from './metrics.ts'

const now = Date.UTC(2026, 0, 5, 8)
const at = (now - 60_000) / 1_000

/** What is exported by a daemon with which all is well. */
const well = `# HELP penstock_requests_total Requests
penstock_requests_total{app="a",family="classroom",operation="roomEvents",outcome="ok"} 5
penstock_requests_total{app="a",family="classroom",operation="roomEvents",outcome="rate_limited"} 2
penstock_refusals_total{operation="roomEvents",kind="rate_limited"} 2
penstock_refusals_total{operation="roomEvents",kind="unauthorized"} 1
penstock_refusals_total{operation="callSearch",kind="qps_limit"} 3
penstock_rows_total{table="classroom.room_event"} 12
penstock_rows_total{table="analytics.session_series"} 400
penstock_gaps{stream="room-events",state="open"} 3
penstock_gaps{stream="room-events",state="lost"} 0
penstock_recent_losses{stream="calls",window="hour"} 0
penstock_recent_losses{stream="calls",window="day"} 1
penstock_players{app="a",status="running"} 2
penstock_rooms{state="started"} 2
penstock_rooms{state="ended"} 1
penstock_dead_letters_total{stream="poll",reason="wrong_type"} 3
penstock_dead_letters_total{stream="poll",reason="store_refused"} 1
penstock_dead_letters_total{stream="calls",reason="malformed"} 0
penstock_budget_used_ratio{group="realtime",window="day"} 0.4
penstock_lag_seconds{stream="room-events"} 12
penstock_lag_seconds{stream="call-metrics"} 9000
penstock_backlog_seconds{stream="call-metrics"} 60
penstock_call_quality{app="a",product="Native",metric="networkDelay"} 41.5
penstock_call_quality_age_seconds{app="a",product="Native",metric="networkDelay"} 40
process_cpu_seconds_total NaN
`

/** Of 480 requests a day; of the last ten minutes' nothing may be told yet. */
const debits = [
  { group: 'realtime', apps: ['a'], all: 192, before: 190 },
  { group: 'realtime', apps: ['b'], all: 20, before: 20 },
]

/** Answers to its requests: three were turned away by their status, and three by the code beside it. */
const answers = [
  ...[200, 429, 200, 401, 429].map(status => ({ status, operation: 'roomEvents' })),
  ...[1, 2, 3].map(() => ({ status: 200, fault: 'status', operation: 'callSearch' })),
]

async function judge(
  text: string,
  requests = 7,
  before = 3,
  {
    state = 'losing',
    lost = 1,
    refused = [] as readonly number[],
    isAnswered = false,
    strange = [] as readonly string[],
    mendedAgo = [] as readonly number[],
  } = {},
): Promise<readonly string[]> {
  const rows = async (query: string) => {
    if (query.includes(`state = 'lost'`)) {
      const mended = mendedAgo.map(ago => ({ stream: 'calls', at: now - ago, isMended: true }))
      return [...[{ stream: 'calls', at: now - 7_200_000 }].slice(1 - lost), ...mended]
    }
    if (query.includes('ingest.work_item')) return [{ stream: 'call-metrics', seconds: 60 }]
    if (query.includes('ingest.debit')) return debits
    if (query.includes('cloud_player')) return [{ key: 'a running', count: 2 }]
    if (query.includes('dead_letter')) return [{ key: 'poll', least: 3, most: 4 }]
    if (query.includes('ingest.gap')) {
      return [
        { key: 'room-events open', count: 3 },
        { key: 'rooms started', count: 2 },
        { key: 'rooms ended', count: 1 },
      ]
    }
    if (query.includes('simulated.written')) return [{ key: 'slot0.1 classroom.room_event', count: 12 }]
    return [{ key: `a Native networkDelay ${at}`, value: 41.5 }]
  }
  // For their limits, minutes ago.
  const limited = refused.map(ago => ({
    ...{
      status: 200,
      operation: 'callSearch',
      refusal: 'query latency limit error',
      time: now - ago * 60_000,
    },
  }))
  const answered = isAnswered ? [{ status: 200, operation: 'callSearch', time: now }] : []
  const all = [...answers, ...limited, ...answered]
  const notices = (app: string) => (app === 'a' ? [{ bodies: strange }, { bodies: [] }] : [])
  const sandbox = {
    ...{ settings: { apps: [], quirks: { strangeNotice: strange.length > 0 ? 1 : 0 } }, notices },
    arrivals: { list: (after: number, most: number) => all.slice(after, after + most) },
  }
  const apps = ['a', 'b'].map(id => ({ id, plan: 'premium' }))
  const examination = {
    ...{ rows, sandbox, apps, isCalm: true, faults: [], askers: [{}], end: now },
  } as unknown as Examination
  const arrived = all.map((_, n) => n + 1)
  const verdict = { state, sentence: `it is ${state}` }
  const scrapes = [{ process: 'slot0.1', text, verdict, requests, arrived, now }]
  const findings = await examineMetrics(
    examination,
    scrapes,
    new Map([
      ['room-events open', before],
      ['rooms started', 2],
      ['rooms ended', 1],
    ]),
  )
  return findings.map(finding => `${finding.kind}: ${finding.text}`)
}

describe('what a daemon exports', () => {
  it('is well where it is what the world and the tables say', async () => {
    expect(await judge(well)).toEqual([])
  })

  it('may be of any moment while the ledger grew', async () => {
    const fewer = well.replace('state="open"} 3', 'state="open"} 2')
    expect(await judge(fewer, 7, 2)).toEqual([])
    expect(await judge(fewer.replace('state="open"} 2', 'state="open"} 1'), 7, 2)).toEqual([
      expect.stringMatching(/gaps.* is 1, and the ledger has 2 to 3/),
    ])
  })

  it('counts each notification that nobody can read, and what is set aside of it', async () => {
    const told = (notifications: number, letters: number) => `${well}
penstock_notifications_total{app="a",outcome="malformed"} ${notifications}
penstock_notifications_total{app="a",outcome="stored"} 7
penstock_dead_letters_total{stream="cloud-players",reason="malformed"} ${letters}
`
    const strange = ['one', 'two']
    expect(await judge(told(2, 2), 7, 3, { strange })).toEqual([])
    expect(await judge(told(1, 2), 7, 3, { strange })).toEqual([
      expect.stringMatching(/^metric: notifications_total: .*1 malformed of a, and 2 were sent$/),
    ])
    expect(await judge(told(2, 1), 7, 3, { strange })).toEqual([
      expect.stringMatching(/^metric: dead_letters_total: .*1 of notifications, and 2 were sent$/),
    ])
  })

  it('may tell of a loss that was mended while it was read, and of none that was before', async () => {
    const two = well.replace('window="day"} 1', 'window="day"} 2')
    expect(await judge(two, 7, 3, { mendedAgo: [-800] })).toEqual([])
    expect(await judge(two, 7, 3, { mendedAgo: [60_000] })).toEqual([
      expect.stringMatching(/recent_losses.* is 2, and the ledger has 1 to 1/),
    ])
  })

  it('may have told letters before what is not kept came again', async () => {
    expect(await judge(well.replace('reason="wrong_type"} 3', 'reason="wrong_type"} 2'))).toEqual([])
  })

  it.each([
    [
      'a request that was not counted',
      'outcome="ok"} 5',
      'outcome="ok"} 4',
      /requests_total.* 6 told, 7 were made/,
    ],
    [
      'rows that were counted twice',
      'room_event"} 12',
      'room_event"} 24',
      /rows_total.* 24 .* told, 12 were/,
    ],
    [
      'refusals that nobody counts',
      / *penstock_refusals_total{operation="room.*/g,
      '',
      /0 of roomEvents told, 3/,
    ],
    ['refusals beside a status of success', 'qps_limit"} 3', 'qps_limit"} 0', /0 of callSearch told, 3/],
    ['rooms that add up', 'state="started"} 2', 'state="started"} 4', /rooms.* is 4, and the ledger has 2/],
    [
      'letters that are not counted',
      'reason="wrong_type"} 3',
      'reason="wrong_type"} 1',
      /dead_letters_total.* 2 of poll told, 4 are/,
    ],
    ['a figure that is none', 'room_event"} 12', 'room_event"} NaN', /rows_total.* is NaN/],
    ['a gap that nobody sees', 'state="open"} 3', 'state="open"} 2', /gaps.* is 2, and the ledger has 3/],
    ['a loss that is none', 'state="lost"} 0', 'state="lost"} 1', /gaps.* is 1, and the ledger has 0/],
    ['a loss of two hours ago', 'window="hour"} 0', 'window="hour"} 1', /recent_losses.* is 1, .* 0 to 0/],
    ['a loss that is forgotten', 'window="day"} 1', 'window="day"} 0', /recent_losses.* is 0, .* 1 to 1/],
    ['a player that is none', 'running"} 2', 'running"} 3', /players.* is 3, and 2 are stored/],
    ['a budget above its limit', '"day"} 0.4', '"day"} 1.1', /budget_used_ratio.* is 1.1/],
    [
      'a budget of which more is told than was used',
      '"day"} 0.4',
      '"day"} 0.42',
      /budget_used_ratio.* is 0.42/,
    ],
    ['the budget of another credential', '"day"} 0.4', '"day"} 0.04', /budget_used_ratio.* is 0.04/],
    [
      'a budget that nobody tells',
      / *penstock_budget_used_ratio.*/g,
      '',
      /budget_used_ratio.* is 0, and 0.38/,
    ],
    [
      'details that nobody owes',
      'call-metrics"} 60',
      'call-metrics"} 0',
      /backlog_seconds.* and 60 s of it wait/,
    ],
    ['a log that lags', 'room-events"} 12', 'room-events"} 200', /lag_seconds.* 200 s late/],
    [
      'a value of another moment',
      'networkDelay"} 40',
      'networkDelay"} 60',
      /call_quality.* undefined is stored/,
    ],
    ['a value that is not stored', 'networkDelay"} 41.5', 'networkDelay"} 41', /is 41, .* 41.5 is stored/],
  ])('is found wrong by %s', async (_, from, to, said) => {
    const spoilt = well.replace(from, to)
    expect(spoilt).not.toBe(well)
    const found = await judge(spoilt)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(said)
  })
})

describe('what is said of the whole', () => {
  const lossless = well.replace('window="day"} 1', 'window="day"} 0')
  const about = (text: string, state: string, lost: number) => judge(text, 7, 3, { state, lost })

  it('is that all is well, or that data was lost within a day', async () => {
    expect(await about(lossless, 'well', 0)).toEqual([])
    expect(await about(well, 'losing', 1)).toEqual([])
  })

  it('may be that data will be lost where a budget does not suffice, or it is about to expire', async () => {
    expect(await about(`${lossless}penstock_expected_loss_ratio{app="a"} 0.1`, 'losing', 0)).toEqual([])
    expect(await about(`${lossless}penstock_backlog_expires_seconds{app="a"} 299`, 'losing', 0)).toEqual([])
    const later = `${lossless}penstock_backlog_expires_seconds{app="a"} 301`
    expect(await judge(later, 7, 3, { state: 'losing', lost: 0, isAnswered: true })).toEqual([
      expect.stringContaining('all is well, and it says'),
    ])
  })

  it('may be that something is behind that expires within an hour', async () => {
    expect(await about(`${lossless}penstock_backlog_expires_seconds{app="a"} 3599`, 'behind', 0)).toEqual([])
    expect(
      await about(`${lossless}penstock_backlog_expires_seconds{app="a"} 3601`, 'behind', 0),
    ).toHaveLength(1)
  })

  it('may be that something is behind where the provider goes on refusing for its limits', async () => {
    const told = lossless.replace('kind="qps_limit"} 3', 'kind="qps_limit"} 6')
    const refused = (...minutesAgo: readonly number[]) =>
      judge(told, 7, 3, { state: 'behind', lost: 0, refused: minutesAgo })
    expect(await refused(20, 10, 1)).toEqual([])
    expect(await refused(3, 2.5, 2)).toEqual([expect.stringContaining('all is well, and it says')])
  })

  it('may be that data will be lost that expire within an hour, where what was asked for last was refused', async () => {
    const expiring = (seconds: number, isAnswered: boolean) =>
      judge(`${lossless}penstock_backlog_expires_seconds{app="a"} ${seconds}`, 7, 3, {
        ...{ state: 'losing', lost: 0, isAnswered },
      })
    expect(await expiring(600, false)).toEqual([])
    expect(await expiring(3601, false)).toHaveLength(1)
    expect(await expiring(600, true)).toEqual([expect.stringContaining('all is well, and it says')])
  })

  it.each(['losing', 'stopped', 'behind', 'starting'])('is not %s where all is well', async state => {
    expect(await about(lossless, state, 0)).toEqual([expect.stringMatching(/verdict.* all is well.* is/)])
  })

  it.each(['well', 'behind', 'stopped'])('is not %s where data was lost', async state => {
    expect(await about(well, state, 1)).toEqual([expect.stringMatching(/verdict.* data was lost/)])
  })
})
