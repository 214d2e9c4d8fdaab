import type { Page } from './paging.ts'
import { Beside } from './request-context.ts'
import type { Switches } from './switches.ts'

/** Items of one batch: where an answer has room for one only, that is all. */
export function most(batch: number, { listShape, batchItems }: Switches): number {
  return listShape === 'item' ? 1 : Math.min(batch, batchItems)
}

/** One batch as the document may mean it: "data (Object) holding the items and the next nextId". */
export function batch({ list, ...counts }: Page<object>, switches: Switches): unknown {
  const { listShape, logEnd } = switches
  if (counts.nextId === null && isLeftOut(list, switches)) return new Beside({})
  const nextId = endOr(counts.nextId, logEnd)
  switch (listShape) {
    case 'list':
      return { ...counts, ...nextId, list }
    case 'records':
      return { records: list, ...nextId }
    case 'beside':
      return new Beside({ data: list, ...nextId })
    case 'item':
      return { ...list[0], ...nextId }
    case 'named':
      return { ...named(list), ...nextId }
  }
}

function named(list: readonly object[]): object {
  return Object.fromEntries(list.map((item, n) => [`item${n + 1}`, item]))
}

/** A list that comes whole, without a nextId. */
export function wholeList(list: readonly object[], switches: Switches): unknown {
  const { listShape } = switches
  if (isLeftOut(list, switches)) return new Beside({})
  if (listShape === 'records') return { records: list }
  if (listShape === 'named') return named(list)
  return listShape === 'item' && list.length === 1 ? list[0] : list
}

function isLeftOut(list: readonly object[], { emptyRoomLists }: Switches): boolean {
  return list.length === 0 && emptyRoomLists === 'no-data'
}

function endOr(nextId: Page<object>['nextId'], logEnd: Switches['logEnd']): object {
  if (nextId !== null) return { nextId }
  return logEnd === 'absent' ? {} : { nextId: logEnd === 'empty' ? '' : null }
}
