import type { Config } from './config.ts'
import { Secret } from './secret.ts'

/** What differs between the configuration that a daemon runs with and another one. */
export interface Changes {
  /** IDs of apps. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Apps that both have, with other credentials, streams or limits. */
  readonly changed: readonly string[]
  /** Keys that take effect when the daemon is started again, in the order of the alphabet. */
  readonly restart: readonly string[]
}

/** Takes effect while the daemon runs, or is none of its keys. */
const live: ReadonlySet<string> = new Set(['apps', 'log', 'streams', 'warnings'])

/** So deep lie the keys of a section. What is below is told by the name of its key. */
const depths: Readonly<Record<string, number>> = { provider: 3, retention: 1 }
const USUAL_DEPTH = 2

/** Compares what two configurations mean, not how they are written; secrets by where they come from. */
export function changesBetween(before: Config, after: Config): Changes {
  const known = byId(before)
  const wanted = byId(after)
  const sections = new Set([...Object.keys(before), ...Object.keys(after)].filter(key => !live.has(key)))
  return {
    added: [...wanted.keys()].filter(id => !known.has(id)),
    removed: [...known.keys()].filter(id => !wanted.has(id)),
    changed: [...wanted]
      .filter(([id, app]) => known.has(id) && differs(known.get(id), app))
      .map(([id]) => id),
    restart: [...sections]
      .flatMap(key =>
        keysThatDiffer(entry(before, key), entry(after, key), [key], depths[key] ?? USUAL_DEPTH),
      )
      .toSorted(),
  }
}

export function byId<A extends { readonly id: string }>({ apps }: { readonly apps: readonly A[] }) {
  return new Map(apps.map(app => [app.id, app]))
}

function keysThatDiffer(
  before: unknown,
  after: unknown,
  path: readonly string[],
  depth: number,
): readonly string[] {
  if (!differs(before, after)) return []
  if (path.length === depth || !isMapping(before) || !isMapping(after)) return [path.join('.')]
  return keysOf(before, after).flatMap(key =>
    keysThatDiffer(entry(before, key), entry(after, key), [...path, key], depth),
  )
}

function differs(before: unknown, after: unknown): boolean {
  if (before instanceof Secret && after instanceof Secret) return !before.isSame(after)
  if (!isMapping(before) || !isMapping(after)) return !Object.is(before, after)
  return keysOf(before, after).some(key => differs(entry(before, key), entry(after, key)))
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Secret)
}

function keysOf(before: object, after: object): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
}

function entry(of: object, key: string): unknown {
  return (of as Readonly<Record<string, unknown>>)[key]
}
