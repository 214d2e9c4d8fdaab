import {
  granularities,
  knownProducts,
  qualityMetrics,
  realtimeUsageMetrics,
  usageMetrics,
} from '../../../src/provider/analytics/index.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Asking, SandboxApp } from '../stage.ts'
import { Query } from './query.ts'
import { AnalyticsRefusal } from './refusals.ts'
import type { AnalyticsTruth } from './truth.ts'

/** One true value, as the parameters of a control route name it. */
type Reading = (truth: AnalyticsTruth, query: Query) => unknown

const readings: Readonly<Record<string, Reading>> = {
  points: (truth, query) => truth.points(query.text('call_id')) ?? null,
  usage: (truth, query) =>
    truth.usage(
      query.oneOf('metric', usageMetrics),
      query.oneOf('granularity', granularities),
      query.seconds('ts'),
    ),
  quality: (truth, query) =>
    truth.quality(
      {
        product: query.oneOf('product', knownProducts),
        metric: query.oneOf('metric', qualityMetrics),
        granularity: query.oneOf('granularity', granularities),
      },
      query.seconds('ts'),
    ),
  'realtime-usage': (truth, query) =>
    truth.realtimeUsage(subjectOf(query), query.oneOf('metric', realtimeUsageMetrics), query.seconds('ts')),
  'realtime-quality': (truth, query) => {
    const [uid] = query.users('uid', 1) ?? []
    const metric = query.oneOf('metric', qualityMetrics)
    return truth.realtimeQuality(subjectOf(query), metric, query.seconds('ts'), uid) ?? null
  },
}

/** Routes of an oracle in another process: single values as they stand in the end, as `{"value": ...}`. */
export function addAnalyticsControl(app: SandboxApp, sandbox: Sandbox): void {
  for (const [name, read] of Object.entries(readings)) {
    app.get(`/control/analytics/${name}`, context => answer(context, sandbox, read))
  }
}

function answer(context: Asking, sandbox: Sandbox, read: Reading): Response {
  const query = new Query(new URL(context.req.url).searchParams)
  try {
    const id = query.text('app')
    if (!sandbox.universe.app(id)) return context.json({ error: 'there is no such app' }, 404)
    return context.json({ value: read(sandbox.analytics(id), query) })
  } catch (error) {
    if (error instanceof AnalyticsRefusal) return context.json({ error: error.message }, 400)
    throw error
  }
}

function subjectOf(query: Query) {
  return { product: query.oneOf('product', knownProducts), cname: query.optionalText('cname') }
}
