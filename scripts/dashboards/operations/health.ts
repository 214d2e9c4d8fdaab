import { stat } from '../panels.ts'
import { promNow, promTable } from '../sources.ts'
import { table } from '../tables.ts'
import { alerts, allowed, expiring, late, of, ofAll, unreadable } from './selectors.ts'

const size = { width: 4, height: 4 }

const lateStreams = late
  .map(
    part =>
      `max by (stream) (${of('penstock_lag_seconds', part.streams)}) > on () group_left () ${allowed(part.allowed)}`,
  )
  .join(' or ')

const expiringStreams = expiring
  .map(
    part =>
      `min by (stream) (${of('penstock_backlog_expires_seconds', part.streams)}) < on () group_left () ${allowed(part.allowed)}`,
  )
  .join(' or ')

/** What somebody looks at first who was woken up. */
export const health = {
  title: 'Is it well?',
  panels: [
    stat({
      ...size,
      title: 'Processes',
      description: 'Processes of Penstock that answer Prometheus. 0: nothing is drained.',
      unit: 'short',
      none: 'none known',
      queries: [promNow(`sum(${of('up')}) or vector(0)`, 'processes')],
      steps: ['red', [1, 'green']],
    }),
    stat({
      ...size,
      title: 'Alerts that fire',
      description: 'How many alerts of Penstock fire now; good is 0. The table below names them.',
      unit: 'short',
      none: 'not known',
      queries: [promNow(`count(${alerts('alertstate="firing"')}) or vector(0)`, 'alerts')],
      steps: ['green', [1, 'red']],
    }),
    stat({
      ...size,
      title: 'Database',
      description:
        'Whether the database answered the last time it was asked. While it does not, nothing is asked of the provider.',
      unit: 'none',
      none: 'not known',
      queries: [promNow(`min(${of('penstock_database_up')})`, 'database')],
      steps: ['red', [1, 'green']],
      words: { 0: { text: 'down', color: 'red' }, 1: { text: 'answers', color: 'green' } },
    }),
    stat({
      ...size,
      title: 'Shards without an owner',
      description: 'Shards of apps that no process owns; good is 0. What belongs to them is not drained.',
      unit: 'short',
      none: 'not known',
      queries: [promNow(`${allowed('shards')} - sum(${ofAll('penstock_shards_owned')})`, 'shards')],
      steps: ['green', [1, 'red']],
    }),
    stat({
      ...size,
      title: 'Streams that are late',
      description: 'Streams whose next sync is later than the alerts allow; good is 0.',
      unit: 'short',
      none: 'not known',
      queries: [promNow(`count(${lateStreams}) or vector(0)`, 'streams')],
      steps: ['green', [1, 'orange']],
    }),
    stat({
      ...size,
      title: 'Streams about to lose data',
      description:
        'Streams whose oldest unread data leave the available data of the plan sooner than the alerts allow; good is 0.',
      unit: 'short',
      none: 'not known',
      queries: [promNow(`count(${expiringStreams}) or vector(0)`, 'streams')],
      steps: ['green', [1, 'red']],
    }),
    stat({
      ...size,
      title: 'Ranges lost within 24 hours',
      description:
        'Ranges that were given up, or have grown, since this time yesterday; good is 0. They cannot be had any more; ingest.gap says which and why.',
      unit: 'short',
      none: 'not known',
      queries: [promNow(`sum(max by (stream) (${of('penstock_recent_losses', 'window="day"')}))`, 'ranges')],
      steps: ['green', [1, 'red']],
    }),
    stat({
      ...size,
      title: 'Refusals within an hour',
      description:
        'Requests that the provider turned away for their credentials, rate, range or plan; good is 0.',
      unit: 'short',
      none: 'not known',
      decimals: 0,
      queries: [promNow(`sum(increase(${of('penstock_refusals_total')}[1h])) or vector(0)`, 'refusals')],
      steps: ['green', [0.5, 'orange']],
    }),
    stat({
      ...size,
      title: 'Dead letters within 24 hours',
      description:
        'Items and answers that could not be read and were set aside; good is 0. Nothing waits for them.',
      unit: 'short',
      none: 'not known',
      decimals: 0,
      queries: [
        promNow(
          `sum(increase(${of('penstock_dead_letters_total', unreadable)}[24h])) or vector(0)`,
          'dead letters',
        ),
      ],
      steps: ['green', [0.5, 'orange']],
    }),
    stat({
      ...size,
      title: 'Fullest budget',
      description:
        'The limit group that has used most of the requests of its longest window. From 99.5 % on, new data wait too.',
      unit: 'percentunit',
      none: 'nothing is counted by the day',
      decimals: 0,
      queries: [promNow(`topk(1, max by (group) (${of('penstock_budget_used_ratio')}))`, '{{group}}')],
      steps: ['green', [0.95, 'yellow'], [0.995, 'orange']],
    }),
    stat({
      ...size,
      title: 'Largest memory',
      description: 'Memory of the largest process. The chart allows 256 MiB, and more than that ends it.',
      unit: 'bytes',
      none: 'not known',
      decimals: 0,
      queries: [promNow(`max(${of('process_resident_memory_bytes')})`, 'memory')],
      steps: ['green', [200 * 2 ** 20, 'yellow'], [240 * 2 ** 20, 'red']],
    }),
    stat({
      ...size,
      title: 'Runs since',
      description:
        'How long the youngest process has been running. Short after every look: it starts again and again.',
      unit: 's',
      none: 'not known',
      decimals: 1,
      queries: [promNow(`time() - max(${of('process_start_time_seconds')})`, 'youngest')],
      steps: ['yellow', [900, 'green']],
    }),
    table({
      title: 'Alerts that fire, or soon will',
      description:
        'Every alert of Penstock whose condition holds: firing, or pending until it has held long enough. docs/runbook.md has a paragraph for each by its name. Good is one line that says none.',
      unit: 'none',
      none: 'not known',
      width: 16,
      height: 7,
      queries: [
        promTable(
          `${alerts()} or on () label_replace(label_replace(vector(0), "alertname", "none", "", ""), "alertstate", "well", "", "")`,
        ),
      ],
      columns: {
        State: {
          words: {
            firing: { text: 'fires', color: 'red' },
            pending: { text: 'may fire soon', color: 'orange' },
            well: { text: 'well', color: 'green' },
          },
        },
      },
    }).withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true, Value: true, __name__: true, job: true, namespace: true },
        indexByName: { alertname: 0, alertstate: 1, severity: 2 },
        renameByName: { alertname: 'Alert', alertstate: 'State', severity: 'Severity' },
      },
    }),
    table({
      title: 'What runs',
      description:
        'Version of every process, and of the Node.js that it runs on. Two versions are good only while one replaces the other.',
      unit: 'none',
      none: 'no process is known',
      width: 8,
      height: 7,
      queries: [promTable(of('penstock_build_info'))],
    }).withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true, Value: true, __name__: true, job: true },
        indexByName: { instance: 0, version: 1, node: 2 },
        renameByName: { instance: 'Process', version: 'Version', node: 'Node.js' },
      },
    }),
  ],
}
