import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examineAnalytics } from './analytics.ts'
import { examineCalls } from './calls.ts'
import { examineDebits } from './debits.ts'
import type { Examination } from './examination.ts'
import { type Filled, fillAnalytics } from './filled.ts'
import { examineInsights } from './insights.ts'
import { examineMeasured } from './measured.ts'
import { examineRealtime } from './realtime.ts'
import { judgeSamples } from './samples.ts'
import { examineSessions } from './sessions.ts'
import { judgeSummaries } from './summaries.ts'

type Planted = readonly [what: string, sql: string, found: RegExp]

let filled: Filled

beforeAll(async () => {
  filled = await fillAnalytics()
})
afterAll(() => filled.close())

const examineSamples = (examination: Examination) => examineMeasured(examination, [judgeSamples])
const examineSummaries = (examination: Examination) => examineMeasured(examination, [judgeSummaries])

/** Who judges the first table that is changed. */
function subjectOf(sql: string) {
  const subjects = {
    call: examineCalls,
    call_session: sql.startsWith('delete') ? examineSamples : examineSessions,
    session_metric: examineSamples,
    ...{ call_summary: examineSummaries, session_summary: examineSummaries },
    ...{ session_digest: examineSummaries, call_minute: examineSummaries },
    usage_insight: examineInsights,
    usage_realtime: examineRealtime,
    debit: examineDebits,
  }
  const [, table] = /(?:analytics|ingest)\.(\w+)/.exec(sql)!
  return subjects[table as keyof typeof subjects]
}

/** One row of a table. */
const one = (table: string) => `ctid = (select ctid from analytics.${table} limit 1)`
const sample =
  '(call_id, sid, peer_uid, mid, at) = (select call_id, sid, peer_uid, mid, at from analytics.session_metric limit 1)'
const some = (table: string) => `update analytics.${table} set`

/** What somebody did to a database that holds all there is, and what must be said of it. */
const planted: readonly Planted[] = [
  [
    'a call of nobody',
    `update analytics.call set call_id = 'x' where ${one('call')}`,
    /^different: .*x is of nobody/,
  ],
  ['a call that is gone', `delete from analytics.call where ${one('call')}`, /^lost: demo calls/],
  ['another channel', `${some('call')} cname = 'x' where ${one('call')}`, /^different: demo calls cname/],
  [
    'another begin',
    `${some('call')} created_at = created_at + interval '1 s' where ${one('call')}`,
    /calls created_at/,
  ],
  [
    'another end',
    `${some('call')} destroyed_at = destroyed_at - interval '1 s' where finished`,
    /calls destroyed_at/,
  ],
  ['no end', `${some('call')} finished = false where ${one('call')}`, /calls finished/],
  [
    'a call known too early',
    `${some('call')} first_seen_at = first_seen_at - interval '1 h'`,
    /calls first_seen_at/,
  ],
  ['something beside a call', `${some('call')} extra = '{"a":1}' where ${one('call')}`, /calls extra/],
  [
    'a session of nobody',
    `update analytics.call_session set sid = 'x' where ${one('call_session')}`,
    /x is of nobody/,
  ],
  [
    'a session that is gone',
    `delete from analytics.call_session where ${one('call_session')}`,
    /^lost: demo call-sessions/,
  ],
  ...(['cname', 'uid', 'network', 'platform', 'sdk_version', 'device_type'] as const).map(column => {
    const sql = `${some('call_session')} ${column} = 'x' where ${one('call_session')}`
    return [`another ${column}`, sql, new RegExp(`^different: demo call-sessions ${column}`)] as const
  }),
  [
    'a speaker',
    `${some('call_session')} speaker = not speaker where ${one('call_session')}`,
    /call-sessions speaker/,
  ],
  [
    'a later join',
    `${some('call_session')} joined_at = joined_at + interval '1 s' where ${one('call_session')}`,
    /joined_at/,
  ],
  [
    'a later leave',
    `${some('call_session')} left_at = left_at + interval '1 s' where ${one('call_session')}`,
    /left_at/,
  ],
  ['still there', `${some('call_session')} finished = false where ${one('call_session')}`, /call-sessions/],
  [
    'a value changed',
    `${some('session_metric')} value = value + 1 where ${sample}`,
    /^different: call-metrics value/,
  ],
  [
    'a value moved',
    `${some('session_metric')} at = at + interval '1 s' where ${sample}`,
    /^different: call-metrics value/,
  ],
  [
    'a value of another peer',
    `${some('session_metric')} peer_uid = '7' where ${sample}`,
    /^different: call-metrics: of nobody/,
  ],
  ['a value that is gone', `delete from analytics.session_metric where ${sample}`, /^lost: call-metrics/],
  ['nothing beside a value', `${some('session_metric')} extra = null where ${sample}`, /call-metrics extra/],
  [
    'a call that is said not to be whole',
    `${some('call_summary')} partial = true where ${one('call_summary')}`,
    /^different: call summary: .* partial/,
  ],
  [
    'another percentile of a call',
    `${some('call_summary')} audio_freeze_p95_ms = audio_freeze_p95_ms + 1 where ${one('call_summary')}`,
    /^different: call summary: .* audio_freeze_p95_ms/,
  ],
  [
    'more bad values of a call',
    `${some('call_summary')} bad_samples = bad_samples + 1 where ${one('call_summary')}`,
    /^different: call summary: .* bad_share/,
  ],
  [
    'another person in a call',
    `${some('call_summary')} persons = persons || 'x'::text where ${one('call_summary')}`,
    /^different: call summary: .* persons/,
  ],
  [
    'longer stays in a call',
    `${some('call_summary')} user_minutes = user_minutes + 1 where ${one('call_summary')}`,
    /^different: call summary: .* user_minutes/,
  ],
  [
    'another mean of a stay',
    `${some('session_summary')} video_freeze_avg_ms = video_freeze_avg_ms + 1 where ${one('session_summary')}`,
    /^different: call summary: .* video_freeze_avg_ms/,
  ],
  [
    'a stay that is not summed up',
    `delete from analytics.session_digest where ${one('session_digest')}`,
    /^lost: call summary: .* nothing is told of it/,
  ],
  [
    'another median',
    `${some('session_digest')} p50[3] = p50[3] + 1 where ${one('session_digest')}`,
    /^different: call summary: .* p50/,
  ],
  [
    'a minute of another length',
    `${some('call_minute')} minute = minute + interval '5 s' where ${one('call_minute')}`,
    /^different: call summary: .* minute/,
  ],
  [
    'a minute that is not told of',
    `delete from analytics.call_minute where ${one('call_minute')}`,
    /^lost: call summary: .* minute/,
  ],
  [
    'another usage',
    `${some('usage_insight')} value = value + 1 where ${one('usage_insight')}`,
    /usage-insight.* value/,
  ],
  [
    'another hour',
    `${some('usage_insight')} at = at + interval '90 d' where ${one('usage_insight')}`,
    /was in no answer/,
  ],
  ['another revision', `${some('usage_insight')} revision = 2 where ${one('usage_insight')}`, /revision/],
  ['read at another time', `${some('usage_insight')} fetched_at = fetched_at + interval '1 h'`, /fetched_at/],
  [
    'another granularity',
    `${some('usage_insight')} granularity = 'day' where ${one('usage_insight')}`,
    /of no question/,
  ],
  [
    'another number of users',
    `${some('usage_realtime')} value = value + 1 where ${one('usage_realtime')}`,
    /realtime-usage.* value/,
  ],
  [
    'another window',
    `${some('usage_realtime')} at = at - interval '90 d' where ${one('usage_realtime')}`,
    /was in no answer/,
  ],
  [
    'nothing beside a window',
    `${some('usage_realtime')} extra = null where ${one('usage_realtime')}`,
    /realtime-usage.* extra/,
  ],
  [
    'a channel that nobody asked about',
    `${some('usage_realtime')} cname = 'x' where ${one('usage_realtime')}`,
    /was in no answer/,
  ],
  [
    'fewer debits',
    `delete from ingest.debit where n = 3; update ingest.budget set last_n = last_n - 1`,
    /^debit: /,
  ],
]

describe('what is stored of call analytics', () => {
  it('is right where it was stored by hand', async () => {
    expect(await filled.after('select 1', examineAnalytics)).toEqual([])
  })

  it.each(planted)('%s is found', async (_, sql, found) => {
    const findings = await filled.after(sql, subjectOf(sql))
    expect(findings.filter(text => found.test(text))).not.toEqual([])
  })
})
