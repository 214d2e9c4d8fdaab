import type { Clock } from '../clock/clock.ts'
import type { Family } from '../provider/operation.ts'
import type { Transport } from './ports.ts'

const families: readonly Family[] = ['classroom', 'analytics', 'players']

/**
 * The latest moment, ms since the epoch, that no provider contradicts: the earliest that the clock of any of them may
 * show. Undefined before the first answer; after it the estimates go on by themselves, however quiet all streams are.
 */
export function confirmedTime(clock: Clock, transport: Transport): number | undefined {
  const offsets = families.flatMap(family => transport.clockOffset(family) ?? [])
  if (offsets.length === 0) return undefined
  return clock.now() + Math.min(...offsets.map(({ ahead, doubt }) => ahead - doubt))
}
