import { type Draw, drawFrom } from './draw.ts'
import { seededRandom } from './seeded.ts'
import type { Switches } from './switches.ts'
import type { Feed, FeedEntry } from './world.ts'

/** The feed of each region in which rooms are; of one place alone it has no name. */
export function feedsFor(switches: Switches, seed: string): ReadonlyMap<string, Feed> {
  const regions = switches.regions === 'two' ? ['ap', 'eu'] : ['']
  return new Map(
    regions.map(region => [region, feedFor(switches, drawFrom(seededRandom(`${seed}/feed${region}`)))]),
  )
}

function feedFor(switches: Switches, draw: Draw): Feed {
  const memory = switches.feedMemorySeconds * 1000
  switch (switches.appFeed) {
    case 'sliding-window':
      return slidingWindow(switches.feedWindowSeconds * 1000, memory)
    case 'consuming':
      return consuming(memory)
    case 'redelivering':
      return redelivering(consuming(memory), draw)
  }
}

/** Nobody may ever ask: what is forgotten is swept out while new events come in. */
const sweepEvery = 10_000

/** Serves all of the last `length` ms each time; asked for fewer, it goes round among them. */
function slidingWindow(length: number, memory: number): Feed {
  let turn = 0
  const shelf = keep((entry, now) => entry.at > now - length && isRemembered(entry, memory, now))
  return {
    announce: shelf.announce,
    take: (now, most) => {
      const entries = shelf.sweep(now)
      if (entries.length <= most) return entries
      return Array.from({ length: most }, () => entries[turn++ % entries.length]!)
    },
  }
}

/** Serves each event in exactly one answer, whether or not anyone reads it. */
function consuming(memory: number): Feed {
  const shelf = keep((entry, now) => isRemembered(entry, memory, now))
  return {
    announce: shelf.announce,
    take: (now, most) => shelf.sweep(now).splice(0, most),
  }
}

/** Events leave the feed some time after their room was destroyed. */
function isRemembered({ room }: FeedEntry, memory: number, now: number): boolean {
  return room.destroyedAt === undefined || room.destroyedAt + memory > now
}

function keep(isKept: (entry: FeedEntry, now: number) => boolean) {
  let entries: FeedEntry[] = []
  const sweep = (now: number) => {
    entries = entries.filter(entry => isKept(entry, now))
    return entries
  }
  const announce = (entry: FeedEntry) => {
    entries.push(entry)
    if (entries.length % sweepEvery === 0) sweep(entry.at)
  }
  return { announce, sweep }
}

const shareServedAgain = 0.2

/** Serves some events a second time in a later answer, among newer ones and out of order. */
function redelivering(feed: Feed, draw: Draw): Feed {
  let again: FeedEntry[] = []
  return {
    announce: feed.announce,
    take: (now, most) => {
      const due = new Set(again.filter(() => draw.chance(0.5)).slice(0, Math.max(1, most - 1)))
      again = again.filter(entry => !due.has(entry))
      const fresh = feed.take(now, most - due.size)
      again.push(...fresh.filter(() => draw.chance(shareServedAgain)))
      const answer = [...fresh]
      for (const entry of due) answer.splice(draw.whole(0, answer.length), 0, entry)
      return answer
    },
  }
}
