import { sqlTable } from '../sources.ts'
import { type Column, table } from '../tables.ts'
import { lastWeek } from '../variables.ts'
import { bad } from './worst.ts'

/** A wider condition on joined_at beside it has Postgres reckon with far more stays than there are, and read all summaries. */
function byWhat(column: string, heading: string) {
  return sqlTable(`
select coalesce(${column}, 'not known') as "${heading}", count(*) as "Stays", count(distinct (app_id, coalesce(uid, sid))) as "Users",
       sum(bad_samples)::double precision / nullif(sum(samples), 0) as "Bad",
       sum(freezes)::double precision / nullif(sum(freeze_samples), 0) as "Freezes",
       sum(audio_loss_avg_pct * audio_loss_samples) / nullif(sum(audio_loss_samples), 0) as "Audio loss",
       sum(rtt_avg_ms * rtt_samples) / nullif(sum(rtt_samples), 0) as "Round trip"
from analytics.session_quality
where app_id in ($app) and samples > 0 and joined_at <= $__timeTo()::timestamptz
  and joined_at >= greatest($__timeFrom()::timestamptz, $__timeTo()::timestamptz - interval '7 days')
  and utc_day >= (greatest($__timeFrom()::timestamptz, $__timeTo()::timestamptz - interval '7 days') at time zone 'UTC')::date
  and utc_day <= ($__timeTo()::timestamptz at time zone 'UTC')::date
group by 1 order by 5 desc nulls last limit 30`)
}

const columns: Readonly<Record<string, Column>> = {
  ...bad,
  Freezes: { unit: 'percentunit', decimals: 1, steps: ['green', [0.05, 'yellow'], [0.1, 'red']] },
  'Audio loss': { unit: 'percent', decimals: 1, steps: ['green', [5, 'yellow'], [10, 'red']] },
  'Round trip': { unit: 'ms', decimals: 0, steps: ['green', [200, 'yellow'], [400, 'red']] },
}

const size = { width: 8, height: 9, unit: 'none', none: 'nothing was measured in this time' }
const rest = `Freezes is the share of values in which sound or picture stood still for at least 200 ms; loss and round trip are means of all values; a user of two apps counts twice. Those far above the others are to blame. ${lastWeek}`

/** What people sit at and how they are connected. */
export const byEquipment = {
  title: 'By network and device',
  panels: [
    table({
      ...size,
      title: 'By network',
      description: `Quality by the kind of network, the one with most freezes first. ${rest}`,
      queries: [byWhat('network', 'Network')],
      columns,
    }),
    table({
      ...size,
      title: 'By platform',
      description: `Quality by the system that people use, the one with most freezes first. ${rest}`,
      queries: [byWhat('platform', 'Platform')],
      columns,
    }),
    table({
      ...size,
      title: 'By device',
      description: `Quality by the kind of device, the one with most freezes first. ${rest}`,
      queries: [byWhat('device_type', 'Device')],
      columns,
    }),
  ],
}
