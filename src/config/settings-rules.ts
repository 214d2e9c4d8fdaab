import {
  type AnalyticsGroup,
  analyticsGroups,
  analyticsLimits,
  defaultParameterNames,
} from '../provider/analytics/index.ts'
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

/** Names or words of a deployment that stand in one request, so that two which are alike would corrupt it. */
interface Renames {
  readonly path: Path
  readonly words: Readonly<Record<string, string>>
  /** What each word is known to mean, where it would ask for something else than its key says. */
  readonly known?: Readonly<Record<string, string>>
}

/** What may be renamed and must stay apart. */
export function checkRenames({ provider: { classroom, analytics } }: Pick<Config, 'provider'>, tree: Tree) {
  // Names of headers differ in more than case.
  const headers = classroom && {
    tokenHeader: classroom.tokenHeader.toLowerCase(),
    uidHeader: classroom.uidHeader.toLowerCase(),
  }
  const path = ['provider', 'analytics']
  return [
    ...(headers ? mistakesOf(tree, { path: ['provider', 'classroom'], words: headers }) : []),
    ...(analytics
      ? [
          ...mistakesOf(tree, { path: [...path, 'parameters'], words: analytics.parameters }),
          ...mistakesOf(tree, {
            path: [...path, 'granularities'],
            words: analytics.granularities,
            known: defaultParameterNames.granularities,
          }),
        ]
      : []),
  ]
}

/** Of two that are alike, the one that the file says is wrong; where it says both, the latter. */
function mistakesOf(tree: Tree, { path, words, known = {} }: Renames): readonly Problem[] {
  const keys = Object.keys(words)
  return keys.flatMap((key, i): readonly Problem[] => {
    const under = [...path, key]
    if (!tree.holds(under)) return []
    const like = keys.find((other, j) => {
      const isFirst = j < i || !tree.holds([...path, other])
      return other !== key && words[other] === words[key] && isFirst
    })
    const meant = like ?? keys.find(other => other !== key && known[other] === words[key])
    if (meant === undefined) return []
    const text =
      like === undefined
        ? `is the word for ${meant}; the values would be stored as what they are not`
        : `is the same as ${like}; each must have one of its own, or requests would be wrong`
    return [{ path: under, at: tree.placeOf(under), text }]
  })
}
