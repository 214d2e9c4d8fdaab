import type { Family } from '../provider/operation.ts'
import type { Streams } from '../streams/index.ts'
import { credentialsOf, services } from './availability.ts'
import type { Path, Problem } from './problem.ts'
import { isMapping, type Tree } from './tree.ts'

type Mapping = Readonly<Record<string, unknown>>

/** What the file says of streams, or an app. */
interface Layer {
  readonly base: Path
  readonly said: Mapping
  readonly streams: Mapping
}

/** What cannot be right about the streams of a file, whatever the plans of its apps. */
export function checkStreams(streams: Streams, tree: Tree, root: Mapping): readonly Problem[] {
  const apps = Array.isArray(root.apps) ? root.apps : []
  const layers = [root, ...apps].map((said, i): Layer => {
    const base = i === 0 ? [] : ['apps', i - 1]
    return { base, said: mapping(said), streams: mapping(mapping(said).streams) }
  })
  const context = { all: streams, tree, provided: mapping(root.provider), layers }
  return [...parentsOff(context), ...namedInVain(context), ...repeated(context)]
}

interface Context {
  readonly all: Streams
  readonly tree: Tree
  readonly provided: Mapping
  /** That of the whole file, then those of its apps. */
  readonly layers: readonly Layer[]
}

/** A stream is off, and others that need it are on. */
function parentsOff({ all, tree, provided, layers: [file, ...apps] }: Context): readonly Problem[] {
  const served = Object.values(all).filter(({ operation }) => isMapping(provided[operation.family]))
  const found = apps.flatMap(app =>
    served.flatMap(({ name }): readonly Problem[] => {
      const isOff = (stream: string) => (app.streams[stream] ?? file!.streams[stream]) === 'off'
      const orphans = served.filter(stream => stream.needs?.includes(name) && !isOff(stream.name))
      if (!isOff(name) || orphans.length === 0) return []
      const path = [...(Object.hasOwn(app.streams, name) ? app.base : []), 'streams', name]
      const names = orphans.map(stream => stream.name).join(', ')
      const need = orphans.length === 1 ? 'needs' : 'need'
      const text = `is off, but ${names} ${need} it; leave it on, or switch them off as well`
      return [{ path, at: tree.keyOf(path), text }]
    }),
  )
  return [...new Map(found.toReversed().map(problem => [problem.path.join('.'), problem])).values()]
}

/** Settings of a stream say that it is wanted: without an address and credentials it cannot be drained. */
function namedInVain(context: Context): readonly Problem[] {
  const { tree, provided, layers } = context
  const [, ...apps] = layers
  const unused = [
    ['notifications', 'players'],
    ['rooms', 'classroom'],
  ] as const
  return [
    ...(Object.keys(services) as Family[]).flatMap(service => streamsInVain(context, service)),
    ...unused
      .filter(([, service]) => !isMapping(provided[service]))
      .flatMap(([key, service]) =>
        apps.flatMap(({ base, said }): readonly Problem[] => {
          const list = Array.isArray(said[key]) && said[key].length > 0
          if (!isMapping(said[key]) && !list) return []
          const path = [...base, key]
          const text = `needs provider.${service}.url; give it, or leave this ${list ? 'list' : 'section'} out`
          return [{ path, at: tree.keyOf(path), text }]
        }),
      ),
  ]
}

function streamsInVain({ all, tree, provided, layers }: Context, service: Family): readonly Problem[] {
  const [file, ...apps] = layers
  const { section, keys } = services[service]
  const named = ({ base, streams }: Layer, need: string) =>
    Object.values(all)
      .filter(({ name, operation }) => operation.family === service && isMapping(streams[name]))
      .map(({ name }): Problem => {
        const path = [...base, 'streams', name]
        return { path, at: tree.keyOf(path), text: `needs ${need}, or leave this stream out` }
      })
  if (!isMapping(provided[service]))
    return layers.flatMap(layer => named(layer, `provider.${service}.url; give it`))
  const bare = apps.filter(({ said }) => !isMapping(said[section]))
  const isNobodys = apps.length > 0 && bare.length === apps.length
  return [
    ...(isNobodys ? named(file!, `${credentialsOf(service)}, and no app has them; give them`) : []),
    ...bare.flatMap(app => named(app, `apps[${app.base[1]}].${section} with ${keys.join(' and ')}; give it`)),
  ]
}

/** The same word twice in a list of a stream would ask the same question twice. */
function repeated({ tree, layers }: Context): readonly Problem[] {
  return layers.flatMap(({ base, streams }) =>
    Object.entries(streams).flatMap(([stream, settings]) =>
      Object.entries(mapping(settings)).flatMap(([key, list]) =>
        (Array.isArray(list) ? list : []).flatMap((word, i, words): readonly Problem[] => {
          if (typeof word !== 'string' || words.indexOf(word) === i) return []
          const path = [...base, 'streams', stream, key, i]
          return [{ path, at: tree.placeOf(path), text: 'stands in this list twice' }]
        }),
      ),
    ),
  )
}

function mapping(value: unknown): Mapping {
  return isMapping(value) ? value : {}
}
