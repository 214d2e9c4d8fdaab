import { type Demands, faultClasses } from './draw.ts'
import { type Spell, spellOf } from './spells.ts'

/** A world made for what chance brings too rarely: much of it in one short run, whatever the seed. */
export interface Tour {
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly demands: Demands
}

const second = 1_000
const minute = 60 * second

/** One spell after the other, each of one operation: its kind, the operation, and how long it lasts where not the usual time. */
type Stop = readonly [kind: string, operation: string | undefined, length?: number]

/** `pause` lies before each, ms, so that what one has left behind is mended before the next; `length` is the usual one. */
interface Way {
  readonly app: string
  readonly from: number
  readonly length: number
  readonly pause: number
  readonly stops: readonly Stop[]
}

function spellsOn({ app, from, length, pause, stops }: Way): readonly Spell[] {
  let at = from
  return stops.map(([kind, operation, own = length]) => {
    const begin = at + pause
    at = begin + own
    return spellOf(kind, { from: begin, to: at, app, ...(operation && { operation }) })
  })
}

const small = { classes: 3, eventsPerMinute: 10, students: 3 } as const

/** Answers of many items, whose logs may be read on from their end: what is rare need not be slow as well. */
const plain = { feedShape: 'list', listShape: 'list', mutedRooms: 'none', tail: 'valid' } as const

/** Every answer that the provider may give amiss, each for about a minute. */
const answers: Tour = {
  length: 26 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha', 'beta'], processes: 1, profile: small, quirks: {} },
    ...{ faults: ['spells'], without: faultClasses.filter(one => one !== 'spells') },
    switches: { ...plain, roomReuse: 'on' },
    spells: [
      ...spellsOn({
        ...{ app: 'alpha', from: minute, length: 65 * second, pause: 15 * second },
        stops: [
          ['429 with Retry-After 30', 'roomEvents'],
          ['429 with Retry-After -1', 'appEvents'],
          ['429 with Retry-After abc', 'recordings'],
          ['429 with Retry-After absent', 'roomEvents'],
          ['500', 'appEvents'],
          ['502', 'roomEvents'],
          ['503', 'resources', 2 * minute],
          ['504', 'roomEvents'],
          ['401', 'appEvents'],
          ['404', 'appEvents', 2 * minute],
          ['truncated', 'roomEvents'],
          ['redirect', 'appEvents'],
          ['no data', 'resources', 2 * minute],
          ['reset', 'roomEvents'],
          ['lost response', 'appEvents'],
          ['maintenance', undefined],
        ],
      }),
      ...spellsOn({
        ...{ app: 'alpha', from: minute, length: 2 * minute, pause: minute },
        stops: [
          ['qps limit error', 'callSearch'],
          ['query time range limit error', 'callSearch', 3 * minute],
          ['query latency limit error', 'callSearch'],
          ['400', 'callSearch', 3 * minute],
        ],
      }),
      ...spellsOn({
        ...{ app: 'alpha', from: minute, length: 2 * minute, pause: minute },
        stops: [
          ['empty', 'usageInsight'],
          ['query time length limit error', 'usageInsight'],
          ['qpd limit error', 'usageInsight'],
        ],
      }),
      spellOf('no access', { from: minute, to: 5 * minute, app: 'alpha', operation: 'qualityInsight' }),
      ...spellsOn({
        ...{ app: 'beta', from: minute, length: 2 * minute, pause: minute },
        stops: [
          ['429 with Retry-After 1e9', 'usageInsight'],
          ['wrong types', 'listPlayers'],
          ['looping nextId', 'listPlayers'],
          ['malformed', 'roomEvents'],
        ],
      }),
    ],
  },
}

/** Answers that stay away for longer than the provider keeps what they would have told. */
const outages: Tour = {
  length: 47 * minute,
  demands: {
    ...{ plan: 'own', apps: ['alpha'], processes: 1, profile: { ...small, classes: 2 }, quirks: {} },
    ...{ faults: ['spells'], without: faultClasses.filter(one => one !== 'spells') },
    switches: { ...plain, sequence: 'holes', roomReuse: 'off', missingValues: 0.05, lateValueSeconds: 0 },
    spells: [
      spellOf('404', { from: 1 * minute, to: 46 * minute, app: 'alpha', operation: 'callMetrics' }),
      spellOf('503', { from: 2 * minute, to: 40 * minute, app: 'alpha', operation: 'realtimeUsage' }),
      spellOf('502', { from: 4 * minute, to: 15 * minute, app: 'alpha', operation: 'appEvents' }),
      spellOf('500', { from: 18 * minute, to: 33 * minute, app: 'alpha', operation: 'roomEvents' }),
    ],
  },
}

/** Every way in which processes, lines and machines break. */
const machines: Tour = {
  length: 20 * minute,
  demands: {
    ...{ plan: 'enterprise', apps: ['alpha'], processes: 2, profile: small, quirks: {}, isThorough: true },
    ...{ faults: faultClasses.filter(one => one !== 'spells'), without: ['spells'] },
    switches: { ...plain, roomReuse: 'on' },
  },
}

/** The longest first. */
export const tours: Readonly<Record<string, Tour>> = { outages, answers, machines }
