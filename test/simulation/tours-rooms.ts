import { faultClasses } from './demands.ts'
import { spellOf } from './spells.ts'
import { calm, minute, plain, second, type Tour, troubledBy } from './tour.ts'

const hour = 60 * minute

/** Rooms that are used again under their names, and what is late, absent or numbered with holes while they last. */
export const lives: Tour = {
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
export const numbers: Tour = {
  ...lives,
  demands: { ...lives.demands, switches: { ...lives.demands.switches, sequenceScope: 'app' } },
}

/** Rooms whose logs nobody may read, so that only the feed tells of them, which does not always arrive. */
export const silence: Tour = {
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
export const pages: Tour = {
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

/** Classes that last longer than anything of them is left alone, most of which are started once more after their end. */
export const doubles: Tour = {
  length: 60 * minute,
  demands: {
    ...calm,
    ...{ plan: 'starter', playersEvery: 10 * minute },
    profile: { classes: 3, students: 3, eventsPerMinute: 4, lessonMinutes: 20, breakMinutes: 8 },
    quirks: { clearedFiles: 0.3 },
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
      ...{ classRestart: 'on', missingLogs: 'none' },
    },
  },
}

/** The same, recorded in two pieces, and lists of recordings that lack the first file of each for a while. */
export const filed: Tour = {
  ...doubles,
  demands: {
    ...{ ...doubles.demands, world: 'doubles', ...troubledBy('spells') },
    // It is looked at everything while lists lack a file of each recording.
    spells: [12, 27, 42].map(from =>
      spellOf('unfiled', {
        ...{ from: from * minute, to: (from + 3) * minute + second, app: 'alpha', operation: 'recordings' },
      }),
    ),
    quirks: { clearedFiles: 0.3, brokenRecording: 0.8 },
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
 * A loud school with 180 calls that begin in one second: what a run costs grows with its requests, and many events and
 * calls come with each. What troubles it the seed says.
 */
export const crowd: Tour = {
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
