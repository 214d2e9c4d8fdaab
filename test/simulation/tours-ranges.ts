import { faultClasses, monday } from './demands.ts'
import { spellOf, type Unreadable } from './spells.ts'
import { calm, minute, plain, second, small, type Tour, troubledBy } from './tour.ts'

const hour = 60 * minute

/** Of alpha, so many ms after a run that begins on that Monday. */
function unreadable(kind: Unreadable['kind'], operation: string, after: number): Unreadable {
  return { kind, app: 'alpha', operation, covering: (monday + after) / second, rate: 1 }
}

/** Calls that are crowded, many at once, or strange, until the housekeeping has summed up the largest. */
export const calls: Tour = {
  length: 13 * minute,
  demands: {
    ...{ ...calm, ...troubledBy('spells') },
    ...{ plan: 'enterprise', ofUsers: true },
    // While the details of many calls wait, and nothing of their limit group is served.
    spells: [
      spellOf('qps limit error', { from: 0, to: 25 * second, app: 'alpha', operation: 'callSessions' }),
      spellOf('503', { from: 25 * second, to: 100 * second, app: 'alpha', operation: 'callSessions' }),
      // And once more, for so long that whoever is refused must have grown patient.
      ...['callSessions', 'callMetrics'].map(operation =>
        spellOf('qps limit error', { from: 2.5 * minute, to: 7 * minute, app: 'alpha', operation }),
      ),
    ],
    profile: { classes: 2, students: 20, eventsPerMinute: 4 },
    quirks: {
      ...{ longCallHours: 1.7, burstOfCalls: 40, crowd: 130, backwardCall: 0.1 },
      ...{ unknownMid: 0.1, malformedValue: 0.0001, unmeasuredValue: 0.01, hushedRoom: 0.4 },
      strangePair: 0.5,
    },
    switches: {
      ...{ ...plain, roomReuse: 'off' },
      ...{ callSearch: 'overlap', hasMore: 'forced', hasMoreAbove: 10, mostPerPage: 10, kvs: 'objects' },
      // Of the calls that begin in one second not all are listed.
      // And of one call more values are told than are stored at one time.
      ...{ callListPages: 3, metricSeconds: 8, totalSize: 'page', callEnd: 'absent', valueEntries: 'twice' },
      ...{ realtimeUid: 'string', usersOutsideChannels: 'served' },
      ...{ serverFilter: 'after-paging', emptyLists: 'null', ownPeer: 'absent', unknownFields: 'present' },
    },
  },
}

/** Calls that take longer than one question may span, of a plan that reaches back little: what comes late is lost. */
export const long: Tour = {
  length: 46 * minute,
  demands: {
    ...calm,
    plan: 'own',
    // Of one moment neither networks nor people are told in any way that can be read.
    unreadable: [
      unreadable('malformed', 'realtimeQuality', 12 * minute + 5 * second),
      unreadable('endless', 'realtimeUsage', 21 * minute + 47 * second),
    ],
    profile: { classes: 2, students: 3, eventsPerMinute: 2, lessonMinutes: 26, breakMinutes: 2 },
    quirks: { malformedValue: 0.002, strangePair: 0.5 },
    switches: {
      ...{ ...plain, roomReuse: 'off', callSearch: 'overlap', hasMore: 'real', mostPerPage: 100 },
      ...{ kvs: 'triples', emptyLists: 'absent', missingValues: 0, lateValueSeconds: 600, tightHours: 0 },
      ...{
        feedShape: 'object-with-next-id',
        ...{ appFeed: 'consuming', mutedRooms: 'for-good', listShape: 'item' },
        ...{ callEnd: 'at-times', openStayEnd: 'at-times' },
      },
      ...{ metricsEnd: 'exclusive', metricSeconds: 10 },
      ...{ realtimeEnd: 'inclusive', realtimeUid: 'string', usersOutsideChannels: 'refused' },
    },
  },
}

/**
 * The same, of which nobody may ask for a part: such a call is lost, and nothing else is. Documents of its classes are converted
 * page by page, and no event tells how far they are.
 */
export const whole: Tour = {
  length: 30 * minute,
  demands: {
    ...long.demands,
    resourcesEvery: 20 * second,
    quirks: { ...long.demands.quirks, quietConversion: 0.8 },
    switches: { ...long.demands.switches, callSlices: 'refused' },
  },
}

/**
 * Calls of two slices, of which the first cannot be read until the second was: what it tells is older, for who is still there in
 * it has left since.
 */
export const slices: Tour = {
  length: 38 * minute,
  demands: {
    // Those of the other app are read in their order.
    ...{ ...calm, ...troubledBy('spells'), plan: 'own', apps: ['alpha', 'beta'] },
    spells: [
      // Who is not there says for how long, and it is longer than anybody would wait by himself.
      spellOf('503 with Retry-After 150', {
        ...{ from: 5 * minute, to: 6.5 * minute },
        ...{ app: 'alpha', operation: 'realtimeUsage' },
      }),
      {
        ...{ from: 17 * minute, to: 31.5 * minute },
        rules: [
          {
            ...{ kind: 'malformed', app: 'alpha', operation: 'callSessions' },
            ...{ covering: (monday + 8 * minute) / second, rate: 1 },
          },
        ],
      },
    ],
    profile: { classes: 2, students: 4, eventsPerMinute: 2, lessonMinutes: 26, breakMinutes: 2 },
    quirks: { unmeasuredValue: 0.01, lateSpeaker: 1 },
    switches: {
      ...{ ...plain, roomReuse: 'off', sequence: 'contiguous', callSearch: 'overlap', hasMore: 'real' },
      ...{ staysAsOf: 'question', mostPerPage: 100, missingValues: 0, lateValueSeconds: 0, tightHours: 0 },
      ...{ callEnd: 'present', openStayEnd: 'now', kvs: 'pairs' },
    },
  },
}

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

/** A plan whose requests of a day are soon spent, before a midnight of UTC and after it: where the school is it is one day. */
export const budgets: Tour = {
  length: 40 * minute,
  demands: {
    ...calm,
    ...{ plan: 'premium', start: Date.UTC(2026, 0, 5, 23, 42), zone: 'America/New_York' },
    ...{ faults: ['failover', 'lost answer', 'no answer'], isThorough: true },
    without: faultClasses.filter(one => !['failover', 'lost answer', 'no answer'].includes(one)),
    profile: { classes: 1, students: 3, eventsPerMinute: 4 },
    quirks: {},
    switches: {
      ...{ ...plain, roomReuse: 'off', missingValues: 0.05, lateValueSeconds: 600, tightHours: 0 },
      ...{
        realtimeUid: 'string',
        day: 'rolling',
        limiter: 'sliding',
        limitStatus: '429',
        ...{ feedShape: 'object', appFeed: 'consuming' },
      },
    },
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

/** The same, and a snapshot of the database's disk that is put back while everybody goes on. */
export const restored: Tour = {
  ...spending,
  demands: {
    ...{
      ...spending.demands,
      world: 'spending',
      ...troubledBy('lost answer', 'cut', 'no answer', 'latency'),
    },
    database: [[8 * minute, 'putBack', 90 * second]],
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
