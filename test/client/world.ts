import { CallError, callError } from '../../src/client/errors.ts'
import type { Intent, IntentStore, OpenIntent, PlayerPorts } from '../../src/client/ports.ts'
import type { FailureKind } from '../../src/provider/errors.ts'
import { createPlayer, deletePlayer, listPlayers } from '../../src/provider/players/index.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** What becomes of one request: whether it acts, when, and what its caller hears. */
export type Fate =
  | 'well'
  | '504 before acting'
  | '504 after acting'
  | 'answer lost'
  | 'broken before acting'
  | 'fails after acting'
  | 'acts late'
  | 'refused'
  | 'killed before sending'
  | 'killed after acting'

export const fates: readonly Fate[] = [
  ...(['well', '504 before acting', '504 after acting', 'answer lost', 'broken before acting'] as const),
  ...([
    'fails after acting',
    'acts late',
    'refused',
    'killed before sending',
    'killed after acting',
  ] as const),
]

/** The process died: whatever it would have written is not written. */
export class Killed extends Error {}

export interface Living {
  readonly id: string
  readonly name: string
  readonly channelName: string
  readonly uid: number
  /** ms, on the virtual clock. */
  readonly createdAt: number
  readonly visibleAt: number
}

/** A players service in small, with its own account of who was made. Written from the contract, not from the client. */
export class PlayerWorld {
  readonly clock = new VirtualClock()
  /** Every player that was ever made, gone or not. */
  readonly made: Living[] = []
  living: Living[] = []
  readonly requests: { readonly operation: string; readonly at: number }[] = []
  createFates: Fate[] = []
  deleteFates: Fate[] = []
  /** How each next list fails; undefined is well. */
  listFates: (FailureKind | undefined)[] = []
  /** For how many ms the next new players stay out of the lists. */
  blind: number[] = []
  thin = false
  notes: string[] = []
  readonly closing = new AbortController()
  readonly intents = new MemoryIntents(this.clock)

  ports(): PlayerPorts {
    return {
      clock: this.clock,
      closing: this.closing.signal,
      random: { next: () => 0.5, uuid: () => `uuid-${this.made.length}` },
      intents: this.intents,
      ask: (operation, given) => this.#ask(operation.name, given),
      providerNow: () => this.clock.now(),
      tell: ({ text }) => void this.notes.push(text),
    }
  }

  add(name: string, channelName: string, ageMs: number, uid = 1): Living {
    return this.#make({ name, channelName, uid }, ageMs)
  }

  count(operation: string): number {
    return this.requests.filter(each => each.operation === operation).length
  }

  async #ask(operation: string, given: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (this.closing.signal.aborted)
      throw new CallError(createPlayer, { kind: 'closed', text: 'nothing was sent: the client was closed' })
    this.requests.push({ operation, at: this.clock.monotonic() })
    switch (operation) {
      case 'createPlayer':
        return this.#meet(createPlayer, this.createFates.shift() ?? 'well', () => this.#create(given))
      case 'deletePlayer':
        return this.#meet(deletePlayer, this.deleteFates.shift() ?? 'well', () => this.#delete(given))
      default:
        return this.#list(given)
    }
  }

  #meet(operation: typeof createPlayer | typeof deletePlayer, fate: Fate, act: () => unknown): unknown {
    const fail = (kind: FailureKind): never => {
      throw callError(operation, { kind, text: `it ended with ${kind}`, trace: { requestId: 'r' } })
    }
    const quietly = () => {
      try {
        act()
      } catch (error) {
        if (!(error instanceof CallError)) throw error
      }
    }
    switch (fate) {
      case 'well':
        return act()
      case '504 before acting':
        return fail('gateway_timeout')
      case '504 after acting':
        quietly()
        return fail('gateway_timeout')
      case 'answer lost':
        quietly()
        return fail('network')
      case 'broken before acting':
        return fail('network')
      case 'fails after acting':
        quietly()
        return fail('server_error')
      case 'acts late':
        void this.clock.sleep(8_000).then(quietly)
        return fail('timeout')
      case 'refused':
        return fail('forbidden')
      case 'killed before sending':
        throw new Killed()
      case 'killed after acting':
        quietly()
        throw new Killed()
    }
  }

  #create(given: Readonly<Record<string, unknown>>): unknown {
    const there = this.living.find(player => player.name === given.name)
    if (there) {
      const trace = { requestId: 'r', resourceId: there.id }
      throw callError(createPlayer, { kind: 'conflict', text: 'there is one', status: 409, trace })
    }
    const made = this.#make(
      { name: String(given.name), channelName: String(given.channelName), uid: Number(given.uid) },
      0,
    )
    return {
      player: { id: made.id, uid: made.uid, createTs: Math.floor(made.createdAt / 1_000), status: 'idle' },
      fields: 'uid,id,createTs,status',
    }
  }

  #make(like: Pick<Living, 'name' | 'channelName' | 'uid'>, ageMs: number): Living {
    const createdAt = this.clock.now() - ageMs
    const made = {
      ...like,
      id: `player-${this.made.length + 1}`,
      createdAt,
      visibleAt: createdAt + (this.blind.shift() ?? 0),
    }
    this.made.push(made)
    this.living.push(made)
    return made
  }

  /** Every player is made in ap, and found there alone. */
  #delete({ id, region = 'ap' }: Readonly<Record<string, unknown>>): undefined {
    if (region !== 'ap' || !this.living.some(player => player.id === id)) {
      throw callError(deletePlayer, {
        kind: 'not_found',
        text: 'there is none',
        status: 404,
        trace: { requestId: 'r' },
      })
    }
    this.living = this.living.filter(player => player.id !== id)
  }

  /** Pages of two, whatever size is asked for. */
  #list({ filter, pageToken }: Readonly<Record<string, unknown>>): unknown {
    const fate = this.listFates.shift()
    if (fate) throw callError(listPlayers, { kind: fate, text: `the list ended with ${fate}` })
    const channel = filter === undefined ? undefined : String(filter).replace('channelName eq ', '')
    const seen = this.living
      .filter(player => player.visibleAt <= this.clock.now())
      .filter(player => channel === undefined || player.channelName === channel)
    const from = pageToken === undefined ? 0 : Number(pageToken)
    const players = seen.slice(from, from + 2).map(({ id, name, channelName, uid, createdAt }) => {
      const createTs = Math.floor(createdAt / 1_000)
      return this.thin ? { id, name, createTs } : { id, name, createTs, channelName, uid, status: 'running' }
    })
    return {
      totalSize: seen.length,
      players,
      fields: '',
      nextPageToken: from + 2 < seen.length ? String(from + 2) : '',
    }
  }
}

export class MemoryIntents implements IntentStore {
  readonly rows = new Map<
    string,
    Intent & { state: string; attempts: number; at: number; last: number; playerId?: string }
  >()
  /** Of whom nothing is written any more, since the process died. */
  isDead = false
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  find: IntentStore['find'] = async (app, name): Promise<OpenIntent | undefined> => {
    const row = this.rows.get(`${app} ${name}`)
    if (row?.state !== 'open') return undefined
    const now = this.#clock.monotonic()
    return { requestHash: row.requestHash, age: now - row.at, lastAttempt: now - row.last }
  }

  attempt: IntentStore['attempt'] = async intent => {
    const key = `${intent.app} ${intent.name}`
    const row = this.rows.get(key)
    const now = this.#clock.monotonic()
    const goesOn = row?.state === 'open' && row.requestHash === intent.requestHash
    const [attempts, at] = goesOn ? [row.attempts + 1, row.at] : [1, now]
    this.rows.set(key, { ...intent, state: 'open', attempts, at, last: now })
  }

  done: IntentStore['done'] = async ({ app, name }, playerId) => {
    if (!this.isDead) Object.assign(this.rows.get(`${app} ${name}`)!, { state: 'done', playerId })
  }

  failed: IntentStore['failed'] = async (app, name) => {
    const row = this.rows.get(`${app} ${name}`)
    if (row?.state === 'open' && !this.isDead) row.state = 'failed'
  }
}
