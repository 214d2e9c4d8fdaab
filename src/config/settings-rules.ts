import { type AnalyticsGroup, analyticsGroups, analyticsLimits } from '../provider/analytics/index.ts'
import { formatSeconds } from '../settings/duration.ts'
import type { Stream } from '../streams/stream.ts'
import { isDrained } from './availability.ts'
import type { AppConfig, Config } from './config.ts'
import { allowanceOf, missingFrom } from './limits.ts'
import type { Path, Problem } from './problem.ts'
import type { Tree } from './tree.ts'

type Settled = Omit<Config, 'warnings'>

/** A mistake of one app's settings, and the keys it may have come from, likeliest first. */
interface Mistake {
  readonly keys: readonly Path[]
  readonly text: string
}

/**
 * What cannot be right about streams and limits once all layers are laid over each other and the plan is known. What
 * the whole file says wrongly is told once, however many apps it holds for.
 */
export function checkSettings(config: Settled, tree: Tree): readonly Problem[] {
  const told = new Map<string, Problem>()
  for (const [i, app] of config.apps.entries()) {
    const mistakes = [
      ...analyticsGroups.flatMap(group => groupMistakes(config, app, i, group, tree)),
      ...Object.values(config.streams).flatMap(stream => streamMistakes(config, app, stream)),
    ]
    for (const { keys, text } of mistakes) {
      const path = whereSaid(tree, i, keys)
      told.set(JSON.stringify([path, text]), { path, at: tree.keyOf(path), text })
    }
  }
  return [...told.values()]
}

/** The app's own word stands before that of the file. */
function whereSaid(tree: Tree, app: number, keys: readonly Path[]): Path {
  const layers = keys.flatMap(key => [['apps', app, ...key], key])
  return layers.find(path => tree.holds(path)) ?? ['apps', app]
}

function streamMistakes(config: Settled, app: AppConfig, stream: Stream): readonly Mistake[] {
  const { name, operation } = stream
  const settings = app.streams[name]
  if (settings === undefined || settings === 'off') return []
  const allowed = isDrained(config, app, name) ? allowanceOf(app, operation.limitGroup) : undefined
  const isOpen = allowed && allowed.availableData > allowed.dataDelay
  const mistakes = stream.mistakes?.(settings, isOpen ? allowed : undefined) ?? []
  return mistakes.map(({ settings, limit, text }) => ({
    keys: [
      ...settings.map(key => ['streams', name, key]),
      ...(limit ? [['limits', operation.limitGroup, ...(limit === 'any' ? [] : [limit])]] : []),
      ['streams', name],
    ],
    text,
  }))
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
    const [availableData, dataDelay] = [allowance.availableData, allowance.dataDelay].map(formatSeconds)
    return [
      {
        keys: [[...key, 'availableData'], [...key, 'dataDelay'], key],
        text: `availableData (${availableData}) must be longer than dataDelay (${dataDelay}): as it is, nothing can ever be asked for`,
      },
    ]
  }
  const hasAccess = ({ plan }: AppConfig) => analyticsLimits[group][plan] !== undefined
  const isMeant = tree.holds(['apps', i, ...key]) || (tree.holds(key) && !apps.some(hasAccess))
  if (!isMeant) return []
  const missing = missingFrom(app.limits[group]!, group).join(', ')
  return [
    {
      keys: [key],
      text: `the plan ${app.plan} has no access to this group; if yours has, say ${missing} as well`,
    },
  ]
}
