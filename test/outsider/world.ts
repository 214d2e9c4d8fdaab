/** What happens in the provider's world, in no shape at all: readings.ts says how it is told. */

export interface Person {
  readonly uuid: string
  readonly name: string
  readonly role: number
}

export interface SharedFile {
  readonly uuid: string
  readonly name: string
  readonly size: number
  readonly ext: string
  readonly url: string
}

export type Happening =
  | { readonly cmd: 1; readonly state: number; readonly startTime?: number }
  | { readonly cmd: 3; readonly from: Person; readonly message: string }
  | { readonly cmd: 20; readonly came: readonly Person[]; readonly went: readonly Person[] }
  | { readonly cmd: 1001; readonly recording: Recording; readonly isStart: boolean }
  | {
      readonly cmd: 1101
      readonly who: Person
      readonly change: number
      readonly sum: number
      readonly at: number
    }
  | { readonly cmd: 1003; readonly files: readonly SharedFile[]; readonly by: Person; readonly action: 1 | 2 }
  | (UpAndDown & { readonly cmd: 1501 })
  | (UpAndDown & { readonly cmd: 1502 })
  | { readonly cmd: 4711; readonly anything: string }

/** Who comes up, who goes down, and who is up all the time. */
export interface UpAndDown {
  readonly up: readonly Person[]
  readonly down: readonly Person[]
  readonly others: readonly Person[]
}

export interface Recording {
  readonly id: string
  readonly sid: string
  readonly resourceId: string
  readonly startTime: number
  readonly endTime: number
  readonly files: readonly string[]
  /** The act in which it begins, ends, and has its files. */
  readonly acts: readonly [number, number, number]
}

export interface Counts {
  readonly selected: number
  readonly correct: number
  readonly total: number
  readonly average: number
}

export type QuizStep =
  | {
      readonly step: 'start'
      readonly id: string
      readonly at: number
      readonly total: number
      readonly by: Person
    }
  | {
      readonly step: 'answer'
      readonly id: string
      readonly by: Person
      readonly chosen: readonly number[]
      readonly isCorrect: boolean
      readonly at: number
    }
  | { readonly step: 'counts' | 'end'; readonly id: string; readonly counts: Counts }

export type PollStep =
  | { readonly step: 'start'; readonly id: string; readonly mode: number; readonly by: Person }
  | { readonly step: 'answer'; readonly id: string; readonly by: Person; readonly chosen: readonly number[] }
  | { readonly step: 'counts' | 'end'; readonly id: string; readonly votes: readonly number[] }

/** What belongs to the first act is told at once, the rest when the second one is played. */
export type Acts<T> = readonly [readonly T[], readonly T[]]

export interface Room {
  readonly uuid: string
  readonly log: Acts<Happening>
  readonly quiz: Acts<QuizStep>
  readonly poll: Acts<PollStep>
  readonly recordings: readonly Recording[]
  readonly files: Acts<SharedFile>
}

export interface Session {
  readonly sid: string
  readonly uid: number
  readonly join: number
  readonly leave: number
  readonly network: string
  readonly platform: string
  readonly values: readonly Value[]
}

export interface Value {
  readonly mid: number
  readonly peer: number
  readonly at: number
  readonly value: number
}

export interface Call {
  readonly id: string
  readonly cname: string
  readonly created: number
  /** Undefined while it goes on. */
  readonly destroyed?: number
  readonly sessions: readonly Session[]
}

export interface Player {
  readonly id: string
  readonly name: string | null
  readonly uid: number
  readonly channel: string
  readonly created: number
  readonly status: readonly [string | undefined, string | undefined]
}

export interface World {
  readonly app: string
  readonly bornAt: number
  readonly rooms: readonly Room[]
  readonly calls: readonly Call[]
  readonly players: readonly Player[]
}

export const quizWords = ['Paris', 'Lyon', 'Nice']
export const quizRight = [0]
export const pollWords = ['yes', 'no', 'perhaps']

/** A room in which next to nothing happens, and one that goes on when the play is over. */
export const quietRoom = (app: string) => `${app}-quiet`
export const openRoom = (app: string) => `${app}-open`

/** The value that a series has at a moment (seconds). */
export function seriesValue(series: string, at: number): number {
  let sum = series.length
  for (const letter of series) sum = (sum * 31 + letter.charCodeAt(0)) % 9973
  return ((sum + at / 20) % 997) + 0.25
}
