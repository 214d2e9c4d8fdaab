import type { AnalyticsGroup } from '../provider/analytics/index.ts'
import { analyticsGroups, analyticsLimits } from '../provider/analytics/index.ts'
import type { PlanLimits } from '../provider/limits.ts'
import { formatDuration } from '../settings/duration.ts'
import { allowanceOf, groupOfStream, missingFrom } from './allowance.ts'
import { analyticsStreamsOn } from './availability.ts'
import type { AnalyticsStreamName, AppConfig, Config } from './config.ts'
import type { Path, Problem } from './problem.ts'
import type { Tree } from './tree.ts'

type Settled = Pick<Config, 'provider' | 'apps'>

/** A mistake of one app's settings, and the keys it may have come from, likeliest first. */
interface Mistake {
  readonly keys: readonly Path[]
  readonly text: string
}

/**
 * What cannot be right about call analytics once all layers are laid over each other and the plan is known. What the
 * whole file says wrongly is told once, however many apps it holds for.
 */
export function checkAnalytics(config: Settled, tree: Tree): readonly Problem[] {
  const told = new Map<string, Problem>()
  for (const [i, app] of config.apps.entries()) {
    for (const { keys, text } of mistakesOf(config, app, i, tree)) {
      const path = whereSaid(tree, i, keys)
      const problem = { path, at: tree.keyOf(path), text }
      told.set(JSON.stringify([path, text]), problem)
    }
  }
  return [...told.values()]
}

/** The app's own word stands before that of the file. */
function whereSaid(tree: Tree, app: number, keys: readonly Path[]): Path {
  const layers = keys.flatMap(key => [['apps', app, ...key], key])
  return layers.find(path => tree.holds(path)) ?? ['apps', app]
}

function mistakesOf(config: Settled, app: AppConfig, i: number, tree: Tree): readonly Mistake[] {
  const on = analyticsStreamsOn(config, app)
  return [
    ...analyticsGroups.flatMap(group => groupMistakes(config, app, i, group, tree)),
    ...on.flatMap(stream => {
      const allowed = allowanceOf(app, groupOfStream[stream])
      return allowed && allowed.availableData > allowed.dataDelay ? streamMistakes(app, stream, allowed) : []
    }),
    ...userMistakes(app),
  ]
}

function groupMistakes(
  { apps }: Settled,
  app: AppConfig,
  i: number,
  group: AnalyticsGroup,
  tree: Tree,
): readonly Mistake[] {
  const allowance = allowanceOf(app, group)
  const key: Path = ['limits', group]
  if (allowance) {
    if (allowance.availableData > allowance.dataDelay) return []
    const [availableData, dataDelay] = [text(allowance.availableData), text(allowance.dataDelay)]
    return [
      {
        keys: [[...key, 'availableData'], [...key, 'dataDelay'], key],
        text: `availableData (${availableData}) must be longer than dataDelay (${dataDelay}): as it is, nothing can ever be asked for`,
      },
    ]
  }
  const missing = missingFrom(app.limits[group], group)
  const isMeant = tree.holds(['apps', i, ...key]) || (tree.holds(key) && !apps.some(hasAccess(group)))
  if (!isMeant) return []
  return [
    {
      keys: [key],
      text: `the plan ${app.plan} has no access to this group; if yours has, say ${missing.join(', ')} as well`,
    },
  ]
}

function hasAccess(group: AnalyticsGroup) {
  return ({ plan }: AppConfig) => analyticsLimits[group][plan] !== undefined
}

function streamMistakes(
  app: AppConfig,
  stream: AnalyticsStreamName,
  allowed: PlanLimits,
): readonly Mistake[] {
  switch (stream) {
    case 'calls':
      return callMistakes(app, allowed)
    case 'usage-insight':
    case 'quality-insight':
      return insightMistakes(app, stream, allowed)
    case 'realtime-usage':
    case 'realtime-quality':
      return realtimeMistakes(app, stream, allowed)
    case 'call-sessions':
    case 'call-metrics':
      return []
  }
}

/** A range must be read once more after it has become final and before it leaves the reach. */
function callMistakes(
  { streams: { calls } }: AppConfig,
  { availableData, dataDelay }: PlanLimits,
): readonly Mistake[] {
  if (calls === 'off') return []
  const most = (availableData - dataDelay) * 1_000 - calls.revisitEvery
  if (calls.allowedLateness < most) return []
  return [
    {
      keys: [
        ['streams', 'calls', 'allowedLateness'],
        ['streams', 'calls', 'revisitEvery'],
        ['limits', 'call-search'],
      ],
      text: `allowedLateness (${formatDuration(calls.allowedLateness)}) and revisitEvery (${formatDuration(calls.revisitEvery)}) must together be shorter than what can be asked for (${text(availableData - dataDelay)}): as it is, no range would ever be complete`,
    },
  ]
}

/** One request reads a frame of the span's length up to now: a value must become final while it is inside. */
function insightMistakes(
  { streams }: AppConfig,
  stream: 'usage-insight' | 'quality-insight',
  { timeFrame }: PlanLimits,
): readonly Mistake[] {
  const settings = streams[stream]
  if (settings === 'off' || settings.allowedLateness + settings.every <= timeFrame * 1_000) return []
  const [every, allowedLateness] = [formatDuration(settings.every), formatDuration(settings.allowedLateness)]
  const key: Path = ['streams', stream]
  return [
    {
      keys: [
        [...key, 'allowedLateness'],
        [...key, 'every'],
        ['limits', groupOfStream[stream], 'timeFrame'],
        key,
      ],
      text: `allowedLateness (${allowedLateness}) and every (${every}) must together be at most the longest window (${text(timeFrame)}): as it is, no value would ever be complete`,
    },
  ]
}

/** What is older than one request reaches is lost. */
function realtimeMistakes(
  { streams }: AppConfig,
  stream: 'realtime-usage' | 'realtime-quality',
  { availableData, timeFrame, dataDelay }: PlanLimits,
): readonly Mistake[] {
  const settings = streams[stream]
  const most = Math.min(availableData - dataDelay, timeFrame)
  if (settings === 'off' || settings.every < most * 1_000) return []
  return [
    {
      keys: [
        ['streams', stream, 'every'],
        ['limits', groupOfStream[stream]],
      ],
      text: `every (${formatDuration(settings.every)}) must be shorter than what one request can read (${text(most)}): as it is, the time between would be lost`,
    },
  ]
}

function userMistakes({ streams: { 'realtime-quality': settings } }: AppConfig): readonly Mistake[] {
  if (settings === 'off' || settings.usersOf === 'project') return []
  if (settings.uids.length === 0 || settings.channels === 'live' || settings.channels.length > 0) return []
  return [
    {
      keys: [['streams', 'realtime-quality', 'uids']],
      text: 'are asked for in each channel, and there is none; give channels beside it, or usersOf: project',
    },
  ]
}

function text(seconds: number): string {
  return formatDuration(seconds * 1_000)
}
