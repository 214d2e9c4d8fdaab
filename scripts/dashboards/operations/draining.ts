import { bars, series } from '../panels.ts'
import { promNow, promSeries, promTable } from '../sources.ts'
import { table } from '../tables.ts'
import { allowed, expiring, late, of, orNone } from './selectors.ts'

const size = { width: 8, height: 8 }

const lagShares = late
  .map(
    part =>
      `max by (stream) (${of('penstock_lag_seconds', part.streams)}) / on () group_left () ${allowed(part.allowed)}`,
  )
  .join(' or ')

// What is out of reach has less than no time left, which would be the best share of all.
const expiryShares = expiring
  .map(
    part =>
      `${allowed(part.allowed)} / on () group_right () clamp_min(min by (stream) (${of('penstock_backlog_expires_seconds', part.streams)}), 1)`,
  )
  .join(' or ')

const failedPages = of('penstock_pages_total', 'outcome!~"committed|empty|gone|stale|fenced|unverified"')

/** Whether the data come, and come in time. */
export const behind = {
  title: 'What is behind?',
  panels: [
    bars({
      ...size,
      title: 'Lateness, of what is allowed',
      description:
        'How late the next sync of each stream is, as a share of what the alerts allow. At 100 % PenstockStreamLagging is about to fire.',
      unit: 'percentunit',
      none: 'no stream is known',
      decimals: 0,
      min: 0,
      max: 1,
      queries: [promNow(lagShares, '{{stream}}')],
      steps: ['green', [0.5, 'yellow'], [1, 'red']],
    }),
    series({
      ...size,
      title: 'Lag of rooms and players',
      description:
        'How late the next sync of each stream is. Seconds are usual; the dashed line is what the alerts allow.',
      unit: 's',
      none: 'no stream is known',
      queries: [
        promSeries(`max by (stream) (${of('penstock_lag_seconds', late[0].streams)})`, '{{stream}}'),
        promSeries(allowed('lag_seconds'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Lag of call analytics',
      description:
        'How late the next sync of each stream is. Budgets may make minutes of it usual; the dashed line is what the alerts allow, for insights a whole day.',
      unit: 's',
      none: 'no stream is known',
      queries: [
        promSeries(
          `max by (stream) (${of('penstock_lag_seconds', 'stream=~"calls|realtime-.*|.*-insight"')})`,
          '{{stream}}',
        ),
        promSeries(allowed('lag_analytics_seconds'), 'allowed (not insights)'),
      ],
    }),
    series({
      ...size,
      title: 'Apps that lag most',
      description:
        'How late the next sync of the ten latest apps is, whatever the stream. "others" is the worst of those beyond metrics.perApp.',
      unit: 's',
      none: 'no app is known',
      queries: [promSeries(`topk(10, max by (app) (${of('penstock_lag_seconds')}))`, '{{app}}')],
    }),
    series({
      ...size,
      title: 'Since the last page',
      description:
        'Time since a page of the stream was stored, or found to be empty. It is bad where it grows although something is due.',
      unit: 's',
      none: 'no page was stored yet',
      queries: [
        promSeries(
          `time() - max by (stream) (${of('penstock_last_success_timestamp_seconds')})`,
          '{{stream}}',
        ),
      ],
    }),
    series({
      ...size,
      title: 'Series that are due',
      description:
        'Rooms, questions and lists that wait for their visit. It is bad where it grows all the time.',
      unit: 'short',
      none: 'no stream is known',
      queries: [promSeries(`sum by (stream) (${of('penstock_due_series')})`, '{{stream}}')],
    }),
    series({
      ...size,
      title: 'Backlog',
      description:
        'Time whose data are within reach and not read yet, or not final, over all series. What is not final is usual: insights change for two days. It is bad where it grows all the time.',
      unit: 's',
      none: 'no backlog',
      queries: [promSeries(`sum by (stream) (${of('penstock_backlog_seconds')})`, '{{stream}}')],
    }),
    bars({
      ...size,
      title: 'Nearness of loss',
      description:
        'What the alerts ask to be left, as a share of the time for which the oldest unread data can still be had. At 100 % PenstockDataExpiring is about to fire.',
      unit: 'percentunit',
      none: 'no backlog',
      decimals: 0,
      min: 0,
      max: 1,
      queries: [promNow(expiryShares, '{{stream}}')],
      steps: ['green', [0.75, 'yellow'], [1, 'red']],
    }),
    series({
      ...size,
      title: 'Until the oldest of the backlog is lost',
      description:
        'For how long the oldest unread data of each stream can still be had. A line that falls steadily towards 0 is bad. Real-time values are served for less than an hour, everything else for days.',
      unit: 's',
      none: 'no backlog',
      min: 0,
      queries: [
        promSeries(`min by (stream) (${of('penstock_backlog_expires_seconds')})`, '{{stream}}'),
        promSeries(allowed('expiry_seconds'), 'expected above (days)'),
        promSeries(allowed('expiry_realtime_seconds'), 'expected above (real-time)'),
      ],
    }),
    series({
      ...size,
      title: 'Pages that failed',
      description:
        'Pages that were neither stored nor empty nor set aside on purpose, within the time of a point. Good is 0.',
      unit: 'short',
      none: 'no stream is known',
      drawn: 'stacked bars',
      queries: [promSeries(`sum by (stream) (increase(${failedPages}[$__rate_interval]))`, '{{stream}}')],
    }),
    series({
      ...size,
      title: 'Pages stored',
      description:
        'Pages that brought something, a second. Room logs come and go with the classes; a stream that falls to 0 while the others go on is bad.',
      unit: 'ops',
      none: 'no stream is known',
      queries: [
        promSeries(
          `sum by (stream) (rate(${of('penstock_pages_total', 'outcome="committed"')}[$__rate_interval]))`,
          '{{stream}}',
        ),
      ],
    }),
    series({
      ...size,
      title: 'Rows written',
      description: 'Rows a second, by table. None at all during classes is bad.',
      unit: 'rowsps',
      none: 'no row was written since the start',
      queries: [
        promSeries(`sum by (table) (rate(${of('penstock_rows_total')}[$__rate_interval]))`, '{{table}}'),
      ],
    }),
  ],
}

/** What is missing, what could not be read, what contradicts itself. */
export const missing = {
  title: 'What is missing?',
  panels: [
    series({
      ...size,
      width: 6,
      title: 'Gaps that are open',
      description:
        'Ranges that are missing and may still be had. A gap usually closes within minutes; for an hour is bad.',
      unit: 'short',
      none: 'the gap ledger was not read yet',
      queries: [
        promSeries(`max by (stream) (${of('penstock_gaps', 'state="open"')})`, '{{stream}}'),
        promSeries(allowed('gaps_open'), 'allowed for long'),
      ],
    }),
    series({
      ...size,
      width: 6,
      title: 'Gaps that are lost',
      description:
        'Ranges that were given up, since the beginning. Any step upwards is bad: nothing brings them back.',
      unit: 'short',
      none: 'the gap ledger was not read yet',
      queries: [promSeries(`max by (stream) (${of('penstock_gaps', 'state="lost"')})`, '{{stream}}')],
    }),
    table({
      title: 'Dead letters by reason',
      description:
        'Items and answers that were set aside within the chosen time, refusals among them. Good is one line that says none.',
      unit: 'none',
      none: 'not known',
      width: 6,
      height: 8,
      queries: [
        promTable(
          orNone(
            `sum by (stream, reason) (increase(${of('penstock_dead_letters_total')}[$__range])) > 0`,
            'reason',
          ),
        ),
      ],
      columns: { Count: { unit: 'short', decimals: 0, steps: ['green', [0.5, 'orange']] } },
    }).withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true },
        indexByName: { stream: 0, reason: 1, Value: 2 },
        renameByName: { stream: 'Stream', reason: 'Reason', Value: 'Count' },
      },
    }),
    series({
      ...size,
      width: 6,
      title: 'Contradictions',
      description:
        'Items that came again under the same key with another content, within the time of a point. Good is 0; ingest.divergence holds both.',
      unit: 'short',
      none: 'no stream is known',
      drawn: 'stacked bars',
      queries: [
        promSeries(
          `sum by (stream) (increase(${of('penstock_divergences_total')}[$__rate_interval]))`,
          '{{stream}}',
        ),
      ],
    }),
  ],
}
