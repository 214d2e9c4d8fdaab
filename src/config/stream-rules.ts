import type { StreamName } from '../streams/stream.ts'
import { analyticsStreamNames } from './allowance.ts'
import type { Path, Problem } from './problem.ts'
import { isMapping, type Tree } from './tree.ts'

type Mapping = Readonly<Record<string, unknown>>

/** A stream without which others cannot be right, or have nothing to do. */
interface Gate {
  readonly keeper: StreamName
  readonly dependents: readonly StreamName[]
}

/** Whether a room is still the one that is known, only its log can tell: every other stream of rooms leans on it. */
const roomGate: Gate = {
  keeper: 'room-events',
  dependents: ['app-events', 'popup-quiz', 'poll', 'recordings', 'resources'],
}

/** Details of calls are asked for call by call. */
const callGates: readonly Gate[] = [
  { keeper: 'calls', dependents: ['call-sessions', 'call-metrics'] },
  { keeper: 'call-sessions', dependents: ['call-metrics'] },
]

/** A stream is off, and others that need it are on. */
export function gatekeepers(tree: Tree, root: Mapping): readonly Problem[] {
  const gates = [roomGate, ...(hasService(root, 'analytics') ? callGates : [])]
  const reported = new Set<string>()
  return appsOf(root).flatMap((app, i) => {
    const own = streamsOf(app)
    const streams: Mapping = { ...streamsOf(root), ...own }
    return gates.flatMap(({ keeper, dependents }): readonly Problem[] => {
      const orphans = dependents.filter(name => streams[name] !== 'off')
      if (streams[keeper] !== 'off' || orphans.length === 0) return []
      const path: Path = Object.hasOwn(own, keeper) ? ['apps', i, 'streams', keeper] : ['streams', keeper]
      if (reported.has(path.join('.'))) return []
      reported.add(path.join('.'))
      const need = orphans.length === 1 ? 'needs' : 'need'
      const text = `is off, but ${orphans.join(', ')} ${need} it; leave it on, or switch them off as well`
      return [{ path, at: tree.keyOf(path), text }]
    })
  })
}

/** Services that ask for a key, and the streams that are drained from each. */
const keyed = { analytics: analyticsStreamNames, players: ['cloud-players'] } as const
type Keyed = keyof typeof keyed

/** Whoever gives settings to a stream wants it drained: without an address or a key it cannot be. */
export function namedInVain(tree: Tree, root: Mapping): readonly Problem[] {
  return [
    ...(Object.keys(keyed) as Keyed[]).flatMap(service => namedOf(service, tree, root)),
    ...notifiedInVain(tree, root),
  ]
}

function namedOf(service: Keyed, tree: Tree, root: Mapping): readonly Problem[] {
  const apps = appsOf(root)
  const noService = `needs provider.${service}.url; give it, or leave this stream out`
  const problems = (base: Path, streams: Mapping, text: string): readonly Problem[] =>
    keyed[service]
      .filter(name => isMapping(streams[name]))
      .map(name => {
        const path = [...base, 'streams', name]
        return { path, at: tree.keyOf(path), text }
      })
  const inFile = (text: string) => problems([], streamsOf(root), text)
  if (!hasService(root, service)) {
    return [
      ...inFile(noService),
      ...apps.flatMap((app, i) => problems(['apps', i], streamsOf(app), noService)),
    ]
  }
  return [
    ...(apps.length > 0 && !apps.some(hasKey)
      ? inFile('needs rest.key and rest.secret, and no app has them; give them, or leave this stream out')
      : []),
    ...apps.flatMap((app, i) => {
      const text = `needs apps[${i}].rest with key and secret; give it, or leave this stream out`
      return hasKey(app) ? [] : problems(['apps', i], streamsOf(app), text)
    }),
  ]
}

/** What the provider signs is told by headers of its service, and asks for a list from it. */
function notifiedInVain(tree: Tree, root: Mapping): readonly Problem[] {
  if (hasService(root, 'players')) return []
  return appsOf(root).flatMap((app, i) => {
    if (!isMapping(app) || !isMapping(app.notifications)) return []
    const path = ['apps', i, 'notifications']
    const text = 'needs provider.players.url; give it, or leave this section out'
    return [{ path, at: tree.keyOf(path), text }]
  })
}

/** The same word twice in a list of a stream would ask the same question twice. */
export function repeated(tree: Tree, root: Mapping): readonly Problem[] {
  const layers = [
    [[], streamsOf(root)] as const,
    ...appsOf(root).map((app, i) => [['apps', i], streamsOf(app)] as const),
  ]
  return layers.flatMap(([base, streams]) =>
    Object.entries(streams).flatMap(([stream, settings]) =>
      Object.entries(isMapping(settings) ? settings : {}).flatMap(([key, list]) =>
        repetitions(tree, [...base, 'streams', stream, key], Array.isArray(list) ? list : []),
      ),
    ),
  )
}

function repetitions(tree: Tree, path: Path, list: readonly unknown[]): readonly Problem[] {
  const seen = new Set<unknown>()
  return list.flatMap((word, i) => {
    const isNew = !seen.has(word)
    seen.add(word)
    if (isNew || typeof word !== 'string') return []
    const under = [...path, i]
    return [{ path: under, at: tree.placeOf(under), text: 'stands in this list twice' }]
  })
}

function hasService(root: Mapping, service: Keyed): boolean {
  return isMapping(root.provider) && isMapping(root.provider[service])
}

function hasKey(app: unknown): boolean {
  return isMapping(app) && isMapping(app.rest)
}

function appsOf(root: Mapping): readonly unknown[] {
  return Array.isArray(root.apps) ? root.apps : []
}

function streamsOf(layer: unknown): Mapping {
  return isMapping(layer) && isMapping(layer.streams) ? layer.streams : {}
}
