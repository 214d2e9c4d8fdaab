import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examineAnalytics } from './analytics.ts'
import { examineComplete } from './analytics-complete.ts'
import { examineGaps } from './analytics-gaps.ts'
import { examineCallGaps } from './call-gaps.ts'
import { examineDebits } from './debits.ts'
import type { Examination } from './examination.ts'
import { type Filled, fillAnalytics } from './filled.ts'
import { examineOwed } from './owed.ts'

type Planted = readonly [what: string, sql: string, found: RegExp]

let filled: Filled

beforeAll(async () => {
  filled = await fillAnalytics()
})
afterAll(() => filled.close())

/** Who says so. */
function subjectOf({ source }: RegExp) {
  if (source.startsWith('^complete')) return examineComplete
  if (source.startsWith('^owed')) return examineOwed
  if (source.startsWith('^debit')) return examineDebits
  return source.includes('demo call') ? examineCallGaps : examineGaps
}

const gap = (columns: string, values: string) =>
  `insert into ingest.gap (app_id, unit, state, first_seen_at, updated_at, ${columns}) values ('demo', 'time', 'lost', '2026-01-05T12:00Z', '2026-01-05T12:00Z', ${values})`
const aCall = (column: string) => `(select ${column} from analytics.call order by call_id limit 1)`

/** What somebody did to ledgers that say what happened, and what must be said of it. */
const planted: readonly Planted[] = [
  [
    'a gap one window too wide',
    `update ingest.gap set range_to = range_to + interval '20 s'`,
    /^gap: .*is stored|^gap: .*served, stored/,
  ],
  [
    'a gap one window too narrow',
    `update ingest.gap set range_to = range_to - interval '20 s'`,
    /^gap: .*missing/,
  ],
  [
    'a gap that begins a window too early',
    `update ingest.gap set range_from = range_from - interval '20 s'`,
    /^gap: .*served, stored/,
  ],
  [
    'a gap of a time before anything could be had',
    gap(
      'stream, series, reason, range_from, range_to',
      `'realtime-usage', 'Native/userCount', 'expired',
       (select min(range_from) - interval '4 hours' from ingest.gap), (select min(range_from) - interval '3 hours' from ingest.gap)`,
    ),
    /^gap: .*before anything could be had/,
  ],
  [
    'a gap of no whole windows',
    `update ingest.gap set range_to = range_to + interval '5 s'`,
    /^gap: .*no whole times/,
  ],
  [
    'a gap for another reason',
    `update ingest.gap set reason = 'unconfirmed'`,
    /^gap: .*unconfirmed, lost; never answered/,
  ],
  [
    'a gap of what was never served',
    `update ingest.gap set reason = 'not_served', state = 'absent'`,
    /^gap: .*not_served, absent; never/,
  ],
  [
    'a gap of another series',
    `update ingest.gap set series = 'Native/channelCount'`,
    /^gap: .*of nothing that is asked/,
  ],
  [
    'a gap that is told too early',
    `update ingest.gap set first_seen_at = first_seen_at - interval '1 h'`,
    /^gap: .*too early/,
  ],
  ['a missing gap', 'delete from ingest.gap', /^gap: .*missing; never answered/],
  [
    'a doubled gap',
    `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select app_id, stream, series, unit, range_from + interval '1 min', range_to, reason, state, first_seen_at, updated_at from ingest.gap`,
    /^gap: .*twice/,
  ],
  [
    'a row that is gone',
    `delete from analytics.usage_realtime where ctid = (select ctid from analytics.usage_realtime limit 1)`,
    /^lost: demo realtime-usage/,
  ],
  [
    'calls that were read',
    gap(
      'stream, series, range_from, range_to, reason',
      `'calls', '', ${aCall('created_at')}, ${aCall("created_at + interval '1 min'")}, 'expired'`,
    ),
    /^gap: demo calls: was answered/,
  ],
  [
    'calls that may still be had',
    gap(
      'stream, series, range_from, range_to, reason',
      `'calls', '', ${aCall('created_at')}, ${aCall("created_at + interval '1 min'")}, 'expired'`,
    ),
    /^gap: demo calls: too early/,
  ],
  [
    'sessions that may still be had',
    gap(
      'stream, series, range_from, range_to, reason',
      `'call-sessions', ${aCall('call_id')}, ${aCall('created_at')}, ${aCall('destroyed_at')}, 'expired'`,
    ),
    /^gap: demo call-sessions: for another reason/,
  ],
  [
    'metrics of nobody',
    gap(
      'stream, series, range_from, range_to, reason',
      `'call-metrics', 'x', ${aCall('created_at')}, ${aCall('destroyed_at')}, 'expired'`,
    ),
    /^gap: demo call-metrics: of nobody/,
  ],
  [
    'metrics of another range',
    gap(
      'stream, series, range_from, range_to, reason',
      `'call-metrics', ${aCall('call_id')}, ${aCall("created_at - interval '1 h'")}, ${aCall('destroyed_at')}, 'expired'`,
    ),
    /^gap: demo call-metrics: of another range/,
  ],
  [
    'sessions that are owed',
    `update ingest.work_item set state = 'pending' where stream = 'call-sessions'`,
    /^owed: demo call-sessions/,
  ],
  [
    'covered where something is lost',
    `update ingest.progress set covered = tstzmultirange(range_merge(covered)) where stream like 'realtime%'`,
    /^complete: demo realtime-usage.* is said to be complete/,
  ],
  [
    'nothing covered',
    `update ingest.progress set covered = '{}' where stream like 'realtime%'`,
    /^complete: demo realtime-usage.* is not said to be/,
  ],
  [
    'insights covered before they can no longer change',
    `update ingest.progress set covered = tstzmultirange(tstzrange(lower(covered), lower(covered) + interval '9 d')) where stream like 'usage%'`,
    /^complete: demo usage-insight.* is said to be complete/,
  ],
  [
    'insights covered too early that are right by chance',
    `update ingest.progress p set covered = p.covered + (
       select tstzmultirange(tstzrange(min(at) + interval '2 h', min(at) + interval '8 h'))
       from analytics.usage_insight where at > lower(p.covered) + interval '5 d') where stream like 'usage%'`,
    /^complete: demo usage-insight.* is said to be complete/,
  ],
  [
    'calls covered that nobody searched',
    `delete from analytics.call where call_id = ${aCall('call_id')}`,
    /^complete: demo calls.* is said to be complete/,
  ],
  [
    'no calls covered',
    `update ingest.progress set covered = '{}' where stream = 'calls'`,
    /^complete: demo calls.* is not said to be/,
  ],
  [
    'details done that are not there',
    `delete from analytics.session_metric where call_id = ${aCall('call_id')}`,
    /^complete: demo call-metrics.* is said to be complete/,
  ],
  [
    'details that are not done',
    `update ingest.work_item set state = 'lost' where stream = 'call-metrics'`,
    /^complete: demo call-metrics.* is not said to be/,
  ],
  [
    'an answer that nobody settled though nothing goes wrong',
    `update ingest.debit set settled_at = null, outcome = null where operation = 'analytics.callSearch'`,
    /^debit: demo analytics.callSearch .* unsettled/,
  ],
]

describe('what the ledgers say', () => {
  it('is right where they say what happened', async () => {
    expect(await filled.after('select 1', examineAnalytics)).toEqual([])
  })

  it.each(planted)('%s is found', async (_, sql, found) => {
    const findings = await filled.after(sql, subjectOf(found))
    expect(
      findings.filter(text => found.test(text)),
      findings.join('\n'),
    ).not.toEqual([])
  })

  it('a loss that the provider gave no reason for is found', async () => {
    const examine = (examination: Examination) => examineGaps({ ...examination, faults: [] })
    const findings = await filled.after('select 1', examine)
    expect(findings.filter(text => /^gap: .*could be had for more than/.test(text))).not.toEqual([])
  })
})
