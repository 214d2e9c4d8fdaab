import {
  type Dashboard,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { annotation, assemble } from '../frame.ts'
import { promSeries, refTo } from '../sources.ts'
import { carriedApp } from '../variables.ts'
import { behind, missing } from './draining.ts'
import { health } from './health.ts'
import { process } from './process.ts'
import { callsNow, provider } from './provider.ts'
import { alerts, of } from './selectors.ts'

const everything = '.*'

function labelVariable(
  name: string,
  label: string,
  description: string,
  query: string,
): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .description(description)
    .datasource(refTo('prometheus'))
    .query({ qryType: 1, query, refId: 'Variable' })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
}

/** For whoever runs Penstock: is it well, and if not, where does it hurt? */
export function operations(): Dashboard {
  return assemble({
    name: 'operations',
    description:
      'Whether Penstock is well: what is behind, what is missing, how much of the plan is spent. From Prometheus.',
    source: 'prometheus',
    from: 'now-6h',
    refresh: '30s',
    timezone: 'browser',
    variables: [
      labelVariable(
        'job',
        'Job',
        'Scrape job of Prometheus; in a cluster, one for each release',
        'label_values(penstock_build_info, job)',
      ).current({ text: 'penstock', value: 'penstock' }),
      labelVariable(
        'namespace',
        'Namespace',
        'Namespace of the cluster; outside of clusters there is none',
        'label_values(penstock_build_info{job="$job"}, namespace)',
      )
        .includeAll(true)
        .allValue(everything)
        .current({ text: 'All', value: '$__all' }),
      labelVariable(
        'instance',
        'Process',
        'Processes of Penstock',
        'label_values(penstock_build_info{job="$job",namespace=~"$namespace"}, instance)',
      )
        .multi(true)
        .includeAll(true)
        .allValue(everything)
        .current({ text: ['All'], value: ['$__all'] }),
      carriedApp(),
    ],
    annotations: [
      annotation('Starts', 'blue', promSeries(`${of('process_start_time_seconds')} * 1000`, ''))
        .expr(`${of('process_start_time_seconds')} * 1000`)
        .useValueForTime(true)
        .titleFormat('A process started')
        .textFormat('{{instance}}'),
      annotation('Alerts', 'red', promSeries(alerts('alertstate="firing"'), ''))
        .expr(alerts('alertstate="firing"'))
        .titleFormat('{{alertname}}')
        .textFormat('{{stream}}'),
    ],
    rows: [health, behind, missing, provider, callsNow, process],
  })
}
