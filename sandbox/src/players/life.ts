import type { PlayerStatus } from '../../../src/provider/players/index.ts'
import type { Agenda } from '../agenda.ts'
import { type Draw, drawFrom } from '../draw.ts'
import { seededRandom } from '../seeded.ts'
import type { Switches } from '../switches.ts'
import { isPlayable, mediaOf, playingMs } from './media.ts'
import type { EndReason, Player } from './player.ts'

/** Milliseconds: until a new player begins to connect, and until it has connected. */
const toBegin = [100, 800] as const
const toConnect = [500, 6_000] as const

const hour = 3_600_000

/** Whom a life is told to, and who ends it. */
export interface Registrar {
  readonly agenda: Agenda
  readonly switches: Switches
  readonly seed: string
  readonly onChange: (player: Player, at: number) => void
  readonly destroy: (player: Player, reason: EndReason, at: number) => void
}

/** The way of a player from its creation on: idle, connecting, running or failed; idle again where a file is over. */
export class Life {
  readonly #player: Player
  readonly #registrar: Registrar
  readonly #draw: Draw

  constructor(player: Player, registrar: Registrar) {
    this.#player = player
    this.#registrar = registrar
    this.#draw = drawFrom(seededRandom(`${registrar.seed}/player/${player.number}`))
  }

  begin(): void {
    const { createdAt, playTs } = this.#player
    const { playerDestroysPerHour: destroys } = this.#registrar.switches
    const soon = createdAt + this.#draw.between(...toBegin)
    // Written down before the end of its patience: who starts at that very moment has not been idle for too long.
    this.#later(Math.max(soon, playTs * 1_000), now => this.#connect(now))
    this.#become('idle', createdAt)
    if (destroys > 0) {
      this.#later(createdAt + this.#draw.wait(hour / destroys), now => this.#end('server-error', now))
    }
  }

  #connect(at: number): void {
    this.#become('connecting', at)
    this.#later(at + this.#draw.between(...toConnect), now => this.#play(now))
  }

  #play(at: number): void {
    const player = this.#player
    const media = mediaOf(player.streamUrl)
    const isUnlucky = this.#draw.chance(this.#registrar.switches.playerFailRate)
    if (isUnlucky || !isPlayable(media, player.seekPosition)) {
      this.#become('failed', at)
      return
    }
    const length = playingMs(media, player)
    if (length !== undefined && length <= 0) {
      this.#become('idle', at)
      return
    }
    this.#become('running', at)
    if (length !== undefined) this.#later(at + length, now => this.#become('idle', now))
  }

  /** Whatever is not played for too long is destroyed, unless it has become something else by then. */
  #become(status: PlayerStatus, at: number): void {
    const { changes, idleTimeout } = this.#player
    changes.push({ status, at })
    if (changes.length > 1) this.#registrar.onChange(this.#player, at)
    if (status !== 'idle' && status !== 'failed') return
    const spell = changes.length
    this.#later(at + idleTimeout * 1_000, now => {
      if (changes.length === spell) this.#end('idle-timeout', now)
    })
  }

  #end(reason: EndReason, at: number): void {
    this.#registrar.destroy(this.#player, reason, at)
  }

  #later(time: number, act: (now: number) => void): void {
    this.#registrar.agenda.at(time, now => {
      if (this.#player.destroyedAt === undefined) act(now)
    })
  }
}
