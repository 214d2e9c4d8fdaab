import type { z } from 'zod'
import { sectionOf } from '../settings/leaf.ts'
import { bare, childOf, mappingOf } from '../settings/walk.ts'
import type { Streams } from '../streams/index.ts'
import type { Environment } from './environment.ts'
import { isLoopback } from './loopback.ts'
import type { Path, Problem } from './problem.ts'
import { checkStreams } from './stream-rules.ts'
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
