import { faultClasses, monday } from './demands.ts'
import { spellOf, type Unreadable } from './spells.ts'
import { calm, minute, plain, second, type Tour, troubledBy } from './tour.ts'
import {
  changes,
  chosen,
  commits,
  deadly,
  denied,
  discreet,
  heavy,
  late,
  lessons,
  marks,
  midnights,
  narrowed,
  nights,
  partly,
  parts,
  pauses,
  quiet,
  relays,
  reuse,
  severed,
  spending,
  turned,
  weeks,
  wishes,
} from './tours-aimed.ts'
import { answers, machines, outages } from './tours-troubles.ts'

/** Rooms that are used again under their names, and what is late, absent or numbered with holes while they last. */
const lives: Tour = {
  length: 34 * minute,
  demands: {
    ...calm,
    ...{ plan: 'starter', playersEvery: minute },
    profile: { classes: 6, students: 3, eventsPerMinute: 12 },
    quirks: {
      unknownCmd: 0.05,
      malformedRecord: 0.03,
      malformedWidgetItem: 0.1,
      sharedReward: 0.3,
      crossing: 0.5,
      strangeNotice: 0.2,
    },
    switches: {
      ...{ feedShape: 'list', listShape: 'records', appFeed: 'consuming', tail: 'refused', logEnd: 'same' },
      ...{ roomReuse: 'on', classRestart: 'on', sequence: 'holes', emptyRoomLists: 'no-data' },
      ...{
        mutedRooms: 'for-a-while',
        missingLogs: 'without-code',
        eventTimes: 'absent',
        personIds: 'absent',
      },
      ...{ playerList: 'thin', listBlindSeconds: 10, playersPerPage: 2, playerDestroysPerHour: 1 },
    },
  },
}

/** The same, of a provider that numbers events through all rooms of an app: of two rooms of one name no number is the same. */
const numbers: Tour = {
  ...lives,
  demands: { ...lives.demands, switches: { ...lives.demands.switches, sequenceScope: 'app' } },
}

/** Rooms whose logs nobody may read, so that only the feed tells of them, which does not always arrive. */
const silence: Tour = {
  length: 16 * minute,
  demands: {
    ...calm,
    ...{
      plan: 'starter',
      playersEvery: minute,
      without: faultClasses.filter(one => one !== 'spells'),
      faults: ['spells'],
    },
    profile: { classes: 5, students: 3, eventsPerMinute: 16 },
    quirks: { nul: 0.05, loneSurrogate: 0.05, malformedData: 0.05, sharedReward: 0.3, bigSequence: 0.5 },
    switches: {
      ...{ feedShape: 'list', listShape: 'beside', appFeed: 'redelivering', tail: 'valid', logEnd: 'absent' },
      ...{ roomReuse: 'off', mutedRooms: 'for-good', eventTimes: 'far', nextIdType: 'number' },
      ...{ widgetItemSequence: 'absent', widgetKeys: 'nested', voteOptions: 'object', crowds: 'counted' },
      ...{
        submitter: 'fromUser',
        roles: 'word',
        streamUuids: 'other',
        uploadAnswer: 'object',
        recordingEndState: '0',
        playerList: 'thin',
      },
      ...{ listBlindSeconds: 0, playersPerPage: 2, playerDestroysPerHour: 1 },
    },
    spells: [
      spellOf('lost response', { from: 4 * minute, to: 5 * minute, app: 'alpha', operation: 'appEvents' }),
      spellOf('wrong types', { from: 7 * minute, to: 8 * minute, app: 'alpha', operation: 'popupQuiz' }),
      spellOf('strange', { from: 7 * minute, to: 8 * minute, app: 'alpha', operation: 'poll' }),
      spellOf('404', { from: 9 * minute, to: 11 * minute, app: 'alpha', operation: 'appEvents' }),
      // It is looked at everything three quarters of the way.
      spellOf('no data', {
        ...{ from: 11 * minute, to: 12 * minute + second, app: 'alpha', operation: 'resources' },
      }),
    ],
  },
}

/** Logs and lists of many pages, between which lines break. */
const pages: Tour = {
  length: 14 * minute,
  demands: {
    ...{ plan: 'starter', apps: ['alpha'], processes: 1, playersEvery: 30 * second, isThorough: true },
    ...troubledBy('spells', 'cut', 'lost answer'),
    aim: { rates: { provider: { cut: 1 / 60, 'lost answer': 1 / 60 }, database: { cut: 1 / 300 } } },
    // Who loses its shards so late, and takes them again at once, drains them to the end or never.
    lapses: [12.5 * minute],
    // While it is looked for the second time whether all that is said is true, and of recordings from the begin of classes
    // that are over when it is for the third.
    spells: [
      spellOf('looping nextId', {
        from: 4.5 * minute,
        to: 7.5 * minute,
        app: 'alpha',
        operation: 'roomEvents',
      }),
      spellOf('looping nextId', {
        from: 5.5 * minute,
        to: 11.5 * minute,
        app: 'alpha',
        operation: 'recordings',
      }),
      spellOf('looping nextId', {
        ...{ from: 0, to: 2 * minute, app: 'alpha', operation: 'popupQuiz' },
      }),
      // In pages of two a player slips from one page to the next, and hides the one that follows.
      spellOf('slipped', { from: 8 * minute, to: 12 * minute, app: 'alpha', operation: 'listPlayers' }),
    ],
    profile: { classes: 3, students: 4, eventsPerMinute: 20 },
    quirks: {
      ...{ malformedWidgetItem: 0.1, sharedReward: 0.3, bigSequence: 0.5, unknownCmd: 0.05 },
      ...{ brokenRecording: 0.8, tradedPlace: 0.8 },
    },
    switches: {
      ...{
        ...plain,
        feedShape: 'array',
        listShape: 'named',
        ...{ batchItems: 3, emptyPages: 'between' },
        // What is new of a log stands on the page that was its last.
        logEnd: 'null',
        sequence: 'holes',
      },
      ...{ roomReuse: 'off', appFeed: 'consuming', missingLogs: 'none', voteOptions: 'index' },
      ...{ widgetItemSequence: 'absent', playersPerPage: 2, listBlindSeconds: 10, playerList: 'thin' },
    },
  },
}

/** Calls that are crowded, many at once, or strange, until the housekeeping has summed up the largest. */
const calls: Tour = {
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
      ...{ unknownMid: 0.1, malformedValue: 0.0001, hushedRoom: 0.4 },
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

/** Of a moment of a run that begins on that Monday, ms. */
function unreadableOf(
  kind: Unreadable['kind'],
  app: string,
  { operation, at }: { readonly operation: string; readonly at: number },
): Unreadable {
  return { kind, app, operation, covering: (monday + at) / second, rate: 1 }
}

/** Calls that take longer than one question may span, of a plan that reaches back little: what comes late is lost. */
const long: Tour = {
  length: 46 * minute,
  demands: {
    ...calm,
    plan: 'own',
    // Of one moment neither networks nor people are told in any way that can be read.
    unreadable: [
      unreadableOf('malformed', 'alpha', { operation: 'realtimeQuality', at: 12 * minute + 5 * second }),
      unreadableOf('endless', 'alpha', { operation: 'realtimeUsage', at: 21 * minute + 47 * second }),
    ],
    profile: { classes: 2, students: 3, eventsPerMinute: 2, lessonMinutes: 26, breakMinutes: 2 },
    quirks: { malformedValue: 0.002 },
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

/** The same, of which nobody may ask for a part: such a call is lost, and nothing else is. */
const whole: Tour = {
  length: 30 * minute,
  demands: { ...long.demands, switches: { ...long.demands.switches, callSlices: 'refused' } },
}

/** A plan whose requests of a day are soon spent, before a midnight of UTC and after it: where the school is it is one day. */
const budgets: Tour = {
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

/** Players that are made and destroyed with the program's own client, over lines that break. */
const hands: Tour = {
  length: 16 * minute,
  demands: {
    ...{
      plan: 'starter',
      apps: ['alpha'],
      processes: 1,
      quirks: {},
      byHand: true,
      forgedNotices: true,
      playersEvery: 15 * second,
    },
    faults: ['spells', 'cut', 'lost answer', 'broken body', 'no answer', 'slow answer', 'latency'],
    without: ['kill', 'stall', 'restart of the database', 'failover', 'hand-over', 'clock jump'],
    isThorough: true,
    spells: (['createPlayer', 'deletePlayer'] as const).map(operation => ({
      ...{ from: 0, to: 19 * minute },
      rules: [
        { kind: 'status-after-acting', operation, rate: 0.15 },
        { kind: 'lost-response', operation, rate: 0.15 },
        { kind: 'status', status: 504, operation, rate: 0.1 },
      ],
    })),
    profile: { classes: 1, students: 2, eventsPerMinute: 2 },
    switches: {
      ...{ ...plain, roomReuse: 'off', playerList: 'full', listBlindSeconds: 10, playersPerPage: 5 },
      ...{ playerQuota: 30, playerQuotaStatus: '429' },
    },
  },
}

/**
 * What is older than it is kept goes, and nothing else. It begins before midnight, as of whole days alone it is said what
 * their rooms lack; and its feed is asked often while it tells something.
 */
const ages: Tour = {
  length: 30 * minute,
  demands: {
    ...calm,
    ...{ plan: 'enterprise', ages: true, playersEvery: minute, start: Date.UTC(2026, 0, 5, 23, 57) },
    feedEvery: 10 * second,
    profile: { classes: 2, students: 3, eventsPerMinute: 6 },
    quirks: {
      ...{ unknownCmd: 0.05, malformedRecord: 0.05, malformedWidgetItem: 0.1, retoldMessage: 0.3 },
      // What comes of a class long after its end.
      ...{ lateQuiz: 1, lateFiles: 1 },
      // And what shows in a log as a hole for a while.
      lateMessage: 0.6,
    },
    switches: {
      ...{ ...plain, roomReuse: 'off', logEnd: 'null', sequence: 'contiguous', noticeLossRate: 0 },
      classRestart: 'on',
    },
  },
}

/**
 * A loud school with 180 calls that begin in one second: what a run costs grows with its requests, and many events and
 * calls come with each. What troubles it the seed says.
 */
const crowd: Tour = {
  length: 16 * minute,
  demands: {
    ...{ plan: 'enterprise', apps: ['alpha'], profile: { classes: 14, eventsPerMinute: 420 } },
    quirks: {
      burstOfCalls: 180,
      unknownCmd: 0.01,
      malformedRecord: 0.01,
      sharedReward: 0.1,
      clearedFiles: 0.3,
    },
    switches: { feedShape: 'list', listShape: 'list', tail: 'valid', roomReuse: 'on' },
  },
}

/** Every kind of trouble that a gate wants, the longest first. */
export const troubles = named({ outages, answers, machines })

export const tours: Readonly<Record<string, Tour>> = {
  ...troubles,
  ...named({ lives, numbers, silence, pages, calls, long, whole, budgets, hands, ages }),
  ...named({
    late,
    reuse,
    midnights,
    nights,
    commits,
    denied,
    pauses,
    relays,
    severed,
    marks,
    parts,
    lessons,
    spending,
    wishes,
    narrowed,
    discreet,
    quiet,
    chosen,
    weeks,
    turned,
    partly,
    changes,
    heavy,
    deadly,
    crowd,
  }),
}

/** What a tour leaves open it draws by itself: otherwise all would go through the one world of their seed. */
function named(all: Readonly<Record<string, Tour>>): Readonly<Record<string, Tour>> {
  return Object.fromEntries(
    Object.entries(all).map(([world, { length, demands }]) => [
      world,
      { length, demands: { world, ...demands } },
    ]),
  )
}
