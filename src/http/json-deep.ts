/** Texts that follow each other. */
type Pieces = string | readonly Pieces[]

/** A container that is open: its elements, or its members and the key whose value comes next. */
interface Open {
  readonly elements: Pieces[]
  members?: Map<string, Pieces>
  key?: string | undefined
}

/** Parts of JSON that are read in some milliseconds. */
const AT_A_TIME = 10_000

/** White space, then a text, a bracket or mark, or a number or word. */
const token = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+)/gy

/**
 * JSON in one form: without white space, keys in order and each once, escapes where they must be. What tells the same in
 * another way has the same text then. Numbers keep their digits. Takes JSON of any depth, for nothing calls itself. Yields now and then.
 */
export function* writeDeep(json: string): Generator<undefined, string, void> {
  const around: Open[] = []
  let inside: Open = { elements: [] }
  let parts = 0
  const put = (value: Pieces) => {
    if (inside.key === undefined) inside.elements.push(value)
    else {
      inside.members ??= new Map()
      inside.members.set(inside.key, value)
      inside.key = undefined
    }
  }
  for (const [, part = ''] of json.matchAll(token)) {
    if (++parts % AT_A_TIME === 0) yield
    if (part === '[' || part === '{') {
      around.push(inside)
      inside = { elements: [] }
    } else if (part === ']' || part === '}') {
      const { elements, members } = inside
      inside = around.pop()!
      put(part === ']' ? ['[', commaBetween(elements), ']'] : ['{', commaBetween(inOrder(members)), '}'])
    } else if (part === ':') {
      inside.key = String(inside.elements.pop())
    } else if (part !== ',') {
      put(part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : part)
    }
  }
  return joined(inside.elements)
}

function inOrder(members: ReadonlyMap<string, Pieces> = new Map()): readonly Pieces[] {
  return [...members.keys()].sort().map(key => [key, ':', members.get(key)!])
}

function commaBetween(values: readonly Pieces[]): readonly Pieces[] {
  return values.map((value, index) => (index === 0 ? value : [',', value]))
}

function joined(pieces: Pieces): string {
  const texts: string[] = []
  /** The last comes first. */
  const left: Pieces[] = [pieces]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') texts.push(next)
    else for (let i = next.length - 1; i >= 0; i--) left.push(next[i]!)
  }
  return texts.join('')
}
