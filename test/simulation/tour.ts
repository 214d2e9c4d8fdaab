import { type Demands, type FaultClass, faultClasses } from './demands.ts'
import { type Spell, spellOf } from './spells.ts'

/** A world made for what chance brings too rarely: much of it in one short run, whatever the seed. */
export interface Tour {
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly demands: Demands
}

export const second = 1_000
export const minute = 60 * second

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

export function spellsOn({ app, from, length, pause, stops }: Way): readonly Spell[] {
  let at = from
  return stops.map(([kind, operation, own = length]) => {
    const begin = at + pause
    at = begin + own
    return spellOf(kind, { from: begin, to: at, app, ...(operation && { operation }) })
  })
}

export const small = { classes: 3, eventsPerMinute: 10, students: 3 } as const

/** Answers of many items, whose logs may be read on from their end: what is rare need not be slow as well. */
export const plain = { feedShape: 'list', listShape: 'list', mutedRooms: 'none', tail: 'valid' } as const

/** What is content of its own and no trouble: other faults would excuse what it is to show. */
export const calm = { processes: 1, apps: ['alpha'], faults: [], without: faultClasses } as const

/** Those faults and no others. */
export function troubledBy(...faults: readonly FaultClass[]): Pick<Demands, 'faults' | 'without'> {
  return { faults, without: faultClasses.filter(one => !faults.includes(one)) }
}
