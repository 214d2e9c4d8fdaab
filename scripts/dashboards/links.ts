import { uids } from './frame.ts'
import type { Column } from './tables.ts'

function field(column: string, part: string): string {
  return `\${__data.fields["${column}"]${part}}`
}

/** From a row with the columns App, Room, Use, from_ms and to_ms to the dashboard of that class. */
export const toClass = {
  title: 'Show this class',
  url: [
    `/d/${uids.class}?var-app=${field('App', ':percentencode')}`,
    `var-room=${field('Room', ':percentencode')}`,
    `var-incarnation=${field('Use', '')}`,
    `from=${field('from_ms', '.numeric')}`,
    `to=${field('to_ms', '.numeric')}`,
  ].join('&'),
} as const

/** Columns that only the link needs. */
export const linkColumns: Readonly<Record<string, Column>> = {
  from_ms: { hidden: 'yes' },
  to_ms: { hidden: 'yes' },
}
