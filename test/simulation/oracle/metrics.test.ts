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
penstock_rows_total{table="classroom.room_event"} 12
penstock_rows_total{table="analytics.session_series"} 400
penstock_gaps{stream="room-events",state="open"} 3
penstock_gaps{stream="room-events",state="lost"} 0
penstock_recent_losses{stream="calls",window="hour"} 0
penstock_recent_losses{stream="calls",window="day"} 1
penstock_verdict{state="well"} 0
penstock_verdict{state="losing"} 1
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

/** Answers to its requests: three were turned away. */
const answers = [200, 429, 200, 401, 429].map(status => ({ status, operation: 'roomEvents' }))

async function judge(text: string, requests = 7, before = 3): Promise<readonly string[]> {
  const rows = async (query: string) => {
    if (query.includes(`state = 'lost'`)) return [{ stream: 'calls', at: now - 7_200_000 }]
    if (query.includes('ingest.work_item')) return [{ stream: 'call-metrics', seconds: 60 }]
    if (query.includes('cloud_player')) return [{ key: 'a running', count: 2 }]
    if (query.includes('dead_letter')) return [{ key: 'poll', count: 4 }]
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
  const sandbox = { arrivals: { list: (after: number, most: number) => answers.slice(after, after + most) } }
  const examination = { rows, sandbox, isCalm: true, faults: [], askers: [{}] } as unknown as Examination
  const arrived = answers.map((_, n) => n + 1)
  const scrapes = [{ process: 'slot0.1', text, requests, arrived, now }]
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
    ['refusals that nobody counts', / *penstock_refusals_total.*/g, '', /refusals_total.* none told, 3/],
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
    [
      'a verdict that knows of no loss',
      /well"} 0(.*\n.*)losing"} 1/,
      'well"} 1$1losing"} 0',
      /verdict.* well, and data was/,
    ],
    ['a verdict that is none', 'losing"} 1', 'losing"} 0', /verdict.* 0 states hold/],
    ['a player that is none', 'running"} 2', 'running"} 3', /players.* is 3, and 2 are stored/],
    ['a budget above its limit', '"day"} 0.4', '"day"} 1.1', /budget_used_ratio.* is 1.1/],
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
