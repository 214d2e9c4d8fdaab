import { spellOf } from './spells.ts'
import { calm, minute, plain, second, small, type Tour, troubledBy } from './tour.ts'

const hour = 60 * minute

/** Statements that store a page, debit a request or give something up. */
const storing = /^(commit_|group_|copy|take|settle|record_unread|expire_|lose_)/i

/**
 * Calls that turn up late, or go on when their range is over, under a configuration that waits for them for minutes only;
 * and details that stay away until some of them can no longer be had.
 */
export const late: Tour = {
  length: 46 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha'], processes: 1, callLateness: 120, ...troubledBy('spells') },
    // What is owed to the end of it is given up while nobody is there.
    restsAt: 130 * minute,
    profile: { classes: 3, students: 3, eventsPerMinute: 2, lessonMinutes: 5, breakMinutes: 1 },
    quirks: { namelessCall: 0.2 },
    switches: {
      ...{
        ...plain,
        roomReuse: 'off',
        logEnd: 'null',
        callSearch: 'start',
        callLatenessSeconds: 160,
        hasMore: 'real',
      },
      // Calls that go on are on any page, and not on the last one alone.
      ...{ mostPerPage: 4, missingValues: 0.05, lateValueSeconds: 0, tightHours: 0, kvs: 'pairs' },
      missingEntries: 'null',
    },
    spells: [
      spellOf('404', { from: 10 * minute, to: 46 * minute, app: 'alpha', operation: 'callMetrics' }),
      spellOf('503', { from: 8 * minute, to: 38 * minute, app: 'alpha', operation: 'realtimeUsage' }),
    ],
  },
}

/** Rooms that are used again while their logs, or the feed, stay away for longer than the daemon trusts what it knows of them. */
export const reuse: Tour = {
  length: 46 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha'], processes: 1, ...troubledBy('spells', 'latency') },
    playersEvery: minute,
    // When nothing else is amiss any more the database is away for long.
    database: [[41 * minute, 'restart', 38 * second]],
    profile: { classes: 9, students: 3, eventsPerMinute: 10 },
    quirks: {},
    switches: {
      ...{
        ...plain,
        batchItems: 5,
        roomReuse: 'on',
        classRestart: 'on',
        appFeed: 'consuming',
        sequence: 'contiguous',
      },
      ...{
        eventTimes: 'present',
        missingLogs: 'none',
        regions: 'one',
        emptyRoomLists: 'list',
        stateMoves: 'any',
      },
    },
    spells: [
      spellOf('503', { from: 6 * minute, to: 20 * minute, app: 'alpha', operation: 'appEvents' }),
      spellOf('500', { from: 24 * minute, to: 38 * minute, app: 'alpha', operation: 'roomEvents' }),
      spellOf('empty', { from: 20.5 * minute, to: 23.5 * minute, app: 'alpha', operation: 'roomEvents' }),
      // The first of all players is in every other list, then in none, and then among those that are counted alone.
      {
        ...{ from: 11 * minute, to: 17 * minute },
        rules: [{ kind: 'unlisted', operation: 'listPlayers', app: 'alpha', every: 2 }],
      },
      ...[3, 7.5, 19, 30, 41].map(from =>
        spellOf('unlisted', {
          from: from * minute,
          to: (from + 2.2) * minute,
          app: 'alpha',
          operation: 'listPlayers',
        }),
      ),
      spellOf('miscounted', { from: 23 * minute, to: 28 * minute, app: 'alpha', operation: 'listPlayers' }),
    ],
  },
}

/**
 * The same about a midnight of the school that is none of UTC. What the feed loses lies behind it, and is given up long after it
 * was first seen, as the logs tell nothing when the feed is back. An hour after that it is looked at what is said of losses.
 */
export const midnights: Tour = {
  ...reuse,
  demands: {
    ...{ ...reuse.demands, start: Date.UTC(2026, 0, 5, 15, 57), zone: 'Asia/Shanghai', calm: 100 * minute },
    spells: [
      ...reuse.demands.spells!,
      spellOf('empty', { from: 19.8 * minute, to: 20.5 * minute, app: 'alpha', operation: 'roomEvents' }),
    ],
  },
}

/** The same with the midnight in the middle of what the feed loses. */
export const nights: Tour = {
  ...midnights,
  demands: { ...midnights.demands, world: 'midnights', start: Date.UTC(2026, 0, 5, 15, 50) },
}

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

/** The same, where some of what a log lacks comes late and the rest never does: holes are filled in part. */
export const parts: Tour = {
  ...marks,
  demands: {
    ...marks.demands,
    quirks: { lateMessage: 0.7 },
    profile: { ...small, eventsPerMinute: 20 },
    switches: { ...marks.demands.switches, sequence: 'holes' },
  },
}

/**
 * A provider that serves less than the documents say, machines whose clocks are ahead of its own, and a database whose clock
 * is set forward for a while.
 */
export const lessons: Tour = {
  length: 8 * minute,
  demands: {
    ...{ ...calm, plan: 'premium', ahead: 75 * second, teachEvery: 13 * second, spares: true },
    database: [
      [125 * second, 'setAhead', 70 * second],
      [155 * second, 'setAhead', 0],
    ],
    profile: { ...small, classes: 1 },
    quirks: {},
    switches: { ...plain, roomReuse: 'off', tightHours: 1, limitsOutsideSearch: '300', limitStatus: '400' },
  },
}

/**
 * Calls of which some answers are larger than the operator allows, in any size for one second of them; and pages of sessions one
 * too many, or one too few, that are refused.
 */
export const heavy: Tour = {
  length: 12 * minute,
  demands: {
    ...{ ...calm, ...troubledBy('spells'), plan: 'own', answerBytes: 65_536, callLateness: 120 },
    // Who heeds these asks about less than a call takes.
    spells: [
      {
        ...{ from: 5.5 * minute, to: 7.5 * minute },
        rules: ['callSessions', 'callMetrics'].map(operation => ({
          ...{ kind: 'status', status: 200, code: 300, message: 'query time length limit error' },
          ...{ app: 'alpha', operation, at: [1, 2, 3, 4] },
        })),
      },
    ],
    profile: { classes: 2, students: 20, eventsPerMinute: 4 },
    quirks: { heavyMetrics: 0.3, heavySessions: 0.3, cutSessions: 0.2, strangeEntry: 0.15 },
    switches: {
      ...{ ...plain, roomReuse: 'off', sequence: 'contiguous', callSearch: 'overlap', hasMore: 'real' },
      ...{ totalSize: 'all', mostPerPage: 7, sessionPages: 'refused', serverFilter: 'before-paging' },
      ...{ valueEntries: 'once', unknownFields: 'absent' },
      ...{ kvs: 'pairs', tightHours: 0, missingValues: 0, lateValueSeconds: 0 },
    },
  },
}

/** Processes that die whenever a large answer about a call is in their hands. */
export const deadly: Tour = {
  length: 16 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha'], processes: 1, callLateness: 120 },
    ...troubledBy('kill'),
    aim: {
      rates: { provider: { kill: 0 }, database: { kill: 0 } },
      also: [{ at: /^take_item_in_hand/, kill: 1 }],
      killsAfter: true,
    },
    profile: { classes: 1, students: 4, eventsPerMinute: 4 },
    quirks: { heavyMetrics: 0.4, heavySessions: 0.3 },
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
      ...{ callSearch: 'overlap', hasMore: 'real', kvs: 'pairs' },
      ...{ tightHours: 0, missingValues: 0, lateValueSeconds: 0 },
    },
  },
}

/**
 * An operator who has fetched once more what was given up, of calls of which more begin in a second than are listed, and takes
 * people out of what is stored. Of one app metrics are fetched only of calls of some size.
 */
export const wishes: Tour = {
  length: 4 * minute,
  demands: {
    ...{ ...calm, plan: 'enterprise', wishes: true, callLateness: 60 },
    ...{ apps: ['alpha', 'beta'], selection: { app: 'beta', minUsers: 3 } },
    profile: { ...small, classes: 2 },
    quirks: { burstOfCalls: 33, sharedReward: 0.3, malformedRecord: 0.03, malformedWidgetItem: 0.1 },
    switches: {
      ...{ ...plain, roomReuse: 'off', personIds: 'present', kvs: 'pairs', missingValues: 0, tightHours: 0 },
      ...{ callSearch: 'overlap', hasMore: 'real', hasMoreAbove: 10, mostPerPage: 10, callListPages: 2 },
    },
  },
}

/** The same, of one app, and the size grows: what was asked for before stays so, and its sessions are fetched once more. */
export const narrowed: Tour = {
  length: 12 * minute,
  demands: {
    ...{ ...wishes.demands, apps: ['alpha'] },
    selection: { app: 'alpha', minUsers: 3, narrowed: { at: 11 * minute, minUsers: 9 } },
    quirks: {},
  },
}

/** A school of whose people nothing is kept but their IDs; of its messages more cannot be read than are kept of a day. */
export const discreet: Tour = {
  length: 9 * minute,
  demands: {
    ...{ ...calm, plan: 'starter', isDiscreet: true },
    profile: { ...small, classes: 4, eventsPerMinute: 90 },
    quirks: { malformedData: 0.8, malformedRecord: 0.02, malformedWidgetItem: 0.1, crossing: 0.3 },
    switches: { ...plain, roomReuse: 'off', sequence: 'contiguous', appFeed: 'consuming' },
  },
}

/**
 * Classes in which nothing happens for more than an hour, and of whose end the feed does not tell: whoever takes them over
 * meanwhile must go on with them.
 */
export const quiet: Tour = {
  length: 100 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha'], processes: 1, handOverEvery: 8 * minute },
    ...troubledBy('hand-over'),
    profile: {
      ...{ classes: 2, students: 3, eventsPerMinute: 0.0001 },
      ...{ lessonMinutes: 85, breakMinutes: 30, historyMinutes: 1 },
    },
    // What goes on for so long has files already.
    quirks: { hushedRoom: 1, earlyFiles: 1 },
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}

/**
 * What an operator says otherwise than most: secrets in files, which are changed twice; calls that are searched for at moments
 * by the clocks there; and nothing of servers, which pages of sessions leave out after they were cut.
 */
export const chosen: Tour = {
  length: 24 * minute,
  demands: {
    ...{ ...calm, plan: 'premium', apps: ['alpha', 'beta'], zone: 'Asia/Shanghai', withoutServers: true },
    callsAt: { hours: [16, 17, 18], minutes: [4, 12, 20, 28, 36, 44, 52] },
    rotations: [7 * minute, 17 * minute],
    profile: { ...small, classes: 2, students: 6 },
    quirks: {},
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', tightHours: 0, countersPer: 'credential' },
      ...{ serverFilter: 'after-paging', totalSize: 'page', mostPerPage: 3, metricsEnd: 'inclusive' },
    },
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

/**
 * Two days of one week and one of the next, in rooms that are used again, with assistants among those who come. Lists of
 * recordings are empty for a while, and quizzes of some rooms are never read to their end. In the end everyone is taken out who was
 * in one of the rooms, whichever class it was.
 */
export const weeks: Tour = {
  length: 46 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha'], processes: 1, ...troubledBy('spells') },
    // It is Saturday there, and shortly before midnight.
    ...{
      start: Date.UTC(2026, 0, 3, 15, 44),
      zone: 'Asia/Shanghai',
      goesOnAt: 24.5 * hour,
      forgetsRoom: true,
    },
    profile: { classes: 6, students: 4, eventsPerMinute: 10, lessonMinutes: 6, breakMinutes: 0.5 },
    quirks: { assistants: 0.8, brokenRecording: 0.8, malformedRecord: 0.04 },
    switches: {
      ...{ ...plain, roomReuse: 'on', appFeed: 'consuming', sequence: 'contiguous', missingLogs: 'none' },
      ...{ personIds: 'present', eventTimes: 'present', emptyRoomLists: 'list', regions: 'one' },
    },
    spells: [
      ...[5, 9, 13, 17].map(from =>
        spellOf('empty', {
          ...{ from: from * minute, to: (from + 1.5) * minute, app: 'alpha', operation: 'recordings' },
        }),
      ),
      spellOf('503', { from: 20 * minute, to: 38 * minute, app: 'alpha', operation: 'popupQuiz' }),
    ],
  },
}

/**
 * The night in which clocks are put back an hour, and the last hour of the day that is an hour longer for it. Two apps of
 * different plans share a budget, and two students of each class a machine.
 */
export const turned: Tour = {
  length: 24 * minute,
  demands: {
    ...{ ...calm, plan: 'premium', apps: ['alpha', 'beta'], sharedKey: true, zone: 'America/New_York' },
    plans: { beta: 'enterprise' },
    ...{ start: Date.UTC(2026, 10, 1, 5, 45), goesOnAt: 22.6 * hour },
    profile: { ...small, classes: 1 },
    quirks: { sharedMachine: 1, partedMetric: 0.4 },
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous', tightHours: 0 },
      ...{ countersPer: 'credential', missingValues: 0 },
    },
  },
}

/** An operator who switches streams of one of two apps off and on again, by what that app's own section says. */
export const partly: Tour = {
  length: 40 * minute,
  demands: {
    ...{ ...calm, plan: 'starter', apps: ['alpha', 'beta'], zone: 'Asia/Shanghai' },
    switchedOff: ['poll', 'resources'].map(stream => ({
      ...{ app: 'beta', stream },
      ...{ from: 11 * minute, to: 25 * minute },
    })),
    profile: { ...small, eventsPerMinute: 16 },
    quirks: { sharedReward: 0.3 },
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}

/** People who ask beside the daemon until the requests of a day are spent, about a midnight, over lines that break. */
export const spending: Tour = {
  length: 24 * minute,
  demands: {
    ...{ plan: 'premium', apps: ['alpha', 'beta'], processes: 1, handAsks: 7 * second, isThorough: true },
    start: Date.UTC(2026, 0, 5, 23, 48),
    ...troubledBy('failover', 'lost answer', 'cut', 'no answer', 'latency'),
    // As many requests as a minute allows are lost with it.
    database: [[8 * minute, 'failOver', 40 * second]],
    aim: { rates: { provider: { 'lost answer': 1 / 60, cut: 1 / 60, 'no answer': 1 / 60 } } },
    profile: { classes: 1, students: 3, eventsPerMinute: 4 },
    quirks: {},
    switches: {
      ...{ ...plain, roomReuse: 'off', missingValues: 0, lateValueSeconds: 0, tightHours: 0 },
      ...{ day: 'rolling', limiter: 'sliding', countersPer: 'credential', counters: 'shared' },
    },
  },
}

const ofProject = ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] as const

/**
 * An operator who changes what is said of single apps while daemons run: a stream is switched off for longer than what it would
 * have told can be had, and on again; and an app gets a smaller plan while more of its calls wait than it may ask for at once.
 */
export const changes: Tour = {
  length: 44 * minute,
  demands: {
    ...{
      ...calm,
      ...troubledBy('spells'),
      plan: 'own',
      apps: ['alpha', 'beta'],
      plans: { beta: 'enterprise' },
    },
    ...{ ownKeys: true, products: ['Native', 'WebRTC'] },
    switchedOff: [
      { app: 'alpha', stream: 'realtime-usage', from: 6 * minute + 7_300, to: 32 * minute + 11_000 },
      ...ofProject.map(stream => ({ app: 'beta', stream, from: 0, to: Number.POSITIVE_INFINITY })),
    ],
    lowered: { app: 'beta', at: 9 * minute, plan: 'premium' },
    spells: [spellOf('503', { from: 0, to: 12 * minute, app: 'beta', operation: 'callSessions' })],
    profile: { ...small, classes: 2 },
    quirks: { burstOfCalls: 40 },
    switches: { ...plain, roomReuse: 'off', sequence: 'contiguous', tightHours: 0 },
  },
}
