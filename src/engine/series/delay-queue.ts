/** What is due when: a binary heap with one entry a key, so that ten thousand idle rooms cost one timer. */
export type DelayQueue<Item> = ReturnType<typeof createDelayQueue<Item>>

interface Entry<Item> {
  readonly key: string
  readonly due: number
  /** Breaks ties, so that equal times come out in the order they were put. */
  readonly turn: number
  readonly item: Item
}

/** Replaced entries are swept out when there are more of them than of the others, and than this. */
const MOST_STALE = 64

export function createDelayQueue<Item>() {
  let heap: Entry<Item>[] = []
  const current = new Map<string, Entry<Item>>()
  let turn = 0

  /** Entries that were replaced or removed stay in the heap until they surface. */
  function skipStale(): void {
    while (heap.length > 0 && current.get(heap[0]!.key) !== heap[0]) pop(heap)
  }

  /** A sorted array is a heap. */
  function dropStale(): void {
    heap = [...current.values()].sort((a, b) => (before(a, b) ? -1 : 1))
  }

  function countDueFrom(place: number, now: number): number {
    const entry = heap[place]
    if (!entry || entry.due > now) return 0
    const own = current.get(entry.key) === entry ? 1 : 0
    return own + countDueFrom(2 * place + 1, now) + countDueFrom(2 * place + 2, now)
  }

  return {
    /** Puts the key's entry at `due` (ms on any one clock), replacing an earlier entry of the key. */
    put: (key: string, due: number, item: Item) => {
      const entry = { key, due, turn: turn++, item }
      current.set(key, entry)
      push(heap, entry)
      if (heap.length > 2 * current.size + MOST_STALE) dropStale()
    },
    remove: (key: string) => {
      current.delete(key)
    },
    /** When the key's entry is due; undefined without one. */
    dueOf: (key: string): number | undefined => current.get(key)?.due,
    /** When the earliest entry is due; undefined when empty. */
    next: (): number | undefined => {
      skipStale()
      return heap[0]?.due
    },
    /** Removes and answers the earliest entry that is due at `now`. */
    take: (now: number): Item | undefined => {
      skipStale()
      const entry = heap[0]
      if (!entry || entry.due > now) return undefined
      pop(heap)
      current.delete(entry.key)
      return entry.item
    },
    /** How many entries are due at `now`; costs as much as there are. */
    countDue: (now: number): number => countDueFrom(0, now),
    size: (): number => current.size,
  }
}

function before<Item>(a: Entry<Item>, b: Entry<Item>): boolean {
  return a.due < b.due || (a.due === b.due && a.turn < b.turn)
}

function push<Item>(heap: Entry<Item>[], entry: Entry<Item>): void {
  let place = heap.push(entry) - 1
  while (place > 0) {
    const parent = (place - 1) >> 1
    if (!before(entry, heap[parent]!)) break
    heap[place] = heap[parent]!
    place = parent
  }
  heap[place] = entry
}

function pop<Item>(heap: Entry<Item>[]): void {
  const last = heap.pop()!
  if (heap.length === 0) return
  let place = 0
  for (;;) {
    const left = 2 * place + 1
    if (left >= heap.length) break
    const child = left + 1 < heap.length && before(heap[left + 1]!, heap[left]!) ? left + 1 : left
    if (!before(heap[child]!, last)) break
    heap[place] = heap[child]!
    place = child
  }
  heap[place] = last
}
