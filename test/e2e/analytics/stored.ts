import pg from 'pg'

/** A call as the table has it; times in Unix seconds. */
export interface StoredCall {
  readonly app: string
  readonly call: string
  readonly cname: string
  readonly created: number
  readonly destroyed: number | null
  readonly finished: boolean | null
}

/** All columns of a session as one text, besides its key. */
export interface StoredSession {
  readonly app: string
  readonly call: string
  readonly sid: string
  readonly content: string
}

/** The values of one metric of a session as JSON, in the order of time. */
export interface StoredSeries {
  readonly app: string
  readonly call: string
  readonly sid: string
  readonly peer: string
  readonly mid: number
  readonly pairs: string
  readonly points: number
}

/** One value of insights or real-time metrics. `of` names the question: product, metric, granularity, channel, user. */
export interface StoredValue {
  readonly app: string
  readonly table: 'usage_insight' | 'quality_insight' | 'usage_realtime' | 'quality_realtime'
  readonly metric: string
  readonly of: string
  readonly at: number
  readonly value: number
}

export interface StoredLetter {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly reason: string
  readonly occurrences: number
  readonly body: string
}

/** A row of the gap ledger; Unix seconds. */
export interface StoredGap {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly state: string
  readonly reason: string
  readonly from: number
  readonly to: number
}

/** What the database holds of call analytics. */
export interface Stored {
  readonly calls: readonly StoredCall[]
  readonly sessions: readonly StoredSession[]
  readonly series: readonly StoredSeries[]
  readonly values: readonly StoredValue[]
  readonly letters: readonly StoredLetter[]
  readonly gaps: readonly StoredGap[]
}

const unix = (column: string) => `extract(epoch from ${column})::float8`

const calls = `
  select app_id as app, call_id as call, cname, ${unix('created_at')} as created, ${unix('destroyed_at')} as destroyed, finished
  from analytics.call`

const sessions = `
  select app_id as app, call_id as call, sid,
         json_build_array(cname, uid, network, platform, speaker, sdk_version, device_type, ${unix('joined_at')},
                          ${unix('left_at')}, finished, extra)::text as content
  from analytics.call_session`

const series = `
  select app_id as app, call_id as call, sid, peer_uid as peer, mid, count(*)::int as points,
         json_agg(json_build_array(${unix('at')}, value) order by at)::text as pairs
  from analytics.session_metric group by 1, 2, 3, 4, 5`

const values = `
  select app_id as app, 'usage_insight' as table, metric, granularity as of, ${unix('at')} as at, value from analytics.usage_insight
  union all
  select app_id, 'quality_insight', metric, product || '/' || granularity, ${unix('at')}, value from analytics.quality_insight
  union all
  select app_id, 'usage_realtime', metric, product || '/' || cname, ${unix('at')}, value from analytics.usage_realtime
  union all
  select app_id, 'quality_realtime', metric, product || '/' || cname || '/' || uid, ${unix('at')}, value from analytics.quality_realtime`

const letters = `
  select app_id as app, stream, series, reason, occurrences::int as occurrences, convert_from(body, 'UTF8') as body
  from ingest.dead_letter`

const gaps = `
  select app_id as app, stream, series, state, reason, ${unix('range_from')} as from, ${unix('range_to')} as to from ingest.gap`

export async function readStored(databaseUrl: string): Promise<Stored> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const all = async <Row extends pg.QueryResultRow>(text: string) => (await client.query<Row>(text)).rows
  try {
    return {
      calls: await all<StoredCall & pg.QueryResultRow>(calls),
      sessions: await all<StoredSession & pg.QueryResultRow>(sessions),
      series: await all<StoredSeries & pg.QueryResultRow>(series),
      values: await all<StoredValue & pg.QueryResultRow>(values),
      letters: await all<StoredLetter & pg.QueryResultRow>(letters),
      gaps: await all<StoredGap & pg.QueryResultRow>(gaps),
    }
  } finally {
    await client.end()
  }
}
