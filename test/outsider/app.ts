import type { ListMemory } from './lists.ts'
import { makeWorld } from './make-world.ts'
import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'
import type { Player, World } from './world.ts'

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
  | 'create-player'
  | 'delete-player'

/** Changes an answer into one that nobody can read; answers its body. */
export type Distortion = (operation: Operation, body: Told) => unknown

export interface AppPlan {
  readonly id: string
  readonly reading: Reading
  /** With a quiz and a call of more than one page. */
  readonly isLarge?: boolean
  /** What is configured of its streams besides. */
  readonly streams?: object
  readonly distort?: Distortion
  readonly refuse?: Refusing
  /** What need not be said or stored, because of how it was distorted or refused. */
  readonly isUnread?: (difference: string) => boolean
}

export interface App {
  readonly plan: AppPlan
  readonly world: World
  /** 0, then 1; recordings have their files one act later. */
  act: number
  /** How often each operation has been answered well. */
  readonly answered: Map<Operation, number>
  /** Lists of resources that were left out. */
  lapses: number
  /** Whether the room that goes on has been called missing. */
  wasMissing: boolean
  /** Players that somebody made by hand, and IDs of those that somebody destroyed. */
  readonly made: MadePlayer[]
  readonly deleted: Set<string>
}

export interface MadePlayer extends Player {
  readonly region: string
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
  /** Of a request that has one. */
  readonly body: Told
}

/** A channel without a class. */
export function lobbyOf({ channelName }: Reading): string {
  return channelName === 'short' ? 'lobby' : 'lobby-'.padEnd(64, '64')
}

export function newApp(plan: AppPlan): Inner {
  return {
    plan,
    world: makeWorld(plan.id, Date.now(), lobbyOf(plan.reading), plan.isLarge ?? false),
    ...{ act: 0, answered: new Map(), memories: new Map(), fed: 0, hasRefused: false, recordingsAsked: 0 },
    ...{ lapses: 0, wasMissing: false, made: [], deleted: new Set<string>() },
  }
}

/** What answers a question about a room in place of the truth, where anything does. */
export type Refusing = (room: string) => Refusal | undefined

/** An answer other than 200. */
export class Refusal extends Error {
  readonly status: number
  readonly body: Told | undefined
  constructor(status: number, body?: Told) {
    super('refused')
    this.status = status
    this.body = body
  }
}
