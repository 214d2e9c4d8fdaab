import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'

/** Lists of classrooms, page by page: operations 5, 9, 17 and 18 share their words for it. */

export interface Page {
  readonly data: unknown
}

/** What the provider keeps of each list: the last nextId that it gave out, and whether it has told the end. */
export interface ListMemory {
  readonly given: Map<string, number>
  told: boolean
}

export function newMemory(): ListMemory {
  return { given: new Map(), told: false }
}

/** The page that begins where `nextId` points; undefined where it points nowhere. */
export function pageOf(
  reading: Reading,
  memory: ListMemory,
  all: readonly Told[],
  nextId: string | null,
  most: number,
): Page | undefined {
  const isFirst = nextId === null || nextId === '' || nextId === 'null'
  if (!isFirst && memory.told && reading.tail === 'refused after the end') return undefined
  if (isFirst) memory.told = false
  const place = isFirst ? 0 : memory.given.get(nextId)
  if (place === undefined) return undefined
  // Half places stand for the empty page between two others.
  const isBetween = !Number.isInteger(place)
  const from = Math.floor(place)
  const size = Math.min(Number(reading.pageSize), most)
  const items = isBetween ? [] : all.slice(from, from + size)
  const next = from + items.length
  const give = (to: number) => {
    const id = spell(reading, to)
    memory.given.set(String(id), to)
    return id
  }
  const isEnd = next >= all.length
  const following = () =>
    give(reading.pageOrder === 'an empty page between' && !isBetween && !isEnd ? next - 0.5 : next)
  const end = () => {
    memory.told = true
    return { null: null, absent: undefined, 'empty string': '' }[reading.end as 'null']
  }
  if (isBetween) return page(reading, [], give(from + 1), all.length)
  if (!isEnd) return page(reading, ordered(reading, items), following(), all.length)
  if (reading.end === 'the same with an empty page' && all.length > 0) {
    // Told by what follows: the same again, with nothing.
    if (items.length === 0) memory.told = true
    return page(reading, items, give(all.length), all.length)
  }
  if (reading.end === 'an empty page, then null' && items.length > 0) {
    return page(reading, ordered(reading, items), give(all.length), all.length)
  }
  return page(reading, ordered(reading, items), reading.end.includes('page') ? null : end(), all.length)
}

function ordered(reading: Reading, items: readonly Told[]): readonly Told[] {
  if (reading.pageOrder !== 'shuffled in a page' || !items.every(({ cmd }) => cmd !== undefined)) return items
  return items.toReversed()
}

function spell(reading: Reading, place: number): string | bigint {
  const n = BigInt(Math.round(place * 2))
  switch (reading.nextId) {
    case 'string':
      return `n${n}`
    case 'number':
      return n + 5n
    case 'beyond 2^53':
      return 9_223_372_036_854_770_001n + n
    case 'with odd characters':
      return `+/=&?#%${n} ü`
  }
}

function page(reading: Reading, items: readonly Told[], nextId: unknown, total: number): Page {
  const totals = {
    none: {},
    'total and count': { total, count: items.length },
    others: { pageCount: 1, region: 'ap', hasMore: nextId !== null },
  }[reading.listTotals]
  if (items.length === 0 && total === 0) {
    switch (reading.emptyList) {
      case 'empty':
        break
      case 'null':
        return { data: { ...totals, [reading.listName]: null, nextId } }
      case 'left out':
        // Members of unknown names and no list might be anything.
        return { data: { ...(reading.listTotals === 'others' ? {} : totals), nextId } }
      case '{}':
        return { data: {} }
      case 'null data':
        return { data: null }
    }
  }
  return { data: { ...totals, [reading.listName]: items, nextId } }
}
