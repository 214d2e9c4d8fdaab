import type { StoredGap } from './stored.ts'

/** Table, room, incarnation of the truth, key. */
export type RowName = string

export interface Difference {
  readonly row: RowName
  readonly column: string
  readonly expected: string
  readonly stored: string
}

export interface Report {
  readonly rooms: number
  /** Rooms whose roomUuid had been used before. */
  readonly reused: number
  readonly rows: Readonly<Record<string, number>>
  /** In the truth, and neither stored nor owned up to. */
  readonly lost: readonly RowName[]
  /** Not stored, but the gap ledger says so. */
  readonly excused: readonly RowName[]
  /** One item of the truth under two keys. */
  readonly duplicates: readonly RowName[]
  /** Stored, and not in the truth. */
  readonly foreign: readonly RowName[]
  readonly differences: readonly Difference[]
  /** Where a token stands in clear. */
  readonly secrets: readonly string[]
  readonly gaps: readonly StoredGap[]
  readonly letters: readonly { readonly stream: string; readonly reason: string }[]
  readonly divergences: number
}

const most = 8
const longest = 300

/** What is wrong, readable and short; the empty text where nothing is. */
export function complaint(report: Report): string {
  // The world may run faster than the clock that says when a room was read: whether that was after its class it cannot tell.
  const lostGaps = report.gaps.filter(
    ({ state, stream, unit }) => state === 'lost' && (unit === 'sequence' || stream === 'app-events'),
  )
  return [
    ...section('lost', report.lost),
    ...section('lost, as the gap ledger says', report.excused),
    ...section('stored twice', report.duplicates),
    ...section('stored, but never served', report.foreign),
    ...section('different', report.differences.map(describe)),
    ...section('secrets in clear', report.secrets),
    ...section('gaps called lost', lostGaps.map(describeGap)),
  ].join('\n')
}

/** One line of figures. */
export function figures(report: Report): string {
  const rows = Object.values(report.rows).reduce((sum, count) => sum + count, 0)
  const { rooms, reused, lost, duplicates, foreign, differences, letters, divergences, gaps } = report
  const states = [...Map.groupBy(gaps, ({ state }) => state)].map(([state, of]) => `${of.length} ${state}`)
  return [
    `${rooms} rooms (${reused} under a used name)`,
    `${report.rows.room_event} events`,
    `${rows} rows`,
    `${lost.length} lost`,
    `${duplicates.length} duplicate`,
    `${foreign.length} foreign`,
    `${differences.length} different`,
    `${letters.length} dead letters`,
    `${divergences} divergences`,
    `gaps: ${states.join(', ') || 'none'}`,
  ].join(', ')
}

function section(title: string, items: readonly string[]): readonly string[] {
  if (items.length === 0) return []
  const shown = items.slice(0, most).map(item => `  ${item.slice(0, longest)}`)
  const more = items.length > most ? [`  and ${items.length - most} more`] : []
  return [`${items.length} ${title}:`, ...shown, ...more]
}

function describe({ row, column, expected, stored }: Difference): string {
  const part = longest / 3
  return `${row}: ${column} is ${stored.slice(0, part)}, must be ${expected.slice(0, part)}`
}

function describeGap({ stream, series, unit, reason, sequence_from, sequence_to }: StoredGap): string {
  const range = unit === 'sequence' ? ` ${sequence_from} to ${sequence_to}` : ''
  return `${stream} ${series}${range}: ${reason}`
}
