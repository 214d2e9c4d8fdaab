import {
  type AnnotationQueryBuilder,
  QueryVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { annotation } from './frame.ts'
import { refTo, sqlTable } from './sources.ts'

/**
 * Where a point stands for a quarter of an hour (ms) or more, the insights of an hour are fine enough, and far fewer than
 * the windows of 20 seconds.
 */
export const coarse = 900_000

/** Of what is measured in each session, a week is as much as can be put together while somebody waits. */
export const lastWeek = 'Of a time longer than a week, the last week.'
const week = "$__timeTo()::timestamptz - interval '7 days'"

/** Whether a moment, such as the begin of a call, is in the last week of the chosen time. */
export function inLastWeek(column: string): string {
  return `$__timeFilter(${column}) and ${column} > ${week}`
}

/** A variable whose values the database knows; they follow the chosen time. */
export function queryVariable(
  name: string,
  label: string,
  description: string,
  query: string,
): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .description(description)
    .datasource(refTo('penstock'))
    .query(query.trim())
    .definition(query.trim())
    .refresh(VariableRefresh.OnTimeRangeChanged)
}

const apps = `
select distinct app_id from ingest.progress
where stream in ('app-events', 'calls', 'cloud-players') order by 1`

/** One app. */
export function appVariable(): QueryVariableBuilder {
  return queryVariable('app', 'App', 'Project whose data are shown', apps)
}

/** Several apps, all unless told. */
export function appsVariable(): QueryVariableBuilder {
  return queryVariable('app', 'App', 'Projects whose data are shown', apps)
    .multi(true)
    .includeAll(true)
    .current({ text: ['All'], value: ['$__all'] })
}

/**
 * Marks what is missing where it is missing, so that nobody takes a hole in the data for one in the world. `series`: of
 * one series only, or of its whole app.
 */
export function gapAnnotation(streams: readonly string[], series?: string): AnnotationQueryBuilder {
  const apps = series === undefined ? 'in ($app)' : `= '$app' and series in ('', '${series}')`
  const list = streams.map(stream => `'${stream}'`).join(', ')
  return annotation(
    'Gaps',
    'orange',
    sqlTable(`
select distinct coalesce(range_from, first_seen_at) as time, coalesce(range_to, first_seen_at) as timeend,
       stream || ' of ' || app_id || ' (' || state || '): ' || why as text, state as tags
from ingest.loss
where app_id ${apps} and stream in (${list})
  and coalesce(range_from, first_seen_at) <= $__timeTo()::timestamptz
  and coalesce(range_to, first_seen_at) >= $__timeFrom()::timestamptz
order by 1 limit 200`),
  )
}
