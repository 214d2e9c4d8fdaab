import { linkColumns, toClass } from '../links.ts'
import { sqlTable } from '../sources.ts'
import { type Column, table } from '../tables.ts'
import { inLastWeek, lastWeek } from '../variables.ts'

/** How each measure is told and where it turns bad; the limits are those of bad_share. */
export const bad: Readonly<Record<string, Column>> = {
  Bad: { unit: 'percentunit', decimals: 1, steps: ['green', [0.05, 'yellow'], [0.1, 'red']] },
}

export const measures: Readonly<Record<string, Column>> = {
  ...bad,
  'Audio freeze': { unit: 'ms', decimals: 0, steps: ['green', [200, 'red']] },
  'Video freeze': { unit: 'ms', decimals: 0, steps: ['green', [200, 'red']] },
  'Audio loss': { unit: 'percent', decimals: 1, steps: ['green', [5, 'yellow'], [10, 'red']] },
  'Video loss': { unit: 'percent', decimals: 1, steps: ['green', [5, 'yellow'], [10, 'red']] },
  'Round trip': { unit: 'ms', decimals: 0, steps: ['green', [200, 'yellow'], [400, 'red']] },
}

const meaning =
  'Bad is the share of values with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms; freezes are 95th percentiles, loss and round trip means.'

/** Where to look first. */
export const worst = {
  title: 'Where it was worst',
  panels: [
    table({
      title: 'Classes, the worst first',
      description: `Classes of the chosen time, with the quality of their calls; the room leads to the class. ${meaning} More than a twentieth bad is felt, more than a tenth disturbs the class. Stayed compares the students of the second half with those of the first. ${lastWeek}`,
      unit: 'none',
      none: 'no class was measured in this time',
      width: 24,
      height: 9,
      queries: [
        sqlTable(`
select q.room_uuid as "Room", q.incarnation as "Use", q.app_id as "App", q.started_at as "Began", q.users as "Users", q.user_minutes as "User minutes",
       q.bad_share as "Bad", a.students_second_half / nullif(a.students_first_half, 0) as "Stayed",
       q.audio_freeze_p95_ms as "Audio freeze", q.video_freeze_p95_ms as "Video freeze",
       q.audio_loss_avg_pct as "Audio loss", q.video_loss_avg_pct as "Video loss", q.rtt_avg_ms as "Round trip",
       floor(extract(epoch from least(q.started_at, q.first_call_at) - interval '5 minutes') * 1000) as from_ms,
       floor(extract(epoch from coalesce(greatest(q.ended_at, q.last_call_end), $__timeTo()::timestamptz) + interval '5 minutes') * 1000) as to_ms
from (
  select * from analytics.class_quality
  where app_id in ($app) and samples > 0
    and started_at <= $__timeTo()::timestamptz
    and started_at > greatest($__timeFrom()::timestamptz - interval '1 day', $__timeTo()::timestamptz - interval '8 days')
    and coalesce(greatest(ended_at, last_call_end), 'infinity') >= greatest($__timeFrom()::timestamptz, $__timeTo()::timestamptz - interval '7 days')
  order by bad_share desc, user_minutes desc limit 50
) q
left join classroom.attention a using (app_id, room_uuid, incarnation)
order by q.bad_share desc, q.user_minutes desc`),
      ],
      columns: {
        ...measures,
        ...linkColumns,
        Room: { link: toClass, width: 220 },
        'User minutes': { unit: 'short', decimals: 0 },
        Stayed: { unit: 'percentunit', decimals: 0, steps: ['red', [0.6, 'yellow'], [0.8, 'green']] },
      },
    }),
    table({
      title: 'Calls, the worst first',
      description: `Calls that began within the chosen time and had bad moments; the room leads to the class. ${meaning} The ID of the call is what the provider's support asks for. ${lastWeek}`,
      unit: 'none',
      none: 'no call with bad moments in this time',
      width: 24,
      height: 9,
      queries: [
        sqlTable(`
select w.cname as "Room", c.incarnation as "Use", w.app_id as "App", w.call_id as "Call", w.created_at as "Began", w.minutes as "Minutes", w.users as "Users",
       w.bad_share as "Bad", w.audio_freeze_p95_ms as "Audio freeze", w.video_freeze_p95_ms as "Video freeze",
       w.audio_loss_avg_pct as "Audio loss", w.video_loss_avg_pct as "Video loss", w.rtt_avg_ms as "Round trip",
       floor(extract(epoch from w.created_at - interval '5 minutes') * 1000) as from_ms,
       floor(extract(epoch from coalesce(w.destroyed_at, $__timeTo()::timestamptz) + interval '5 minutes') * 1000) as to_ms
from analytics.worst_calls w
left join analytics.class_call c using (app_id, call_id)
where w.app_id in ($app) and ${inLastWeek('w.created_at')}
order by w.bad_share desc, w.user_minutes desc limit 50`),
      ],
      columns: {
        ...measures,
        ...linkColumns,
        Room: { link: toClass, width: 220 },
        Minutes: { unit: 'short', decimals: 0 },
      },
    }),
  ],
}
