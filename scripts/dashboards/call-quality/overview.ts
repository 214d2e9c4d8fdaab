import { stat } from '../panels.ts'
import { sqlTable } from '../sources.ts'
import { coarse, inLastWeek, lastWeek } from '../variables.ts'

const size = { width: 6, height: 4 }

const calls = `analytics.call_quality where app_id in ($app) and ${inLastWeek('created_at')}`

/** Means of an hour of the whole project: where the chosen time is long, as the provider has summed them up. */
function hours(metric: string): string {
  return `
  select avg(value) as value from analytics.quality_realtime
  where $__interval_ms < ${coarse} and app_id in ($app) and metric = '${metric}' and cname = '' and uid = '' and $__timeFilter(at)
  group by app_id, product, date_bin('1 hour', at, '1970-01-01 00:00:00+00')
  union all
  select value from analytics.quality_insight
  where $__interval_ms >= ${coarse} and app_id in ($app) and metric = '${metric}' and granularity = 'hour' and $__timeFilter(at)`
}

/** What the chosen time comes to. */
export const overview = {
  title: 'In all',
  panels: [
    stat({
      ...size,
      title: 'Calls',
      description:
        'Calls that began within the chosen time. Far fewer than usual means that people do not get in.',
      unit: 'short',
      none: 'no calls in this time',
      queries: [
        sqlTable(
          'select count(*) as calls from analytics.call where app_id in ($app) and $__timeFilter(created_at)',
        ),
      ],
    }),
    stat({
      ...size,
      title: 'Calls with many bad moments',
      description: `Share of the measured calls in which at least one value in ten is bad: a freeze of 200 ms, a loss of 10 % or a round trip of 400 ms. A few in a hundred are usual. ${lastWeek}`,
      unit: 'percentunit',
      none: 'nothing was measured in this time',
      decimals: 1,
      queries: [
        sqlTable(`
select (count(*) filter (where bad_share >= 0.1))::double precision / nullif(count(*), 0) as share
from ${calls} and samples > 0`),
      ],
      steps: ['green', [0.05, 'yellow'], [0.15, 'red']],
    }),
    stat({
      ...size,
      title: 'Lowest join success',
      description:
        'The lowest hour of the chosen time: share of the attempts to join that succeeded, over a whole project. Below 95 % people do not get in.',
      unit: 'percent',
      none: 'no values in this time',
      decimals: 1,
      queries: [sqlTable(`select min(value) as "join success" from (${hours('joinSuccessRate')}) hours`)],
      steps: ['red', [95, 'yellow'], [98, 'green']],
    }),
    stat({
      ...size,
      title: 'Highest audio freeze',
      description:
        'The highest hour of the chosen time: share of the time that audio was frozen, over a whole project. Above 5 % people hear gaps.',
      unit: 'percent',
      none: 'no values in this time',
      decimals: 1,
      queries: [sqlTable(`select max(value) as "audio freeze" from (${hours('audioFreezeRate')}) hours`)],
      steps: ['green', [3, 'yellow'], [5, 'red']],
    }),
  ],
}
