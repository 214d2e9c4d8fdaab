import { defaultParameterNames } from '../provider/analytics/index.ts'
import type { Config } from './config.ts'
import type { Path, Problem } from './problem.ts'
import type { Tree } from './tree.ts'

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
