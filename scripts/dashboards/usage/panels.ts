import { series, stat } from '../panels.ts'
import { sqlSeries, sqlTable } from '../sources.ts'
import { table } from '../tables.ts'
import { coarse } from '../variables.ts'

const tile = { width: 4, height: 4, none: 'nothing in this time' }
const half = {
  width: 12,
  height: 8,
  none: 'nothing in this time',
  drawn: 'stacked bars',
  interval: '1d',
} as const

/** What calls came to when all of their stays had been read. */
const summedUp = `
from analytics.call c join analytics.call_summary s using (app_id, call_id)
where c.app_id in ($app) and $__timeFilter(c.created_at)`

/** Different users of these calls, by app; told apart by 64 bits each, as millions of names take twice as long. */
const persons = `
from (select distinct app_id, hashtextextended(unnest(s.persons), 0) ${summedUp}) persons`

const counted = 'A call counts on the day on which it began.'

/** What the chosen time comes to. */
export const inAll = {
  title: 'In all',
  panels: [
    stat({
      ...tile,
      title: 'User minutes',
      description:
        'Lengths of all stays in calls together, as counted from the sessions. Far less than usual is worth a question.',
      unit: 'short',
      decimals: 1,
      queries: [sqlTable(`select sum(s.user_minutes) as minutes ${summedUp}`)],
    }),
    stat({
      ...tile,
      title: 'Calls',
      description: 'Calls that began within the chosen time.',
      unit: 'short',
      queries: [
        sqlTable(
          'select count(*) as calls from analytics.call where app_id in ($app) and $__timeFilter(created_at)',
        ),
      ],
    }),
    stat({
      ...tile,
      title: 'Users',
      description: 'Different users in these calls; a user of two apps counts twice.',
      unit: 'short',
      queries: [sqlTable(`select count(*) as users ${persons}`)],
    }),
    stat({
      ...tile,
      title: 'Classes',
      description: 'Classes that began within the chosen time.',
      unit: 'short',
      queries: [
        sqlTable(
          'select count(*) as classes from classroom.room where app_id in ($app) and $__timeFilter(started_at)',
        ),
      ],
    }),
    stat({
      ...tile,
      title: 'Most users at once',
      description:
        'The most users that were in calls at one moment, as the provider reports it by the hour; the highest of all apps. Reported hours later.',
      unit: 'short',
      queries: [
        sqlTable(`
select max(value) as users from analytics.usage_insight
where app_id in ($app) and metric = 'peakCurrentUsers' and granularity = 'hour' and $__timeFilter(at)`),
      ],
    }),
    stat({
      ...tile,
      title: 'Cloud players',
      description: 'Cloud players that were created within the chosen time.',
      unit: 'short',
      queries: [
        sqlTable(
          'select count(*) as players from players.cloud_player where app_id in ($app) and $__timeFilter(created_at)',
        ),
      ],
    }),
  ],
}

/** Day by day. */
export const byDay = {
  title: 'By day',
  panels: [
    series({
      ...half,
      title: 'User minutes by app',
      description: `Lengths of all stays in calls together. ${counted} A day far below its neighbours is worth a look at the gaps.`,
      unit: 'short',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(c.created_at, '1d'), c.app_id as metric, sum(s.user_minutes) as value
${summedUp}
group by 1, 2 order by 1`),
      ],
    }),
    series({
      ...half,
      title: 'User minutes by product',
      description:
        'From the users at once that the provider tells every 20 seconds: what the native and the web clients use. Only where real-time usage is drained for each product.',
      unit: 'short',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(at, '1d'), product as metric, sum(value) / 3 as value
from analytics.usage_realtime
where app_id in ($app) and metric = 'userCount' and cname = '' and $__timeFilter(at)
group by 1, 2 order by 1`),
      ],
    }),
    series({
      ...half,
      title: 'Minutes that the provider reports',
      description:
        'What the provider itself counts by the day, in minutes, by app and metric; it is what a bill goes by. Computed again about two days later. Much more than the user minutes above means that calls are missing.',
      unit: 'short',
      drawn: 'bars',
      queries: [
        sqlSeries(`
select at as time, app_id || ' ' || metric as metric, value
from analytics.usage_insight
where app_id in ($app) and metric in ('totalDuration', 'totalVideoDuration', 'totalAudioDuration')
  and granularity = 'day' and $__timeFilter(at)
order by 1`),
      ],
    }),
    series({
      ...half,
      title: 'Users by app',
      description: `Different users of the day, by app. ${counted}`,
      unit: 'short',
      queries: [
        sqlSeries(`
select d.begins_at as time, a.app_id as metric,
       analytics.users_between(a.app_id, greatest(d.begins_at, $__timeFrom()::timestamptz), least(d.ends_at, $__timeTo()::timestamptz)) as value
from ingest.calendar d join ingest.app a on a.app_id in ($app)
where d.time_zone = 'UTC' and d.utc_day between ($__timeFrom()::timestamptz at time zone 'UTC')::date and ($__timeTo()::timestamptz at time zone 'UTC')::date
  and exists (select from analytics.call c where c.app_id = a.app_id and c.created_at >= d.begins_at and c.created_at < d.ends_at and $__timeFilter(c.created_at))
order by 1`),
      ],
    }),
    series({
      ...half,
      title: 'Calls and classes',
      description:
        'Calls and classes that began on the day, of all chosen apps. Many more calls than classes: calls end and begin again.',
      unit: 'short',
      drawn: 'bars',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(created_at, '1d'), 'calls' as metric, count(*) as value
from analytics.call where app_id in ($app) and $__timeFilter(created_at) group by 1
union all
select $__timeGroupAlias(started_at, '1d'), 'classes', count(*)
from classroom.room where app_id in ($app) and $__timeFilter(started_at) group by 1
order by 1`),
      ],
    }),
    series({
      ...half,
      title: 'Minutes of cloud players',
      description:
        'How long the players lived that were created on the day, by app; those that live still, until now. A day far above the others may be a forgotten player.',
      unit: 'short',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(created_at, '1d'), app_id as metric,
       sum(extract(epoch from greatest(coalesce(destroyed_at, ingest.clock()) - created_at, interval '0')) / 60) as value
from players.cloud_player where app_id in ($app) and $__timeFilter(created_at)
group by 1, 2 order by 1`),
      ],
    }),
  ],
}

/** How many at once. */
export const concurrency = {
  title: 'At once',
  panels: [
    series({
      width: 12,
      height: 8,
      none: 'nothing in this time',
      title: 'Users at once',
      description:
        'The most users in calls at one moment. Of windows of 20 seconds by product where the chosen time is short, of the peak of each hour by app where it is long.',
      unit: 'short',
      min: 0,
      interval: '20s',
      queries: [sqlSeries(atOnce('userCount', 'peakCurrentUsers'))],
    }),
    series({
      width: 12,
      height: 8,
      none: 'nothing in this time',
      title: 'Channels at once',
      description:
        'The most channels with a call at one moment; where the chosen time is long, the channels of each hour.',
      unit: 'short',
      min: 0,
      interval: '20s',
      queries: [sqlSeries(atOnce('channelCount', 'channelCount'))],
    }),
  ],
}

function atOnce(metric: string, byTheHour: string): string {
  return `
select $__timeGroupAlias(at, '$__interval'), app_id || ' ' || product as metric, max(value) as value
from analytics.usage_realtime
where $__interval_ms < ${coarse} and app_id in ($app) and metric = '${metric}' and cname = '' and $__timeFilter(at)
group by 1, 2
union all
select $__timeGroupAlias(at, '$__interval'), app_id, max(value)
from analytics.usage_insight
where $__interval_ms >= ${coarse} and app_id in ($app) and metric = '${byTheHour}' and granularity = 'hour' and $__timeFilter(at)
group by 1, 2
order by 1`
}

/** App by app. */
export const byApp = {
  title: 'By app',
  panels: [
    table({
      title: 'Apps',
      description:
        'What the chosen time comes to, app by app. Minutes that the provider reports are null where its plan has no insights.',
      unit: 'short',
      none: 'nothing in this time',
      width: 24,
      height: 7,
      queries: [
        sqlTable(`
select a.app_id as "App", coalesce(c.calls, 0) as "Calls", coalesce(u.users, 0) as "Users", s.stays as "Stays", s.minutes as "User minutes",
       i.minutes as "Minutes reported", coalesce(r.classes, 0) as "Classes", coalesce(p.players, 0) as "Players"
from ingest.app a
left join (select app_id, count(*) as calls from analytics.call
           where app_id in ($app) and $__timeFilter(created_at) group by app_id) c using (app_id)
left join (select app_id, sum(s.stays) as stays, sum(s.user_minutes) as minutes ${summedUp} group by app_id) s using (app_id)
left join (select app_id, count(*) as users ${persons} group by app_id) u using (app_id)
left join (select app_id, sum(value) as minutes from analytics.usage_insight
           where app_id in ($app) and metric = 'totalDuration' and granularity = 'day' and $__timeFilter(at) group by app_id) i using (app_id)
left join (select app_id, count(*) as classes from classroom.room
           where app_id in ($app) and $__timeFilter(started_at) group by app_id) r using (app_id)
left join (select app_id, count(*) as players from players.cloud_player
           where app_id in ($app) and $__timeFilter(created_at) group by app_id) p using (app_id)
where a.app_id in ($app) order by s.minutes desc nulls last`),
      ],
      columns: {
        'User minutes': { unit: 'short', decimals: 1 },
        'Minutes reported': { unit: 'short', decimals: 1 },
      },
    }),
  ],
}
