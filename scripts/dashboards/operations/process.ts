import { series } from '../panels.ts'
import { promSeries } from '../sources.ts'
import { allowed, of } from './selectors.ts'

const size = { width: 8, height: 8 }

/** The process itself and what it stands on. */
export const process = {
  title: 'The process and the database',
  panels: [
    series({
      ...size,
      title: 'Memory',
      description:
        'Memory of each process as the system counts it, and of its objects. It is bounded: a line that only rises is bad, and so is one near the limit of the container (256 MiB in the chart).',
      unit: 'bytes',
      none: 'no process is known',
      min: 0,
      queries: [
        promSeries(of('process_resident_memory_bytes'), '{{instance}} in all'),
        promSeries(of('nodejs_heap_size_used_bytes'), '{{instance}} objects'),
      ],
    }),
    series({
      ...size,
      title: 'CPU',
      description:
        'Share of one core that each process uses. All of a core for long is bad: see the event loop.',
      unit: 'percentunit',
      none: 'no process is known',
      min: 0,
      queries: [promSeries(`rate(${of('process_cpu_seconds_total')}[$__rate_interval])`, '{{instance}}')],
    }),
    series({
      ...size,
      title: 'Event loop',
      description:
        'How late one timer in a hundred comes. Above the dashed line the process has too little CPU.',
      unit: 's',
      none: 'no process is known',
      min: 0,
      queries: [
        promSeries(of('penstock_event_loop_lag_seconds'), '{{instance}}'),
        promSeries(allowed('event_loop_lag_seconds'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Time of a commit',
      description:
        'How long the database takes to store a page with its progress. Milliseconds are good; more than a second, or a steady rise, is bad.',
      unit: 's',
      none: 'no page was stored since the start',
      min: 0,
      queries: [0.5, 0.95, 0.99].map(share =>
        promSeries(
          `histogram_quantile(${share}, sum by (le) (rate(${of('penstock_commit_seconds_bucket')}[$__rate_interval])))`,
          `${share * 100} of 100`,
        ),
      ) as [ReturnType<typeof promSeries>],
    }),
    series({
      ...size,
      title: 'Doubt about the clock',
      description:
        'How far the clock of the database jumped against what the process saw pass. Good is 0; budgets are counted as if it had not jumped.',
      unit: 's',
      none: 'no process is known',
      min: 0,
      queries: [
        promSeries(`abs(${of('penstock_clock_doubt_seconds')})`, '{{instance}}'),
        promSeries(allowed('clock_doubt_seconds'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Answers of the database',
      description: 'Whether the database answered each process the last time it was asked: 1 or 0.',
      unit: 'short',
      none: 'no process is known',
      min: 0,
      max: 1,
      queries: [promSeries(of('penstock_database_up'), '{{instance}}')],
      steps: ['red', [1, 'green']],
    }),
  ],
}
