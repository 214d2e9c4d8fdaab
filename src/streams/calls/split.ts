import type { WorkItem } from '../stream.ts'

/**
 * The same work in two halves of its time, or undefined where it spans no more than a second. Both hold the
 * second in the middle: whether an answer includes its end is not documented.
 */
export function halveTime(item: WorkItem): readonly WorkItem[] | undefined {
  const { from, to, part } = item
  if (to - from <= 1) return undefined
  const middle = from + Math.floor((to - from) / 2)
  return [
    { ...item, part: `${part}.1`, to: middle },
    { ...item, part: `${part}.2`, from: middle },
  ]
}
