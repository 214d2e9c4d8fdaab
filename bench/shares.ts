import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What the daemon's CPU time went to, each as a share of it. */
export interface Shares {
  readonly shares: Readonly<Record<string, number>>
  /** The functions that took most of it by themselves. */
  readonly heaviest: Readonly<Record<string, number>>
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

/** Which part of the work a file belongs to; the innermost frame that says so decides. */
const parts: readonly (readonly [part: string, files: RegExp])[] = [
  [
    'decoding',
    /src\/http\/(json|json-scan|classify)\.ts|src\/provider\/|node_modules\/zod|src\/streams\/.*answers/,
  ],
  ['HTTP', /src\/http\/|node_modules\/undici|node:internal\/deps\/undici/],
  ['rows', /src\/streams\//],
  ['database', /src\/postgres\/|node_modules\/pg/],
  ['engine', /src\/(engine|planning|telemetry|clock)\/|node_modules\//],
]
const shown = 25

/** Reads what `node --cpu-prof` wrote of one process. */
export async function sharesOf(folder: string): Promise<Shares> {
  const [name] = await readdir(folder)
  const profile = JSON.parse(await readFile(join(folder, name!), 'utf8')) as Profile
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])),
  )
  const partOf = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const { url, functionName } = nodes.get(at)!.callFrame
      if (functionName === '(idle)') return 'idle'
      if (functionName === '(garbage collector)') return 'garbage'
      const found = parts.find(([, files]) => files.test(url))
      if (found) return found[0]
    }
    return 'runtime'
  }
  const byPart = new Map<string, number>()
  const byFunction = new Map<string, number>()
  let busy = 0
  for (const [index, id] of profile.samples.entries()) {
    const time = profile.timeDeltas[index]!
    const part = partOf(id)
    if (part === 'idle') continue
    busy += time
    byPart.set(part, (byPart.get(part) ?? 0) + time)
    const { functionName, url, lineNumber } = nodes.get(id)!.callFrame
    const name = `${functionName} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`
    byFunction.set(name, (byFunction.get(name) ?? 0) + time)
  }
  const ordered = (times: ReadonlyMap<string, number>, most: number) =>
    Object.fromEntries(
      [...times]
        .sort(([, a], [, b]) => b - a)
        .slice(0, most)
        .map(([name, time]) => [name, Number((time / busy).toFixed(3))]),
    )
  return { shares: ordered(byPart, parts.length + 2), heaviest: ordered(byFunction, shown) }
}
