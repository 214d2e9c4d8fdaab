import { minute, plain, second, small, type Tour, troubledBy } from './tour.ts'

/** Statements that store a page, debit a request or give something up. */
const storing = /^(commit_|group_|copy|take|settle|record_unread|expire_|lose_)/i

/** Many rooms at once, over lines that break whenever something is stored. */
export const commits: Tour = {
  length: 7 * minute,
  demands: {
    ...{ plan: 'premium', apps: ['alpha', 'beta'], processes: 1 },
    ...troubledBy('cut', 'lost answer', 'kill', 'serialization failure', 'latency'),
    aim: {
      at: storing,
      rates: {
        database: { cut: 1 / 100, 'lost answer': 1 / 40, kill: 1 / 400, 'serialization failure': 1 / 60 },
      },
    },
    profile: { ...small, classes: 6, eventsPerMinute: 16 },
    // Whoever was right in a quiz may be wrong in the end.
    quirks: {
      malformedRecord: 0.03,
      sharedReward: 0.3,
      unstorable: 0.03,
      burstOfCalls: 33,
      secondThought: 0.5,
    },
    switches: {
      ...{ ...plain, roomReuse: 'off', batchItems: 5, appFeed: 'consuming', sequence: 'contiguous' },
      // That a page is full is all that tells of the next one.
      ...{ mostPerPage: 30, hasMore: 'omitted', totalSize: 'page' },
    },
  },
}

/** The same, where some logs may not be read for a while: what the feed lost of a class that is over may come later than all else. */
export const denied: Tour = {
  ...commits,
  demands: {
    ...{ ...commits.demands, world: 'commits' },
    switches: { ...commits.demands.switches, mutedRooms: 'for-a-while' },
  },
}

/**
 * Processes that stand still with an answer in their hands, just longer than it takes the others to have their shards; and
 * some that die with what the feed told, or as soon as they have taken a shard from the queue.
 * Twice somebody else stands in the way of all debits.
 */
export const pauses: Tour = {
  length: 14 * minute,
  demands: {
    ...{ plan: 'premium', apps: ['alpha', 'beta'], processes: 3, ...troubledBy('stall', 'kill') },
    aim: {
      at: storing,
      stall: [10_500, 16_000],
      rates: { provider: { stall: 1 / 30, kill: 0 }, database: { stall: 1 / 150, kill: 0 } },
      also: [
        { at: /polling/, kill: 1 / 12, stall: 1 / 30 },
        { at: /^take shards/, kill: 1 / 6, stall: 1 / 3 },
      ],
    },
    database: [
      [150 * second, 'hold', 14 * second],
      [6 * minute, 'hold', 14 * second],
    ],
    profile: { ...small, eventsPerMinute: 8 },
    quirks: {},
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}

/** Shards that move from process to process while answers are on their way: where nothing breaks, nothing may be lost. */
export const relays: Tour = {
  length: 5 * minute,
  demands: {
    ...{
      plan: 'standard',
      apps: ['alpha', 'beta'],
      processes: 2,
      handOverEvery: 30 * second,
      playersEvery: 10 * second,
      // A call in no room: whoever plays there has somebody who watches.
      playersIn: ['long-call'],
    },
    ...{ ...troubledBy('hand-over', 'latency'), aim: { rates: {}, latency: 3.9 * second } },
    profile: { ...small, eventsPerMinute: 8 },
    quirks: { longCallHours: 6 },
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous', tightHours: 0 },
      ...{ listBlindSeconds: 10, listBlind: 'at-times' },
    },
  },
}

/** The same, with people who want rooms to be read again meanwhile. A log of one page would begin anew each time. */
export const marks: Tour = {
  ...relays,
  demands: {
    ...{ ...relays.demands, world: 'relays', marksEvery: second },
    // What a log holds back at first is on a page that is not its last.
    quirks: { lateMessage: 0.3 },
    switches: { ...relays.demands.switches, batchItems: 5 },
  },
}

/**
 * The same, where some of what a log lacks comes late and the rest never does: holes are filled in part. Now and then what is to be
 * stored is refused because others came first.
 */
export const parts: Tour = {
  ...marks,
  demands: {
    ...marks.demands,
    ...troubledBy('hand-over', 'latency', 'serialization failure'),
    aim: { ...marks.demands.aim, rates: { database: { 'serialization failure': 1 / 40 } } },
    quirks: { lateMessage: 0.7 },
    profile: { ...small, eventsPerMinute: 20 },
    switches: { ...marks.demands.switches, sequence: 'holes' },
  },
}

/**
 * Processes that stand still with what the feed told until it is another one's to ask, and live on: whoever takes the app had it
 * before, and must look once more for what was left unread.
 */
export const heirs: Tour = {
  length: 26 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha', 'beta'], processes: 2, feedEvery: 20 * second },
    ...troubledBy('stall'),
    aim: {
      stall: [10_500, 16_000],
      rates: { provider: { stall: 0 }, database: { stall: 0 } },
      also: [{ at: /polling/, stall: 1 / 20 }],
    },
    profile: { ...small, classes: 2, eventsPerMinute: 6 },
    quirks: {},
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}

/**
 * Processes that can say to nobody that they are there, one after the other, and reach the database otherwise: another one takes
 * their apps over, and they learn it by what they store alone.
 */
export const severed: Tour = {
  length: 10 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha', 'beta'], processes: 2, ...troubledBy('cut') },
    aim: { rates: { database: { cut: 1 / 5_000 }, provider: { cut: 0 } } },
    severed: [
      [2 * minute, 'slot0', 2 * minute],
      [5 * minute, 'slot1', 2 * minute],
    ],
    profile: { ...small, eventsPerMinute: 8 },
    quirks: {},
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}
