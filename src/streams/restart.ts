import type { ToRowsWith } from './stream-state.ts'

/**
 * A page from the middle of a log whose beginning is not remembered makes no rows: places and ordinals count
 * from the beginning. The stream state says so, and the log is read again from there.
 */
export function restart<Carry extends { readonly incarnation: number; readonly lost: boolean }>(
  streamState: Carry,
): ToRowsWith<Carry> {
  return {
    rows: {},
    streamState: { ...streamState, lost: true },
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'stay',
    rejects: [],
    hints: [],
    unfinished: true,
  }
}
