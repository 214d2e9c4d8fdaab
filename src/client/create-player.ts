import { createHash } from 'node:crypto'
import type { Parameters } from '../provider/operation.ts'
import {
  blindSeconds,
  type CreateAnswer,
  createPlayer as operation,
  type PlayerItem,
  secretPlayerFields,
} from '../provider/players/index.ts'
import type { Project } from './arguments.ts'
import { CallError, formatTrace, isUncertain } from './errors.ts'
import { listAll } from './players.ts'
import type { Intent, OpenIntent, PlayerPorts } from './ports.ts'
import type { Created } from './types.ts'

/** Requests for one intent in one go; after the last, nobody knows, and the caller is told so. */
const mostAttempts = 4

/** A new player is in the lists by then, ms; the margin is for its way through the service. */
const SEEN_AFTER_MS = (blindSeconds + 2) * 1_000

/** Clocks may differ by this, ms, before a player is taken for one that was there before. */
const CLOCK_MS = 120_000

/** A player with a name of its own, so that it can be found again. */
export function named(
  given: Parameters,
  { random }: Pick<PlayerPorts, 'random'>,
): Parameters & { readonly name: string } {
  const { name } = given
  return { ...given, name: typeof name === 'string' ? name : `penstock-${random.uuid()}` }
}

/**
 * Makes exactly one player, whatever becomes of the answers. The intent is written down before anything is sent. After
 * an answer that leaves the outcome open it waits until a new player shows in the lists and looks for the name there;
 * only then it asks again, under the same name, of which the service makes no second one: the refusal names the player
 * that is there. Takes an intent up that a process left open when it died. Rejects with CallError: `conflict` holds
 * the player that has the name; `unsettled` says by which name to look.
 */
export async function createPlayer(
  ports: PlayerPorts,
  project: Project,
  given: Parameters & { readonly name: string },
): Promise<Created> {
  const { intents } = ports
  const app = project.id
  const wanted: Intent = {
    ...{ app, name: given.name, channel: String(given.channelName), requestHash: hashOf(given) },
    region: String(given.region ?? project.region),
  }
  const open = await intents.find(app, wanted.name)
  const making = new Making(ports, given, wanted, open?.requestHash === wanted.requestHash ? open : undefined)
  try {
    const created = await making.run()
    // The player is there whether or not this can be written; what stays open is found again by its name.
    await intents.done(wanted, created.player.id).catch(() => {})
    return created
  } catch (error) {
    // An error of another kind says nothing of what was sent.
    const isRefused = error instanceof CallError && !making.isUncertain
    if (isRefused) await intents.failed(app, wanted.name).catch(() => {})
    throw error
  }
}

/** One intent on its way to its player. */
class Making {
  readonly #ports: PlayerPorts
  readonly #given: Parameters & { readonly name: string }
  readonly #intent: Intent
  readonly #resumed: OpenIntent | undefined
  /** When the intent was first written down, on the monotonic clock, ms. */
  readonly #begun: number
  /** A request was sent of which nobody knows whether it made the player. */
  isUncertain: boolean

  constructor(
    ports: PlayerPorts,
    given: Parameters & { readonly name: string },
    intent: Intent,
    resumed: OpenIntent | undefined,
  ) {
    this.#ports = ports
    this.#given = given
    this.#intent = intent
    this.#resumed = resumed
    this.#begun = ports.clock.monotonic() - (resumed?.age ?? 0)
    this.isUncertain = resumed !== undefined
  }

  async run(): Promise<Created> {
    if (this.#resumed) {
      this.#say('an earlier attempt ended without an answer; looking for its player')
      const found = await this.#lookAfter(SEEN_AFTER_MS - this.#resumed.lastAttempt)
      if (found) return adopted(this.#intent.name, found)
      if (this.#ports.closing.aborted) throw this.#unsettled('the client was closed, and')
    }
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const outcome = await this.#attempt(attempt)
      if (outcome) return outcome
      if (this.#ports.closing.aborted) throw this.#unsettled('the client was closed, and')
    }
    throw this.#unsettled(`after ${mostAttempts} attempts`)
  }

  /** Undefined where it is worth another attempt. */
  async #attempt(attempt: number): Promise<Created | undefined> {
    const { ask, intents } = this.#ports
    await intents.attempt(this.#intent)
    try {
      const answer = (await ask(operation, this.#given)) as CreateAnswer
      return { ...answer, name: this.#intent.name, adopted: false }
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      if (error.kind === 'conflict') return await this.#meet(error)
      if (!isUncertain(error.kind)) return await this.#refused(error)
      this.isUncertain = true
      this.#say(
        `attempt ${attempt}: ${error.message}${formatTrace(error.trace)}; looking in ${SEEN_AFTER_MS / 1_000} s whether player ${this.#intent.name} was made`,
      )
      const found = await this.#lookAfter(SEEN_AFTER_MS)
      return found && adopted(this.#intent.name, found)
    }
  }

  /** Somebody has the name: an earlier attempt of ours, or a stranger. */
  async #meet(error: CallError): Promise<Created | undefined> {
    const id = error.trace?.resourceId
    let found = await this.#find(id)
    if (this.isUncertain && found === 'hidden') {
      await this.#ports.clock.sleep(SEEN_AFTER_MS, this.#ports.closing)
      found = await this.#find(id)
    }
    if (this.isUncertain && typeof found === 'object' && this.#isOurs(found)) {
      return adopted(this.#intent.name, found)
    }
    // In no list, and yet it has the name: so new that it must be ours.
    if (this.isUncertain && found === 'hidden' && id !== undefined) return adopted(this.#intent.name, { id })
    if (this.isUncertain && typeof found === 'string') return undefined
    this.isUncertain = false
    const existing = typeof found === 'object' ? found : id === undefined ? undefined : { id }
    const { status, code, trace } = error
    const holder = existing ? `player ${existing.id}` : 'a player'
    const text = `${holder} has the name ${this.#intent.name} already`
    throw new CallError(
      operation,
      { kind: 'conflict', text, status, code, trace, existing },
      { cause: error },
    )
  }

  /** What is refused now may have been done before: the answer of an earlier attempt is still open. */
  async #refused(error: CallError): Promise<Created> {
    const found = this.isUncertain ? await this.#lookAfter(SEEN_AFTER_MS) : undefined
    if (found) return adopted(this.#intent.name, found)
    throw error
  }

  /** The player of this intent, looked for in its channel once `wait` ms have passed. */
  async #lookAfter(wait: number): Promise<PlayerItem | undefined> {
    await this.#ports.clock.sleep(Math.max(0, wait), this.#ports.closing)
    const players = await listAll(this.#ports, this.#intent.channel)
    return players?.find(player => player.name === this.#intent.name && this.#isOurs(player))
  }

  /** Who has the name; `hidden`: no list shows it; `unseen`: no list could be had. */
  async #find(id: string | undefined): Promise<PlayerItem | 'hidden' | 'unseen'> {
    const players = await listAll(this.#ports)
    if (!players) return 'unseen'
    return players.find(player => player.id === id || player.name === this.#intent.name) ?? 'hidden'
  }

  /** Entries of a list may say little: what they say must not speak against it. */
  #isOurs({ channelName, createTs, uid, account }: PlayerItem): boolean {
    const { clock, providerNow } = this.#ports
    const begun = providerNow() - (clock.monotonic() - this.#begun)
    if ((channelName ?? this.#intent.channel) !== this.#intent.channel) return false
    if (createTs !== undefined && createTs !== null && createTs * 1_000 < begun - CLOCK_MS) return false
    return isLike(this.#given.uid || undefined, uid) && isLike(this.#given.account, account)
  }

  #unsettled(why: string): CallError {
    const { name, channel } = this.#intent
    const text = `${why} nobody knows whether the player was made: look for ${name} in channel ${channel}; calling again with this name goes on from here`
    return new CallError(operation, { kind: 'unsettled', text })
  }

  #say(text: string): void {
    this.#ports.tell({ app: this.#intent.app, operation: 'players.createPlayer', text })
  }
}

function isLike(wanted: unknown, said: unknown): boolean {
  if (wanted === undefined || said === undefined || said === null) return true
  return String(wanted) === String(said)
}

/** Told apart by what they are to be like. A token is made anew for each try and playTs may move on. */
function hashOf(given: Parameters): string {
  const kept = Object.entries(given)
    .filter(([name, value]) => value !== undefined && name !== 'playTs' && !secretPlayerFields.has(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(kept)).digest('hex')
}

/** A player of a list as if its Create had been answered. */
function adopted(name: string, player: Pick<PlayerItem, 'id'> & Partial<PlayerItem>): Created {
  const { uid, account, createTs, status } = player
  const told = Object.entries({ uid, account, createTs, status }).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  const fields = ['id', ...told.map(([field]) => field)].join(',')
  return { player: { id: player.id, ...Object.fromEntries(told) }, fields, name, adopted: true }
}
