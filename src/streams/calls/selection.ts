import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { listOf, section } from '../../settings/leaf.ts'
import { channelName, count } from '../../settings/values.ts'
import { pacedSection, roundKeys } from '../parts/cadence.ts'

/** Which calls have their metrics fetched; all of the conditions hold. */
export interface CallSelection {
  /** In these channels; in any where it is empty. */
  readonly channels: readonly string[]
  /** One in so many, by chance. */
  readonly everyNth: number
  /** With so many users at least. */
  readonly minUsers: number
}

export const everyCall: CallSelection = { channels: [], everyNth: 1, minUsers: 0 }

/** The stream whose settings select: the sessions of a call, which are fetched first, make its work. */
export const measured = {
  name: 'call-metrics',
  settings: pacedSection({
    ...roundKeys(),
    select: section({
      channels: listOf(channelName())
        .prefault([])
        .describe('Only calls in these channels; those of all channels where none is named.'),
      everyNth: count(1, 10_000)
        .prefault('1')
        .describe('Only one call in so many, by chance; the same ones each time.'),
      minUsers: count(0, 100_000).prefault('0').describe('Only calls with so many users at least.'),
      mids: listOf(count(0, 2_147_483_647))
        .prefault([])
        .describe(
          'Metric IDs (mid) that are stored; all of them where none is named. An answer has them all, so this saves room and no request.',
        ),
    })
      .prefault({})
      .describe(
        'Of which calls metrics are fetched, where the plan does not measure all of them, and which of them are stored. Days are complete without those that are left out (analytics.call_quality.left_out). A change counts for calls whose sessions are listed from then on.',
      ),
  }),
} as const

export type MeasuredSettings = z.output<typeof measured.settings>

/** What is known of a call, or of a slice of a long one, when its sessions are listed. */
interface ListedCall {
  readonly callId: string
  /** Null where no session tells it. */
  readonly cname: string | null
  readonly users: number
}

/** A channel that is not known is not another one. The same calls are chosen each time. */
export function isSelected(selection: CallSelection, { callId, cname, users }: ListedCall): boolean {
  const { channels, everyNth, minUsers } = selection
  const isOfChannel = channels.length === 0 || cname === null || channels.includes(cname)
  return isOfChannel && users >= minUsers && (everyNth === 1 || drawOf(callId) % everyNth === 0)
}

function drawOf(callId: string): number {
  return createHash('sha256').update(callId).digest().readUInt32BE(0)
}
