import { countText, textTable } from '../cli/output.ts'
import type { DeadLetterReport } from './dead-letters.ts'
import type { Volume } from './rebuild.ts'
import type { LoopResult } from './rooms.ts'

export interface ReplayReport extends Volume {
  readonly rooms: number
  /** Rooms that differ and could not be changed; of many the first. */
  readonly busy: { readonly rooms: number; readonly keys: LoopResult['busy'] }
  readonly mode: 'compare' | 'write'
  /** Rows that differ, or that were changed. */
  readonly differences: number
  readonly tables: ReturnType<LoopResult['tally']['tables']>
}

/** The report for people. */
export function replayLines(report: ReplayReport): readonly string[] {
  const { rooms, events, items, tables, differences, mode } = report
  const read = `${countText(rooms)} rooms were rebuilt from ${countText(events)} events and ${countText(items)} items of quizzes and polls`
  if (differences === 0) return [read, mode === 'write' ? 'nothing had to be changed' : 'nothing differs']
  const header = ['table', 'missing', 'extra', 'different', 'in columns']
  const rows = tables.map(({ table, missing, extra, different, columns }) => [
    ...[table, missing || null, extra || null, different || null],
    Object.entries(columns)
      .sort(([, a], [, b]) => b - a)
      .map(([column, count]) => `${column} ${countText(count)}`)
      .join(', ') || null,
  ])
  const end =
    mode === 'write'
      ? `${rowsText(differences)} changed: what was missing is there, what was extra is gone`
      : `${rowsText(differences)} not what the raw rows say; --write makes them so`
  return [read, '', ...textTable(header, rows), '', end]
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row is' : `${countText(rows)} rows are`
}

/** One line while it goes on. */
export function progressLine(
  { rooms, differences }: { readonly rooms: number; readonly differences: number },
  of: number,
  seconds: number,
): string {
  const rate = seconds > 0 ? `, ${countText(Math.round(rooms / seconds))} a second` : ''
  return `${countText(rooms)} of ${countText(Math.max(of, rooms))} rooms${rate}, ${rowsText(differences)} different`
}

/** What became of dead letters, for people. */
export function deadLetterLines({ stored, read, asked, unread, gone }: DeadLetterReport): readonly string[] {
  const lines = [
    [stored, 'read now, stored and closed'],
    [read, 'closed: what they are about has been read otherwise'],
    [asked, 'not whole: asked for again; run this once more when the daemon has read it'],
    [unread, 'stay: they still cannot be read'],
    [gone, 'stay: they are not whole, and what they are about cannot be had any more'],
  ] as const
  const told = lines.filter(([count]) => count > 0)
  if (told.length === 0) return ['there are no dead letters']
  return ['dead letters:', ...textTable(['letters', ''], told)]
}
