import { askedOfRooms } from './asked.ts'
import type { Examination, Finding } from './examination.ts'
import { knownRooms, ms } from './repaired-feeds.ts'
import { stoodBetween } from './standstills.ts'

/**
 * Once a missing answer can no longer arrive, and is known to be missing, the log of each room is asked for within this where
 * nobody stands still, ms: the provider may act for 40 seconds, and then the feed has its turn.
 */
const untilAsked = 150_000
/** How much longer all that is asked and stored on the way takes where the network delays it, ms. */
const delayed = 60_000
/** What was owned by who stood still is another's within this after it was to be renewed, ms. */
const untilTaken = 20_000

interface Missing {
  readonly app: string
  readonly seen: number
  /** Until when the missing answer may have told something, ms since the epoch. */
  readonly to: number
}

/** What a missing answer of the feed told is looked for soon, and not when a room in which nothing happens has its turn anyway. */
export async function examineSettledFeeds(examination: Examination): Promise<readonly Finding[]> {
  const { rows, rewound = [], streams, end, isPrompt } = examination
  if (!(streams?.includes('room-events') ?? true) || rewound.length > 0) return []
  const missing = await rows<Missing>(
    `select app_id as app, ${ms('first_seen_at')} as seen, ${ms('range_to')} as "to"
     from ingest.gap where stream = 'app-events' and reason = 'unread_answer' and state = 'repaired'`,
  )
  if (missing.length === 0) return []
  const known = await knownRooms(rows)
  const asked = askedOfRooms(examination)
  const lateOf = latenessOf(examination)
  return missing.flatMap(({ app, seen, to }) => {
    const since = Math.max(seen, to)
    const soon = untilAsked + (isPrompt ? 0 : delayed)
    const until = since + soon + lateOf(since, since + soon)
    if (until > end) return []
    const left = known.find(one => {
      const isFollowed = one.app === app && one.seen <= to && (one.left ?? Number.POSITIVE_INFINITY) > until
      return isFollowed && !asked(app, 'roomEvents', one.room).some(({ time }) => to <= time && time <= until)
    })
    if (!left) return []
    const text = `${app} feed: an answer is missing that could arrive until ${new Date(to).toISOString()}, and the log of ${left.room} is left alone`
    return [{ kind: 'owed', text } as const]
  })
}

/** How much later something may be asked for that is due in some time, ms. */
function latenessOf({ askers = [], outages = [], faults, start }: Examination) {
  const still = askers.flatMap(({ stoodStill = [] }) => stoodStill)
  const times = [
    ...askers.flatMap(({ diedAt }) => (diedAt === undefined ? [] : [{ from: diedAt, to: diedAt }])),
    ...outages,
    ...faults.map(({ from, to }) => ({ from: start + from, to: start + to })),
  ]
  return (from: number, to: number): number => {
    if (times.some(each => each.from <= to && from <= each.to)) return Number.POSITIVE_INFINITY
    const met = still.filter(each => each.from <= to && from <= each.to)
    const moved = met.filter(each => each.to - each.from > untilTaken / 2).length
    return stoodBetween(still, from, to) + moved * untilTaken
  }
}
