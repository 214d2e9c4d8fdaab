import type { Examination, Finding } from './examination.ts'
import { clockAt, clockInSql } from './zones.ts'

/** What is counted of a day, of which moment, and what tells of it. */
interface Told {
  readonly what: string
  readonly stored: string
  readonly told: string
}

/**
 * Days are those of the app's time zone, whose clocks are so far ahead of UTC: what is told day by day is what is stored
 * between two of its midnights.
 */
export async function examineDays({ apps, rows, end, turns = [] }: Examination): Promise<readonly Finding[]> {
  const dayOf = (at: string) => `${clockInSql(turns, at)}::date`
  const findings: Finding[] = []
  const differs = (text: string) => void findings.push({ kind: 'different', text })
  for (const { id: app } of apps) {
    for (const { what, stored, told } of toldOf(app, dayOf)) {
      const wrong = await rows<{ text: string }>(
        `select concat_ws(' ', coalesce(s.key, t.key), 'stored', s.n, 'told', t.n) as text
         from (${stored}) s full join (${told}) t on t.key = s.key where s.n is distinct from t.n order by 1 limit 5`,
      )
      for (const { text } of wrong) differs(`${what} of ${app}: ${text}`)
    }
    const today = new Date(clockAt(turns, end)).toISOString().slice(0, 10)
    const [last] = await rows<{ day: string | null; ago: number | null }>(
      `select max(day)::text as day, min(days_ago) as ago from ingest.complete_day where app_id = '${app}'`,
    )
    if (last?.day && (last.day !== today || last.ago !== 0))
      differs(
        `days of ${app}: the last that is told is ${last.day}, ${last.ago} days ago, and today is ${today}`,
      )
  }
  return findings
}

/** Each as rows of a key and a number. */
function toldOf(app: string, dayOf: (at: string) => string): readonly Told[] {
  const call = `analytics.call c where c.app_id = '${app}'`
  const session = `analytics.call_session s join analytics.call c using (app_id, call_id) where s.app_id = '${app}'`
  const usage = `analytics.usage_by_day u where u.app_id = '${app}'`
  const feed = `ingest.complete_day d where d.app_id = '${app}' and d.stream = 'app-events'`
  const begun = `classroom.class c where c.app_id = '${app}' and c.started_at is not null`
  return [
    {
      what: 'calls of days',
      stored: `select ${dayOf('c.created_at')}::text as key, count(*)::int as n from ${call} group by 1`,
      told: `select u.day::text as key, u.calls as n from ${usage} and u.calls > 0`,
    },
    {
      what: 'stays of days',
      stored: `select ${dayOf('c.created_at')}::text as key, count(*)::int as n from ${session} group by 1`,
      told: `select u.day::text as key, u.sessions as n from ${usage} and u.sessions > 0`,
    },
    {
      what: 'stays with their day',
      stored: `select s.sid || ' ' || ${dayOf('s.joined_at')} as key, count(*)::int as n from ${session} group by 1`,
      told: `select q.sid || ' ' || q.day as key, count(*)::int as n from analytics.session_quality q
             where q.app_id = '${app}' group by 1`,
    },
    {
      what: 'gaps of the feed on days',
      stored: `select t.day::date::text as key, count(*)::int as n from ingest.gap g
               cross join lateral generate_series(${dayOf('g.range_from')}, ${dayOf(`(g.range_to - interval '1 microsecond')`)}, interval '1 day') t(day)
               where g.app_id = '${app}' and g.stream = 'app-events' and g.state in ('open', 'lost')
                 and t.day::date in (select d.day from ${feed}) group by 1`,
      told: `select d.day::text as key, d.gaps as n from ${feed} and d.gaps > 0`,
    },
    {
      what: 'classes with their day',
      stored: `select c.room_uuid || ' ' || c.incarnation || ' ' || ${dayOf('c.started_at')} as key, 1 as n from ${begun}`,
      told: `select c.room_uuid || ' ' || c.incarnation || ' ' || c.day as key, 1 as n from ${begun}`,
    },
  ]
}
