import pg from 'pg'
import type { CallsProfile, FaultRule } from '../../../sandbox/src/index.ts'
import {
  type AnalyticsStage,
  appOf,
  type CallItem,
  type Endpoint,
  frameOf,
  playAnalytics,
} from '../../../sandbox/test/analytics-play.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import { writableSamples } from '../../support/samples.ts'
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

const profile: CallsProfile = { kind: 'calls', callsPerDay: 12, users: 2, minutes: 6, days: 1 }
const hour = 3_600
const day = 24 * hour
const realtimeReach = 2_400

/** Hours of a small world, all of it asked for and stored by nobody's code but this. */
export async function fillAnalytics(): Promise<Filled> {
  const database = await cloneDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(writableSamples)
  const stage = playAnalytics({
    ...{ profile, pace: 21_000, apps: [appOf('premium')] },
    switches: { metricSeconds: 60, unknownFields: 'present', kvs: 'triples' },
  })
  const start = stage.now()
  const store = new Store(client, stage)
  await store.realtime(start - realtimeReach + 60)
  await store.calls(start - 7 * day + 600)
  await store.insights(start - 14 * day + 2 * hour, start - 12 * day)
  await store.insights(start - 61 * hour, start - 13 * hour)
  await store.realtime()
  // For longer than real time is served nothing is answered.
  const broken = stage.clock.now()
  await stage.clock.advance(4_200_000)
  const healed = stage.clock.now()
  await store.loseRealtime()
  for (let n = 0; n < 7; n++) {
    await stage.clock.advance(1_500_000)
    await store.realtime()
  }
  await store.calls(start - hour)
  await store.settle()
  const end = stage.clock.now()
  const fault: FaultRule = { kind: 'status', operation: 'realtimeUsage' }
  const examination: Examination = {
    sandbox: stage.sandbox,
    rows: async <Row>(text: string) => (await client.query<Row & object>(text)).rows as readonly Row[],
    ...{ start: start * 1_000, healed, end },
    apps: [{ id: 'demo', plan: 'premium', regions: ['eu'] }],
    faults: [{ from: broken - start * 1_000, to: healed - start * 1_000, rules: [fault] }],
    ...{ isInterrupted: false, isEnd: true },
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
  readonly #calls = new Set<string>()
  /** What was read of real time, Unix seconds. */
  readonly #realtime: { from: number; to: number }[] = []

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
    const covered = [{ from, to: this.#stage.now() - hour - 180 }]
    await this.#progress('calls', '', covered)
  }

  async #call(call: CallItem, at: string): Promise<void> {
    const { call_id, cname, finished } = call
    // One that goes on is found again.
    if (!finished || this.#calls.has(call_id)) return
    this.#calls.add(call_id)
    const times = { created_at: utc(call.created_ts), destroyed_at: utc(call.destroyed_ts) }
    const row = { call_id, cname, finished, ...times, first_seen_at: at, updated_at: at }
    await this.#insert('call', [row])
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
    const values = metrics.flatMap(({ sid, data }) =>
      data.flatMap(({ mid, peer_uid, kvs }) =>
        kvs.map(([second, value, ...pair]: readonly unknown[], n) => ({
          ...{ call_id, sid, mid, peer_uid: String(peer_uid), at: utc(Number(second)), value },
          extra: n > 0 ? pair : { pair, series: noted, entry: noted },
        })),
      ),
    )
    await this.#insert('session_metric', values)
    for (const stream of ['call-sessions', 'call-metrics']) {
      const item = [stream, call_id, times.created_at, times.destroyed_at]
      await this.#client.query(
        `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
         values ('demo', $1, $2, '1', $3, $4, 'done')`,
        item,
      )
    }
    await this.#client.query(`insert into analytics.call_summary (app_id, call_id) values ('demo', $1)`, [
      call_id,
    ])
    await this.#client.query(`select analytics.summarize('demo', array[$1::text])`, [call_id])
    const written = `update analytics.call_summary set updated_at = to_timestamp($2) where call_id = $1`
    await this.#client.query(written, [call_id, this.#stage.now()])
  }

  async insights(from: number, to: number): Promise<void> {
    const ask = { metric: 'userCount', aggregateGranularity: '1h', startTs: from, endTs: to }
    const { data } = await this.#ask('usage', ask)
    const rows = data.map(({ ts, userCount, ...extra }) => ({
      ...{ metric: 'userCount', granularity: 'hour', at: utc(ts!), value: userCount },
      ...{ revision: 1, fetched_at: this.#now(), extra },
    }))
    await this.#insert('usage_insight', rows)
    const final = this.#stage.now() - 62 * hour
    if (from >= final) return
    await this.#progress('usage-insight', 'userCount/hour', [{ from, to: Math.min(to, final) }])
  }

  /** From where it was read last to what is old enough. */
  async realtime(from = this.#realtime.at(-1)!.to): Promise<void> {
    const first = Math.ceil(from / 20) * 20
    const to = Math.floor((this.#stage.now() - 60) / 20) * 20
    const ask = { productType: 'Native', metric: 'userCount', startTs: first, endTs: to }
    const { data } = await this.#ask('realtime-usage', ask)
    const rows = data.map(({ ts, userCount, ...extra }) => ({
      ...{ product: 'Native', metric: 'userCount', cname: '', at: utc(ts!), value: userCount, extra },
    }))
    await this.#insert('usage_realtime', rows)
    this.#realtime.push({ from: first, to })
    await this.#progress('realtime-usage', 'Native/userCount', this.#realtime)
  }

  /** Goes on with the oldest that is served, and sets down what is before it. */
  async loseRealtime(): Promise<void> {
    const { to: from } = this.#realtime.at(-1)!
    const to = Math.ceil((this.#stage.now() - realtimeReach + 25) / 20) * 20
    await this.realtime(to)
    await this.#client.query(
      `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
       values ('demo', 'realtime-usage', 'Native/userCount', 'time', $1, $2, 'expired', 'lost', $3, $3)`,
      [utc(from), utc(to), this.#now()],
    )
  }

  /** From its first range on a series is owed. */
  async #progress(stream: string, series: string, covered: readonly { from: number; to: number }[]) {
    const ranges = covered.map(({ from, to }) => `[${utc(from)},${utc(to)})`).join()
    await this.#client.query(
      `insert into ingest.progress (app_id, stream, series, backlog_from, covered) values ('demo', $1, $2, $3, $4)
       on conflict (app_id, stream, series) do update
         set covered = progress.covered + excluded.covered, backlog_from = least(progress.backlog_from, excluded.backlog_from)`,
      [stream, series, utc(covered[0]!.from), `{${ranges}}`],
    )
  }

  /** Debits what arrived, each settled. */
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
        `insert into ingest.debit values ($1, $2, $3, $4, $5, null, $6, $7, $8, $7, 'committed')`,
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
