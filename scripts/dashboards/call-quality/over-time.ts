import { series } from '../panels.ts'
import { type Query, sqlSeries } from '../sources.ts'
import { coarse, inLastWeek, lastWeek } from '../variables.ts'

const size = { width: 12, height: 8 }

/** A rate of the whole project, a line for each app and product. */
function rate(metric: string): Query {
  return sqlSeries(`
select $__timeGroupAlias(at, '$__interval'), app_id || ' ' || product as metric, avg(value) as value
from analytics.quality_realtime
where $__interval_ms < ${coarse} and app_id in ($app) and metric = '${metric}' and cname = '' and uid = '' and $__timeFilter(at)
group by 1, 2
union all
select $__timeGroupAlias(at, '$__interval'), app_id || ' ' || product, avg(value)
from analytics.quality_insight
where $__interval_ms >= ${coarse} and app_id in ($app) and metric = '${metric}' and granularity = 'hour' and $__timeFilter(at)
group by 1, 2
order by 1`)
}

const sources =
  'Of windows of 20 seconds where the chosen time is short, of insights of an hour where it is long; those come hours later.'

/** What the provider says of all calls together. */
export const project = {
  title: 'Over time, as the provider sums it up',
  panels: [
    series({
      ...size,
      title: 'Audio freeze rate',
      description: `Share of the time that audio was frozen. Above the dashed line (5 %) people hear gaps. ${sources}`,
      unit: 'percent',
      none: 'no values in this time',
      min: 0,
      interval: '20s',
      queries: [rate('audioFreezeRate')],
      steps: ['green', [5, 'red']],
    }),
    series({
      ...size,
      title: 'Video freeze rate',
      description: `Share of the time that video was frozen. Above the dashed line (10 %) pictures stand still. ${sources}`,
      unit: 'percent',
      none: 'no values in this time',
      min: 0,
      interval: '20s',
      queries: [rate('videoFreezeRate')],
      steps: ['green', [10, 'red']],
    }),
    series({
      ...size,
      title: 'Join success',
      description: `Share of the attempts to join a call that succeeded. Below the dashed line (95 %) people do not get in. ${sources}`,
      unit: 'percent',
      none: 'no values in this time',
      max: 100,
      interval: '20s',
      queries: [rate('joinSuccessRate')],
      steps: ['red', [95, 'green']],
    }),
    series({
      ...size,
      title: 'Join success within five seconds',
      description: `Share of the attempts to join a call that succeeded within five seconds. Much lower than join success itself: joining is slow. ${sources}`,
      unit: 'percent',
      none: 'no values in this time',
      max: 100,
      interval: '20s',
      queries: [rate('joinSuccessIn5sRate')],
      steps: ['red', [90, 'green']],
    }),
    series({
      ...size,
      width: 24,
      title: 'Network delay rate',
      description: `The network delay rate. Above the dashed line (10 %) the way between people and the provider is slow. ${sources}`,
      unit: 'percent',
      none: 'no values in this time',
      min: 0,
      interval: '20s',
      queries: [rate('networkDelay')],
      steps: ['green', [10, 'red']],
    }),
  ],
}

/** Mean and 95th percentile of all calls by the hour; of long times the last week, for there are thousands of values a minute. */
function byHour(lines: readonly (readonly [name: string, column: string])[]): Query {
  const values = lines.map(([name, column]) => `('${name}', h.${column})`).join(', ')
  return sqlSeries(`
select h.hour as time, h.app_id || ' ' || line.name as metric, line.value
from analytics.quality_by_hour h
cross join lateral (values ${values}) line (name, value)
where h.app_id in ($app) and ${inLastWeek('h.hour')}
order by 1`)
}

/** What was measured in the sessions of each call. */
export const measured = {
  title: 'Over time, as it was measured in the calls',
  panels: [
    series({
      ...size,
      title: 'Packet loss',
      description: `Packets that were lost from end to end, mean of all calls by the hour. From 10 % on a value counts as bad. ${lastWeek}`,
      unit: 'percent',
      none: 'nothing was measured in this time',
      min: 0,
      interval: '1h',
      queries: [
        byHour([
          ['audio', 'audio_loss_avg_pct'],
          ['video', 'video_loss_avg_pct'],
        ]),
      ],
      steps: ['green', [10, 'red']],
    }),
    series({
      ...size,
      title: 'Freeze time',
      description: `Milliseconds that the rendering stood still within the two seconds of a value. Of each call what 95 of 100 of its values are at most, and of these the mean over the calls, by the hour. From 200 ms on a value counts as bad. ${lastWeek}`,
      unit: 'ms',
      none: 'nothing was measured in this time',
      min: 0,
      interval: '1h',
      queries: [
        byHour([
          ['audio', 'audio_freeze_p95_ms'],
          ['video', 'video_freeze_p95_ms'],
        ]),
      ],
      steps: ['green', [200, 'red']],
    }),
  ],
}
