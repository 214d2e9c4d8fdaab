import { type AppOptions, demoApp, type SandboxOptions } from '../src/index.ts'
import { play } from './play.ts'

export const paths = {
  search: '/beta/analytics/call/lists',
  sessions: '/beta/analytics/call/sessions',
  metrics: '/beta/analytics/call/metrics',
  usage: '/beta/insight/usage/by_time',
  quality: '/beta/insight/quality/by_time',
  'realtime-usage': '/beta/realtime/usage/by_time_20sec',
  'realtime-quality': '/beta/realtime/quality/by_time_20sec',
} as const
export type Endpoint = keyof typeof paths

export interface CallItem {
  readonly call_id: string
  readonly cname: string
  readonly created_ts: number
  readonly destroyed_ts: number
  readonly finished: boolean
}

export interface SessionItem {
  readonly sid: string
  readonly uid: number
  readonly platform: string
  readonly join_ts: number
  readonly leave_ts: number
  readonly finished: boolean
}

export interface MetricsEntry {
  readonly sid: string
  readonly data: readonly {
    readonly mid: number
    readonly peer_uid: number
    readonly kvs: readonly (readonly [number, number | string | null])[]
  }[]
}

export interface Body {
  readonly code: number
  readonly message: string | null
  readonly requestId: string
  readonly total_size: number
  readonly page_no: number
  readonly page_size: number
  readonly has_more: boolean
  readonly call_lists: readonly CallItem[]
  readonly call_info: readonly SessionItem[]
  readonly metrics: readonly MetricsEntry[]
  readonly data: readonly Readonly<Record<string, number>>[]
}

type Params = Readonly<Record<string, string | number | undefined>>

/** Half a million calls in fifteen days would be no slower; these are enough to count. */
export const calls = { kind: 'calls', callsPerDay: 480, users: 6, minutes: 30, days: 15 } as const

export const hour = 3_600
export const day = 24 * hour

export function basic(key: string, secret: string): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}` }
}

export const demoCredential = basic('demo-key', 'demo-secret')

export function appOf(plan: AppOptions['plan']): AppOptions {
  return plan ? { ...demoApp, plan } : demoApp
}

/** The call analytics of a load of calls, asked by the names of their endpoints; each request comes after `pace` ms. */
export function playAnalytics(options: Partial<SandboxOptions> & { readonly pace?: number } = {}) {
  const { pace = 1_001, ...rest } = options
  const stage = play({ profile: calls, ...rest })
  const send = async (endpoint: Endpoint, params: Params, headers = demoCredential) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ appid: 'demo', ...params })) {
      if (value !== undefined) query.set(name, String(value))
    }
    const { status, body, headers: answered } = await stage.get(`${paths[endpoint]}?${query}`, headers)
    return { status, headers: answered, body: body as unknown as Body }
  }
  return {
    ...stage,
    /** Whole Unix seconds of the world. */
    now: () => Math.floor(stage.sandbox.universe.now() / 1_000),
    send,
    ask: async (endpoint: Endpoint, params: Params, headers = demoCredential) => {
      await stage.clock.advance(pace)
      return send(endpoint, params, headers)
    },
    violations: () => stage.sandbox.status().violationsByKind,
  }
}

export type AnalyticsStage = ReturnType<typeof playAnalytics>

/** All pages of a search. */
export async function searchAll(stage: AnalyticsStage, params: Params): Promise<CallItem[]> {
  const found: CallItem[] = []
  for (let page = 1; ; page++) {
    const { body } = await stage.ask('search', { ...params, page_no: page, page_size: 100 })
    found.push(...body.call_lists)
    if (body.call_lists.length < 100) return found
  }
}

/** A finished call of about an hour ago. */
export async function someCall(stage: AnalyticsStage): Promise<CallItem> {
  const now = stage.now()
  const { body } = await stage.ask('search', { start_ts: now - 2 * hour, end_ts: now - hour })
  const call = body.call_lists.find(({ finished }) => finished)
  if (!call) throw new Error(`no call is over: ${JSON.stringify(body)}`)
  return call
}

export const frameOf = ({ call_id, created_ts, destroyed_ts }: CallItem) => ({
  call_id,
  start_ts: created_ts,
  end_ts: destroyed_ts,
})

/** What each endpoint asks besides a range. */
export const rest: Readonly<Record<Endpoint, object>> = {
  search: {},
  sessions: { call_id: 'c' },
  metrics: { call_id: 'c', sids: 's' },
  usage: { metric: 'userCount', aggregateGranularity: '1h' },
  quality: { metric: 'networkDelay', aggregateGranularity: '1h', productType: 'Native' },
  'realtime-usage': { metric: 'userCount', productType: 'Native' },
  'realtime-quality': { metric: 'networkDelay', productType: 'Native' },
}

/** Asks about a minute that ends so many seconds ago. */
export function askAt(stage: AnalyticsStage, endpoint: Endpoint, age: number) {
  const end = stage.now() - age
  const isOfCalls = ['search', 'sessions', 'metrics'].includes(endpoint)
  const range = isOfCalls ? { start_ts: end - 60, end_ts: end } : { startTs: end - 60, endTs: end }
  return stage.send(endpoint, { ...rest[endpoint], ...range })
}
