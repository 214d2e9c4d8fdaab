import type {
  CallItem,
  MetricSeries,
  MetricsItem,
  qualityMetrics,
  realtimeUsageMetrics,
  SessionItem,
  usageMetrics,
} from '../provider/analytics/index.ts'
import type { PlayerItem } from '../provider/players/index.ts'

/** What the contract names: unknown fields pass at run time and stand in no type. */
export type Named<T> = T extends readonly (infer Item)[]
  ? Named<Item>[]
  : T extends object
    ? { [K in keyof T as string extends K ? never : number extends K ? never : K]: Named<T[K]> }
    : T

interface About {
  message?: string | null
  requestId?: string | null
}

interface Paged extends About {
  total_size?: number | null
  page_no?: number | null
  page_size?: number | null
}

type Measured = Omit<Named<MetricsItem>, 'data'> & { data: Named<MetricSeries>[] }

type Point<M extends string> = { ts: number } & { [K in M]?: number | null }

/** Only what is asked for by user ID has these fields, and the points in them. */
type UserPoints<M extends string> = Partial<Point<M>> & { uid?: number | string; values?: Point<M>[] }

/**
 * What the answers of some operations hold besides, by the contract. Lists are handed on as they came, so that one bad
 * item spoils no page: nobody has checked what stands in them.
 */
export interface Unchecked {
  callSearch: Paged & { call_lists: Named<CallItem>[] }
  callSessions: Paged & { call_info: Named<SessionItem>[] }
  callMetrics: About & { metrics: Measured[] }
  usageInsight: About & { data: Point<(typeof usageMetrics)[number]>[] }
  qualityInsight: About & { data: Point<(typeof qualityMetrics)[number]>[] }
  realtimeUsage: About & { data: Point<(typeof realtimeUsageMetrics)[number]>[] }
  realtimeQuality: About & { data: UserPoints<(typeof qualityMetrics)[number]>[] }
  listPlayers: { players?: Named<PlayerItem>[] | null }
}
