import type { HarvestWith } from './carry.ts'

/**
 * A page from the middle of a log whose beginning is not remembered makes no rows: places and ordinals count
 * from the beginning. The carry says so, and the log is read again from there.
 */
export function restart<Carry extends { readonly incarnation: number; readonly lost: boolean }>(
  carry: Carry,
): HarvestWith<Carry> {
  return {
    rows: {},
    carry: { ...carry, lost: true },
    room: { kind: 'incarnation', incarnation: carry.incarnation, opens: false },
    follow: 'stay',
    rejects: [],
    hints: [],
    unfinished: true,
  }
}
