import { shortfall } from '../../planning/shares.ts'
import type { Substream } from '../../streams/stream.ts'
import type { AppContext } from '../context.ts'
import type { SubstreamDemand } from '../ports.ts'

/** Whether the details of an app's calls are more than the budget can bring before they expire. */
export type Shortage = ReturnType<typeof createShortage>

interface ShortageContext {
  /** Limit group that the budget is of. */
  readonly group: string
  readonly context: Pick<AppContext, 'app' | 'clock' | 'store' | 'log' | 'meter'>
  /** Of the streams that draw on the budget: whether they begin the details of a call or complete them. */
  readonly parts: readonly Substream['part'][]
  /** How far back details are served, seconds. */
  readonly availableData: number
  /** Requests a second that are left to this app, which may say how many it wants. */
  readonly capacity: (wanted?: number) => number
  /** The provider's clock, Unix seconds. */
  readonly now: () => number
}

const LOOK_EVERY_MS = 300_000

/** New calls are counted over a day, so that neither an evening nor a night stands for it, or over what is available. */
const LONGEST_COUNT = 86_400

/** What a call costs before any was read: its sessions and one batch of metrics. */
const unknownCost = { slices: 1, pages: 1, batches: 1 } as const

export function createShortage(options: ShortageContext) {
  const { context, group, parts, availableData, capacity, now } = options
  const { app, clock, store, log, meter } = context
  let lookedAt = Number.NEGATIVE_INFINITY
  let share = 0
  let perSlice = 0

  /** Requests for something of which the stream that begins asks so many times, and the one that completes so many. */
  const cost = (ofSessions: number, ofMetrics: number) =>
    (parts.includes('begins') ? ofSessions : 0) + (parts.includes('completes') ? ofMetrics : 0)

  function measure({ calls, cost: known, backlog }: SubstreamDemand, counted: number): number {
    const { slices, pages, batches } = known ?? unknownCost
    perSlice = cost(pages, batches)
    const waiting = backlog.map(({ from, sessions, metrics }) => ({
      expiresAt: from + availableData,
      requests: cost(sessions * pages, sessions * batches + metrics),
    }))
    const inflow = (calls * slices * perSlice) / counted
    const owed = waiting.reduce((sum, { requests }) => sum + requests, 0) / availableData
    return shortfall({ inflow, capacity: capacity(inflow + owed), backlog: waiting }, now())
  }

  return {
    /** Then the newest calls are measured first: whatever is done, some are lost, and those that expire are no better. */
    isShort: (): boolean => share > 0,
    /** What expires sooner than this is not begun, seconds: it would not be read to its end. */
    lead: (): number => (share > 0 ? (2 * perSlice) / capacity() : 0),
    /** Looks again where it is time to. Throws StoreUnavailable. */
    look: async (): Promise<void> => {
      if (clock.monotonic() - lookedAt < LOOK_EVERY_MS) return
      const counted = Math.min(availableData, LONGEST_COUNT)
      const before = share
      share = measure(await store.substreamDemand(app.id, now() - counted), counted)
      lookedAt = clock.monotonic()
      meter.lossAhead(app.id, group, share)
      if (share > 0 === before > 0) return
      const labels = { app: app.id, lost: Math.round(share * 100) / 100 }
      if (share > 0) log.warn('more calls begin than can be measured; the newest go first', labels)
      else log.info('all calls can be measured again', labels)
    },
  }
}
