import {
  type AnnotationQueryBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableHide,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { chosenApp } from './class/queries.ts'
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
function queryVariable(
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

const apps = 'select app_id from ingest.app order by 1'

/** Several apps, all unless told. */
export function appsVariable(): QueryVariableBuilder {
  return queryVariable('app', 'App', 'Projects whose data are shown', apps)
    .multi(true)
    .includeAll(true)
    .current({ text: ['All'], value: ['$__all'] })
}

const inTime = `coalesce(r.started_at, r.first_seen_at) <= $__timeTo()::timestamptz
  and coalesce(r.ended_at, r.last_event_at, r.first_seen_at) >= $__timeFrom()::timestamptz`

const rooms = `
select r.room_uuid || to_char(max(coalesce(r.started_at, r.first_seen_at)) at time zone 'UTC', ' (YYYY-MM-DD HH24:MI "UTC)"') as __text,
       r.room_uuid as __value
from classroom.room r
where r.app_id in ($app) and ${inTime}
group by r.room_uuid
order by max(coalesce(r.started_at, r.first_seen_at)) desc, r.room_uuid limit 500`

/** That of the chosen time comes first, so that it is taken where none was chosen. */
const incarnations = `
select r.incarnation || to_char(coalesce(r.started_at, r.first_seen_at) at time zone 'UTC', ' (YYYY-MM-DD HH24:MI "UTC)"') as __text,
       r.incarnation as __value
from classroom.room r
where r.app_id = ${chosenApp} and r.room_uuid = '$room'
order by (${inTime}) desc, r.incarnation desc limit 100`

/**
 * The class: a room, and which use of it. A dashboard of many classes carries it out of sight, so that a reader who goes
 * on from there finds it again.
 */
export function classVariables(place: 'shown' | 'carried'): readonly QueryVariableBuilder[] {
  const hide = place === 'shown' ? VariableHide.DontHide : VariableHide.HideVariable
  return [
    queryVariable('room', 'Room', 'Rooms with a class in the chosen time, the newest first', rooms).hide(
      hide,
    ),
    queryVariable(
      'incarnation',
      'Use',
      'A room ID may be used again for another class: which of its uses',
      incarnations,
    ).hide(hide),
  ]
}

/** What a dashboard that does not read the database hands on: all apps, unless it was led to from one. */
export function carriedApp(): TextBoxVariableBuilder {
  return new TextBoxVariableBuilder('app')
    .label('App')
    .description('Project that the next dashboard shows')
    .defaultValue('$__all')
    .hide(VariableHide.HideVariable)
}

/**
 * Marks what is missing where it is missing, so that nobody takes a hole in the data for one in the world. `series`: of
 * one series only, or of its whole app.
 */
export function gapAnnotation(streams: readonly string[], series?: string): AnnotationQueryBuilder {
  const apps = series === undefined ? 'in ($app)' : `= ${chosenApp} and series in ('', '${series}')`
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
