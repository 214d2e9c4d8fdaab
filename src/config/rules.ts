import type { z } from 'zod'
import type { Family } from '../provider/operation.ts'
import { sectionOf } from '../settings/leaf.ts'
import { bare, childOf, mappingOf } from '../settings/walk.ts'
import type { Streams } from '../streams/index.ts'
import { credentialsOf, services } from './availability.ts'
import type { Path, Problem } from './problem.ts'
import type { Environment } from './syntax.ts'
import { isMapping, type Tree } from './tree.ts'

type Mapping = Readonly<Record<string, unknown>>

/**
 * What no single value can be blamed for. The rules read the plain data, not what the schema made of it, so
 * that they speak up beside the schema's own complaints.
 */
export function checkRules(
  schema: z.core.$ZodType,
  streams: Streams,
  tree: Tree,
  env: Environment,
): readonly Problem[] {
  const root = isMapping(tree.value) ? tree.value : {}
  return [
    ...alternatives(schema, tree, tree.value, []),
    ...uniqueApps(tree, root),
    ...checkStreams(streams, tree, root),
    ...encrypted(tree, root),
    ...certificates(env),
  ]
}

/** A secret, its file, its command: one of them, and not two. */
function alternatives(schema: z.core.$ZodType, tree: Tree, value: unknown, path: Path): readonly Problem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => inside(schema, tree, item, path, i))
  if (!isMapping(value)) return []
  const mapping = mappingOf(bare(schema))
  const own = (mapping ? sectionOf(mapping).alternatives : []).flatMap(
    ({ keys, need }): readonly Problem[] => {
      const [, second] = keys.filter(key => Object.hasOwn(value, key))
      if (second && need !== 'some') {
        const under = [...path, second]
        return [{ path: under, at: tree.keyOf(under), text: `give only one of ${keys.join(', ')}` }]
      }
      const isGiven = (key: string) => Object.hasOwn(value, key) && (need !== 'some' || value[key] !== null)
      if (need === 'optional' || keys.some(isGiven)) return []
      return [
        {
          path: [...path, keys[0]!],
          at: tree.keyOf(path),
          text: `is missing; give ${need === 'some' ? 'at least ' : ''}one of ${keys.join(', ')}`,
        },
      ]
    },
  )
  return [...own, ...Object.entries(value).flatMap(([key, child]) => inside(schema, tree, child, path, key))]
}

function inside(schema: z.core.$ZodType, tree: Tree, value: unknown, path: Path, step: string | number) {
  const child = childOf(schema, step)
  return child ? alternatives(child, tree, value, [...path, step]) : []
}

function uniqueApps(tree: Tree, root: Mapping): readonly Problem[] {
  const apps: readonly unknown[] = Array.isArray(root.apps) ? root.apps : []
  const first = new Map<unknown, number>()
  return apps.flatMap((app, i) => {
    const id = isMapping(app) ? app.id : undefined
    if (typeof id !== 'string') return []
    const earlier = first.get(id)
    if (earlier === undefined) {
      first.set(id, i)
      return []
    }
    const path = ['apps', i, 'id']
    const line = tree.placeOf(['apps', earlier, 'id'])?.line
    return [
      {
        path,
        at: tree.placeOf(path),
        text: `the same app is already listed as apps[${earlier}], at line ${line}`,
      },
    ]
  })
}

/** Credentials must not cross a network unencrypted unless someone said that they may. */
function encrypted(tree: Tree, root: Mapping): readonly Problem[] {
  const services = isMapping(root.provider) ? root.provider : {}
  return Object.entries(services).flatMap(([name, service]) => {
    if (!isMapping(service) || typeof service.url !== 'string' || service.insecure === 'true') return []
    const url = URL.parse(service.url)
    if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return []
    const path = ['provider', name, 'url']
    return [
      {
        path,
        at: tree.placeOf(path),
        text: 'http:// to another machine would send credentials unencrypted; use https://, or set insecure: true beside it',
      },
    ]
  })
}

function certificates(env: Environment): readonly Problem[] {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return []
  return [
    {
      path: [],
      at: undefined,
      text: 'the environment variable NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates; unset it',
    },
  ]
}

/** Whether a host, as URL.hostname writes it, is this machine itself. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '[::1]' ||
    host === '::1' ||
    /^127(\.\d{1,3}){3}$/.test(host)
  )
}

/** What the file says of streams, or an app. */
interface Layer {
  readonly base: Path
  readonly said: Mapping
  readonly streams: Mapping
}

/** What cannot be right about the streams of a file, whatever the plans of its apps. */
function checkStreams(streams: Streams, tree: Tree, root: Mapping): readonly Problem[] {
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
