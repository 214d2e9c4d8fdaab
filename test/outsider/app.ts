import type { ListMemory } from './lists.ts'
import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'
import { makeWorld, type World } from './world.ts'

/** An app of the provider: its world, the reading in which it is told, and how far that has come. */

export type Operation =
  | 'feed'
  | 'log'
  | 'quiz'
  | 'poll'
  | 'recordings'
  | 'resources'
  | 'calls'
  | 'sessions'
  | 'metrics'
  | 'usage'
  | 'quality'
  | 'realtime-usage'
  | 'realtime-quality'
  | 'players'

/** Changes an answer into one that nobody can read; answers its body. */
export type Distortion = (operation: Operation, body: Told) => unknown

export interface AppPlan {
  readonly id: string
  readonly reading: Reading
  readonly distort?: Distortion
  /** Tables that need not hold the truth, because of the distortion. */
  readonly unread?: readonly string[]
}

export interface App {
  readonly plan: AppPlan
  readonly world: World
  /** 0, then 1; recordings have their files one act later. */
  act: number
  /** How often each operation has been answered well. */
  readonly answered: Map<Operation, number>
}

export interface Inner extends App {
  readonly memories: Map<string, ListMemory>
  fed: number
  hasRefused: boolean
  recordingsAsked: number
}

export interface Asked {
  readonly app: Inner
  readonly url: URL
  readonly at: number
}

export function newApp(plan: AppPlan): Inner {
  return {
    plan,
    world: makeWorld(plan.id, Date.now()),
    ...{ act: 0, answered: new Map(), memories: new Map(), fed: 0, hasRefused: false, recordingsAsked: 0 },
  }
}

/** An answer other than 200. */
export class Refusal extends Error {
  readonly status: number
  readonly body: Told
  constructor(status: number, body: Told) {
    super('refused')
    this.status = status
    this.body = body
  }
}
