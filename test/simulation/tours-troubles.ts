import { faultClasses } from './demands.ts'
import { spellOf } from './spells.ts'
import { minute, plain, second, small, spellsOn, type Tour } from './tour.ts'

/** Every answer that the provider may give amiss, each for about a minute. */
export const answers: Tour = {
  length: 26 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha', 'beta'], processes: 1, profile: small, quirks: {} },
    ...{ faults: ['spells'], without: faultClasses.filter(one => one !== 'spells') },
    // What was refused for a while must be asked for again.
    // An answer without data is no empty list here: who could tell one from the other?
    switches: { ...plain, roomReuse: 'on', emptyRoomLists: 'list', metricsEnd: 'exclusive', tightHours: 0 },
    spells: [
      ...spellsOn({
        ...{ app: 'alpha', from: minute, length: 65 * second, pause: 15 * second },
        stops: [
          ['429 with Retry-After 30', 'roomEvents'],
          ['429 with Retry-After -1', 'appEvents'],
          ['429 with Retry-After abc', 'recordings'],
          ['429 with Retry-After absent', 'appEvents'],
          ['500', 'appEvents'],
          ['502', 'roomEvents'],
          ['503', 'resources', 2 * minute],
          ['504', 'roomEvents'],
          ['401', undefined],
          ['404', 'appEvents', 2 * minute],
          ['truncated', 'roomEvents'],
          ['redirect', 'appEvents'],
          ['no data', 'resources', 80 * second],
          ['reset', 'roomEvents', 3 * minute],
          ['lost response', 'appEvents'],
          ['maintenance', undefined],
        ],
      }),
      ...spellsOn({
        ...{ app: 'alpha', from: minute, length: 2 * minute, pause: minute },
        stops: [
          ['qps limit error', 'callSearch'],
          ['query time range limit error', 'callSearch', 3 * minute],
          ['query latency limit error', 'callSearch', 3 * minute],
          ['400', 'callSearch', 8 * minute],
        ],
      }),
      // Insights are asked for in the first two minutes, and then not for most of an hour.
      ...spellsOn({
        ...{ app: 'alpha', from: 0, length: 30 * second, pause: 0 },
        stops: [
          ['empty', 'usageInsight'],
          ['qpd limit error', 'usageInsight', minute],
        ],
      }),
      spellOf('query time length limit error', {
        ...{ from: 30 * second, to: 90 * second },
        ...{ app: 'beta', operation: 'usageInsight' },
      }),
      spellOf('429 with Retry-After 1e9', {
        ...{ from: minute, to: 90 * second },
        ...{ app: 'beta', operation: 'qualityInsight' },
      }),
      spellOf('no access', { from: minute, to: 5 * minute, app: 'alpha', operation: 'qualityInsight' }),
      // Half of the answers about the metrics of sessions have no end, so that they are asked for in ever smaller parts.
      {
        ...{ from: 5 * minute, to: 20 * minute },
        rules: [{ kind: 'endless', operation: 'callMetrics', app: 'alpha', rate: 0.5 }],
      },
      ...spellsOn({
        ...{ app: 'beta', from: 4 * minute, length: 2 * minute, pause: minute },
        stops: [
          ['wrong types', 'listPlayers'],
          ['looping nextId', 'listPlayers'],
          ['malformed', 'roomEvents'],
          ['429 with Retry-After 150', 'callSearch', 70 * second],
        ],
      }),
      // What was asked for first, and what is asked for again and again.
      spellOf('unknown-code', { from: 0, to: 40 * second, app: 'beta', operation: 'callSearch' }),
      spellOf('unknown-code', { from: 0, to: minute, app: 'beta', operation: 'qualityInsight' }),
      spellOf('unknown-code', { from: 6 * minute, to: 7 * minute, app: 'beta', operation: 'realtimeUsage' }),
      spellOf('429 with a date', {
        from: 9 * minute,
        to: 10.2 * minute,
        app: 'beta',
        operation: 'realtimeQuality',
      }),
      // Whoever has requests left for a day would ask at once again.
      spellOf('qpd limit error', {
        ...{ from: 19.5 * minute, to: 20.5 * minute },
        ...{ app: 'beta', operation: 'callSearch' },
      }),
      // Of details many are asked for at a time.
      ...spellsOn({
        ...{ app: 'beta', from: 17 * minute, length: 2 * minute, pause: minute },
        stops: [
          ['qps limit error', 'callSessions'],
          ['429 with Retry-After absent', 'callSessions'],
          ['503', 'callSessions'],
        ],
      }),
    ],
  },
}

/** Answers that stay away for longer than the provider keeps what they would have told. */
export const outages: Tour = {
  length: 47 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha'], processes: 1, profile: { ...small, classes: 2 }, quirks: {} },
    ...{ faults: ['spells'], without: faultClasses.filter(one => one !== 'spells') },
    // A range is final so late that a search which fails for long leaves it as it was read first.
    callLateness: 4_800,
    // What waits when all is answered again is asked for within other limits than it was met under.
    tightenedAt: 12 * minute,
    switches: { ...plain, sequence: 'holes', roomReuse: 'off', missingValues: 0.05, lateValueSeconds: 0 },
    spells: [
      spellOf('503', { from: 6 * minute, to: 24 * minute, app: 'alpha', operation: 'callSearch' }),
      spellOf('404', { from: 1 * minute, to: 46 * minute, app: 'alpha', operation: 'callMetrics' }),
      spellOf('503', { from: 2 * minute, to: 40 * minute, app: 'alpha', operation: 'realtimeUsage' }),
      spellOf('502', { from: 4 * minute, to: 15 * minute, app: 'alpha', operation: 'appEvents' }),
      // No room is gone because a gateway knows none: while that is so it is looked at everything for the first time.
      spellOf('404', { from: 6 * minute, to: 11.9 * minute, app: 'alpha', operation: 'roomEvents' }),
      spellOf('500', { from: 18 * minute, to: 33 * minute, app: 'alpha', operation: 'roomEvents' }),
      // For a while with all of its service, whatever it is that waits.
      ...['appEvents', 'recordings', 'resources', 'popupQuiz', 'poll'].map(operation =>
        spellOf('503', { from: 20 * minute, to: 27 * minute, app: 'alpha', operation }),
      ),
    ],
  },
}

/** Every way in which processes, lines and machines break. */
export const machines: Tour = {
  length: 20 * minute,
  demands: {
    ...{ plan: 'enterprise', apps: ['alpha'], processes: 2, profile: small, quirks: {}, isThorough: true },
    ...{ faults: faultClasses.filter(one => one !== 'spells'), without: ['spells'] },
    // So late that little else befalls them: whoever has the app loses it to the other one, and takes it back.
    standstills: [
      [18.5 * minute, 'slot0', 16 * second],
      [19.25 * minute, 'slot1', 16 * second],
    ],
    switches: { ...plain, roomReuse: 'on' },
  },
}
