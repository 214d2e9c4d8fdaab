type Properties = Readonly<Record<string, unknown>>
type Tree = Map<string, Tree | Leaf>
interface Leaf {
  readonly value: unknown
}

export interface WidgetChange {
  /** State of the widget (widgetStates), where the change says it. */
  readonly state: unknown
  /** All that changed besides, whether it came inside `extra` or beside it. */
  readonly extra: Properties
}

/** A key with more dots than any documented one has is a name, not a path. */
const deepestPath = 8

/**
 * Reads `changeProperties` in each way it is known to come: nested or with dotted keys
 * (`"extra.correctItems"`), a student's data inside `extra` or beside it. A field inside `extra` wins.
 */
export function widgetChange(changeProperties: Properties): WidgetChange {
  const { state, extra, ...beside } = nestKeys(changeProperties)
  if (extra === undefined) return { state, extra: beside }
  if (!isProperties(extra)) return { state, extra: { ...beside, extra } }
  return { state, extra: { ...beside, ...extra } }
}

/** `{"a.b": 1, "a": {"c": 2}}` becomes `{a: {b: 1, c: 2}}`. Only keys of the outermost object are paths. */
export function nestKeys(properties: Properties): Properties {
  const root: Tree = new Map()
  for (const [key, value] of Object.entries(properties)) {
    const path = key.split('.')
    plant(root, path.length > deepestPath ? [key] : path, value)
  }
  return objectFrom(root)
}

function plant(tree: Tree, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length > 0) {
    plant(branch(tree, key), rest, value)
    return
  }
  const there = tree.get(key)
  if (!(there instanceof Map) || !isProperties(value)) {
    tree.set(key, { value })
    return
  }
  for (const [name, inner] of Object.entries(value)) there.set(name, { value: inner })
}

function branch(tree: Tree, key: string): Tree {
  const there = tree.get(key)
  if (there instanceof Map) return there
  const entries = isProperties(there?.value) ? Object.entries(there.value) : []
  const grown: Tree = new Map(entries.map(([name, value]) => [name, { value }]))
  tree.set(key, grown)
  return grown
}

/** Object.fromEntries defines own properties only, so a key `__proto__` stays a harmless name. */
function objectFrom(tree: Tree): Properties {
  return Object.fromEntries(
    [...tree].map(([key, node]) => [key, node instanceof Map ? objectFrom(node) : node.value]),
  )
}

function isProperties(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
