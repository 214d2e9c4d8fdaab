import type { StreamName } from '../streams/stream.ts'
import { serviceOf } from './availability.ts'
import type { Path, Problem } from './problem.ts'
import { streamNames } from './schema/streams.ts'
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
export function parentStreams(tree: Tree, root: Mapping): readonly Problem[] {
  const gates = [
    ...(hasService(root, 'classroom') ? [roomGate] : []),
    ...(hasService(root, 'analytics') ? callGates : []),
  ]
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

/** The credentials that each service asks for. */
const credentials = {
  classroom: { section: 'classroom', words: 'classroom.uid and classroom.token', inner: 'uid and token' },
  analytics: { section: 'rest', words: 'rest.key and rest.secret', inner: 'key and secret' },
  players: { section: 'rest', words: 'rest.key and rest.secret', inner: 'key and secret' },
} as const
type Service = keyof typeof credentials

/** Whoever gives settings to a stream wants it drained: without an address and credentials it cannot be. */
export function namedInVain(tree: Tree, root: Mapping): readonly Problem[] {
  return [
    ...(Object.keys(credentials) as Service[]).flatMap(service => namedOf(service, tree, root)),
    ...saidInVain('notifications', 'players', tree, root),
    ...saidInVain('rooms', 'classroom', tree, root),
  ]
}

function namedOf(service: Service, tree: Tree, root: Mapping): readonly Problem[] {
  const { section, words, inner } = credentials[service]
  const apps = appsOf(root)
  const noService = `needs provider.${service}.url; give it, or leave this stream out`
  const problems = (base: Path, streams: Mapping, text: string): readonly Problem[] =>
    streamNames
      .filter(name => serviceOf(name) === service && isMapping(streams[name]))
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
    ...(apps.length > 0 && !apps.some(app => hasSection(app, section))
      ? inFile(`needs ${words}, and no app has them; give them, or leave this stream out`)
      : []),
    ...apps.flatMap((app, i) => {
      const text = `needs apps[${i}].${section} with ${inner}; give it, or leave this stream out`
      return hasSection(app, section) ? [] : problems(['apps', i], streamsOf(app), text)
    }),
  ]
}

/** What an app says of a service that there is not: how notifications are signed, which rooms are known. */
function saidInVain(key: 'notifications' | 'rooms', service: Service, tree: Tree, root: Mapping) {
  if (hasService(root, service)) return []
  return appsOf(root).flatMap((app, i): readonly Problem[] => {
    const said = isMapping(app) ? app[key] : undefined
    if (!isMapping(said) && !(Array.isArray(said) && said.length > 0)) return []
    const path = ['apps', i, key]
    const text = `needs provider.${service}.url; give it, or leave this ${isMapping(said) ? 'section' : 'list'} out`
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

function hasService(root: Mapping, service: Service): boolean {
  return isMapping(root.provider) && isMapping(root.provider[service])
}

function hasSection(app: unknown, section: string): boolean {
  return isMapping(app) && isMapping(app[section])
}

function appsOf(root: Mapping): readonly unknown[] {
  return Array.isArray(root.apps) ? root.apps : []
}

function streamsOf(layer: unknown): Mapping {
  return isMapping(layer) && isMapping(layer.streams) ? layer.streams : {}
}
