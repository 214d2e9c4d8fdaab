import type { Random } from '../../../src/clock/clock.ts'
import type { Agenda } from '../agenda.ts'
import { drawFrom } from '../draw.ts'
import { seededRandom } from '../seeded.ts'
import type { Switches } from '../switches.ts'
import { Life } from './life.ts'
import type { Notices } from './notices.ts'
import type { Draft, EndReason, Player } from './player.ts'

const largestUid = 4_294_967_295

/** All players that an app ever had. */
export class Players {
  /** In the order of creation. */
  readonly all: Player[] = []
  readonly notices: Notices
  readonly #agenda: Agenda
  readonly #switches: Switches
  readonly #seed: string
  readonly #random: Random
  readonly #live = new Map<string, Player>()

  constructor(parts: {
    readonly agenda: Agenda
    readonly switches: Switches
    readonly notices: Notices
    readonly seed: string
  }) {
    this.notices = parts.notices
    this.#agenda = parts.agenda
    this.#switches = parts.switches
    this.#seed = parts.seed
    this.#random = seededRandom(`${parts.seed}/players`)
  }

  /** Those that have not been destroyed, in the order of creation. */
  get live(): readonly Player[] {
    return [...this.#live.values()]
  }

  get liveCount(): number {
    return this.#live.size
  }

  find(id: string): Player | undefined {
    return this.#live.get(id)
  }

  named(name: string): Player | undefined {
    return this.live.find(player => player.name === name)
  }

  in(channelName: string): readonly Player[] {
    return this.live.filter(player => player.channelName === channelName)
  }

  /** A user ID of 0 is replaced by one that nobody has, `users` and the players of the channel included. */
  create(draft: Draft, users: ReadonlySet<number>, at: number): Player {
    const player: Player = {
      ...draft,
      uid: draft.uid === 0 ? this.#freeUid(draft.channelName, users) : draft.uid,
      token: draft.token ?? `player-secret-${this.#random.uuid()}`,
      id: this.#random.uuid(),
      number: this.all.length + 1,
      createdAt: at,
      changes: [],
      destroyedAt: undefined,
      reason: undefined,
    }
    this.all.push(player)
    this.#live.set(player.id, player)
    new Life(player, {
      agenda: this.#agenda,
      switches: this.#switches,
      seed: this.#seed,
      onChange: (changed, now) => this.notices.tell('changed', changed, now),
      destroy: (destroyed, reason, now) => this.destroy(destroyed, reason, now),
    }).begin()
    this.notices.tell('created', player, at)
    return player
  }

  destroy(player: Player, reason: EndReason, at: number): void {
    if (!this.#live.delete(player.id)) return
    player.destroyedAt = at
    player.reason = reason
    this.notices.tell('destroyed', player, at)
  }

  #freeUid(channelName: string, users: ReadonlySet<number>): number {
    const taken = new Set([...users, ...this.in(channelName).map(({ uid }) => uid)])
    const { whole } = drawFrom(this.#random)
    let uid = whole(1, largestUid)
    while (taken.has(uid)) uid = whole(1, largestUid)
    return uid
  }
}
