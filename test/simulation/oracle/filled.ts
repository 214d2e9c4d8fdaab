import pg from 'pg'
import type { CallsProfile } from '../../../sandbox/src/index.ts'
import {
  type AnalyticsStage,
  appOf,
  type CallItem,
  type Endpoint,
  frameOf,
  playAnalytics,
} from '../../../sandbox/test/analytics-play.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import type { Examination, Finding } from './examination.ts'

export interface Filled {
  readonly stage: AnalyticsStage
  readonly examination: Examination
  readonly run: (text: string) => Promise<void>
  /** What an examination finds once some SQL has been run, which is undone after it. */
  readonly after: (text: string, examine: Examine) => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

type Examine = (examination: Examination) => Promise<readonly Finding[]>

const profile: CallsProfile = { kind: 'calls', callsPerDay: 20, users: 2, minutes: 6, days: 1 }
const hour = 3_600
const realtimeFrame = 1_800

/** Hours of a small world, all of it asked for and stored by nobody's code but this. */
export async function fillAnalytics(): Promise<Filled> {
  const database = await cloneDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const stage = playAnalytics({
    ...{ profile, pace: 21_000, apps: [appOf('premium')] },
    switches: { metricSeconds: 60, unknownFields: 'present', kvs: 'triples' },
  })
  const start = stage.now()
  const store = new Store(client, stage)
  let realtimeTo = start - realtimeFrame + 300
  for (let n = 0; n < 9; n++) {
    realtimeTo = await store.realtime(realtimeTo)
    await stage.clock.advance(1_500_000)
  }
  await store.realtime(realtimeTo)
  await store.calls(start - 26 * hour)
  await store.insights(start)
  await store.settle()
  const end = stage.clock.now()
  const examination: Examination = {
    sandbox: stage.sandbox,
    rows: async <Row>(text: string) => (await client.query<Row & object>(text)).rows as readonly Row[],
    ...{ start: start * 1_000, healed: start * 1_000, end },
    apps: [{ id: 'demo', plan: 'premium', regions: ['eu'] }],
    ...{ faults: [], isInterrupted: false, isEnd: true },
    series: {
      'usage-insight': ['userCount/hour'],
      'quality-insight': [],
      'realtime-usage': ['Native/userCount'],
      'realtime-quality': [],
    },
  }
  return {
    ...{ stage, examination },
    run: async text => {
      await client.query(text)
    },
    after: async (text, examine) => {
      await client.query('begin')
      try {
        await client.query(text)
        return (await examine(examination)).map(({ kind, text }) => `${kind}: ${text}`)
      } finally {
        await client.query('rollback')
      }
    },
    close: async () => {
      await client.end()
      await database.drop()
    },
  }
}

/** Asks and stores; an answer is stored a second after it came. */
class Store {
  readonly #client: pg.Client
  readonly #stage: AnalyticsStage

  constructor(client: pg.Client, stage: AnalyticsStage) {
    this.#client = client
    this.#stage = stage
  }

  async calls(from: number): Promise<void> {
    const to = this.#stage.now() - 120
    for (let at = from; at < to; at += 15 * hour) {
      const range = { start_ts: at, end_ts: Math.min(at + 15 * hour, to), page_no: 1, page_size: 100 }
      const { call_lists } = await this.#ask('search', range)
      const seen = this.#now()
      for (const call of call_lists) await this.#call(call, seen)
    }
  }

  async #call(call: CallItem, at: string): Promise<void> {
    const { call_id, cname, finished } = call
    const times = { created_at: utc(call.created_ts), destroyed_at: utc(call.destroyed_ts) }
    const row = { call_id, cname, finished, ...times, first_seen_at: at, updated_at: at }
    await this.#insert('call', [row])
    if (!finished) return
    const { call_info } = await this.#ask('sessions', { ...frameOf(call), exclude_server_user: 'false' })
    await this.#insert(
      'call_session',
      call_info.map(({ join_ts, leave_ts, uid, ...session }) => ({
        ...{ call_id, ...session, uid: String(uid) },
        ...{ joined_at: utc(join_ts), left_at: utc(leave_ts) },
      })),
    )
    const sids = call_info.map(({ sid }) => sid).join()
    const { metrics } = await this.#ask('metrics', { ...frameOf(call), sids })
    for (const { sid, data } of metrics) {
      for (const { mid, peer_uid, kvs } of data) {
        const rows = kvs.map(([second, value, ...pair]: readonly unknown[], n) => ({
          ...{ call_id, sid, mid, peer_uid: String(peer_uid), at: utc(Number(second)), value },
          extra: n > 0 ? pair : { pair, series: noted, entry: noted },
        }))
        await this.#insert('session_metric', rows)
      }
    }
  }

  async insights(start: number): Promise<void> {
    const to = Math.floor((start - 13 * hour) / hour) * hour
    const ask = { metric: 'userCount', aggregateGranularity: '1h', startTs: to - 48 * hour, endTs: to }
    const { data } = await this.#ask('usage', ask)
    const rows = data.map(({ ts, userCount, ...extra }) => ({
      ...{ metric: 'userCount', granularity: 'hour', at: utc(ts!), value: userCount },
      ...{ revision: 1, fetched_at: this.#now(), extra },
    }))
    await this.#insert('usage_insight', rows)
  }

  /** From one moment to what is old enough; answers the next moment. */
  async realtime(from: number): Promise<number> {
    const first = Math.ceil(from / 20) * 20
    const to = Math.floor((this.#stage.now() - 60) / 20) * 20
    const ask = { productType: 'Native', metric: 'userCount', startTs: first, endTs: to }
    const { data } = await this.#ask('realtime-usage', ask)
    const rows = data.map(({ ts, userCount, ...extra }) => ({
      ...{ product: 'Native', metric: 'userCount', cname: '', at: utc(ts!), value: userCount, extra },
    }))
    await this.#insert('usage_realtime', rows)
    return to
  }

  /** Debits what arrived. */
  async settle(): Promise<void> {
    const { arrivals } = this.#stage.sandbox
    for (const { n, app, operation, time } of arrivals.list(0, arrivals.count)) {
      const values = [
        'key',
        'all',
        n,
        app,
        `analytics.${operation}`,
        1,
        new Date(time),
        new Date(time + 60_000),
      ]
      await this.#client.query(
        'insert into ingest.debit values ($1, $2, $3, $4, $5, null, $6, $7, $8)',
        values,
      )
    }
    await this.#client.query(
      `insert into ingest.budget (scope, limit_group, last_n) values ('key', 'all', $1)`,
      [arrivals.count],
    )
  }

  async #ask(endpoint: Endpoint, params: Parameters<AnalyticsStage['ask']>[1]) {
    const { body } = await this.#stage.ask(endpoint, params)
    if (body.code !== 200) throw new Error(`${endpoint}: ${JSON.stringify(body)}`)
    return body
  }

  #now(): string {
    return new Date(this.#stage.clock.now() + 1_000).toISOString()
  }

  async #insert(table: string, rows: readonly object[]): Promise<void> {
    const whole = rows.map(row => ({ app_id: 'demo', ...row }))
    await this.#client.query(
      `insert into analytics.${table} select * from json_populate_recordset(null::analytics.${table}, $1)`,
      [JSON.stringify(whole)],
    )
  }
}

const noted = { note: { revision: 3, of: 'the provider' } }

function utc(seconds: number): string {
  return new Date(seconds * 1_000).toISOString()
}
