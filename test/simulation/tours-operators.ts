import { spellOf } from './spells.ts'
import { calm, minute, plain, second, small, type Tour, troubledBy } from './tour.ts'

const ofProject = ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] as const

/** Players that are made and destroyed with the program's own client, over lines that break. */
export const hands: Tour = {
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
export const ages: Tour = {
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
 * An operator who switches streams of one of two apps off and on again, by what that app's own section says. Some students of its
 * school help at first, and are students when they come back; and figures are collected while players come and go.
 */
export const partly: Tour = {
  length: 40 * minute,
  demands: {
    ...{ ...calm, plan: 'starter', apps: ['alpha', 'beta'], zone: 'Asia/Shanghai' },
    ...{ playersEvery: 30 * second, collectEvery: minute },
    switchedOff: ['poll', 'resources'].map(stream => ({
      ...{ app: 'beta', stream },
      ...{ from: 11 * minute, to: 25 * minute },
    })),
    profile: { ...small, eventsPerMinute: 16 },
    quirks: { sharedReward: 0.3, helpsAtFirst: 0.3, otherVersion: 0.2, openQuiz: 0.5, uncountedPoll: 0.5 },
    switches: { ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous' },
  },
}

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

/**
 * An operator who gives one of two apps with one budget a smaller plan while details of many calls of the other one wait, and
 * switches a stream on again that is not served at that moment. The machines' clocks are ahead of the dates that the provider gives.
 */
export const joined: Tour = {
  length: 16 * minute,
  demands: {
    ...{ ...calm, ...troubledBy('spells'), plan: 'enterprise', apps: ['alpha', 'beta'], sharedKey: true },
    ...{ ahead: 75 * second, playersEvery: minute },
    // When nothing else changes any more of what is said of the other one.
    lowered: { app: 'beta', at: 6.5 * minute, plan: 'premium' },
    switchedOff: [
      { app: 'alpha', stream: 'resources', from: 2 * minute, to: 6 * minute },
      ...ofProject.map(stream => ({ app: 'beta', stream, from: 0, to: Number.POSITIVE_INFINITY })),
    ],
    spells: [
      ...['alpha', 'beta'].map(app =>
        spellOf('503', { from: 0, to: 8 * minute, app, operation: 'callSessions' }),
      ),
      spellOf('503', { from: 5.5 * minute, to: 9 * minute, app: 'alpha', operation: 'resources' }),
      spellOf('429 with a date', {
        ...{ from: 3 * minute, to: 4.5 * minute, app: 'alpha', operation: 'listPlayers' },
      }),
      // A page that is there is refused once: what is refused twice is none.
      {
        ...{ from: 8 * minute, to: 16 * minute },
        rules: ['alpha', 'beta'].map(app => ({
          ...{ kind: 'status', status: 400, app, operation: 'callSessions', at: [3] },
        })),
      },
    ],
    profile: { ...small, classes: 1, students: 5 },
    quirks: { burstOfCalls: 7 },
    switches: {
      ...{ ...plain, roomReuse: 'off', appFeed: 'consuming', sequence: 'contiguous', tightHours: 0 },
      ...{ countersPer: 'credential', mostPerPage: 1, totalSize: 'page' },
    },
  },
}
