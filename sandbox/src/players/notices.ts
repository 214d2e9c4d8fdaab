import { createHmac } from 'node:crypto'
import { notificationTypes } from '../../../src/provider/players/index.ts'
import type { Agenda } from '../agenda.ts'
import { type Draw, drawFrom } from '../draw.ts'
import { befalls, hashOf } from '../hash.ts'
import type { Settings } from '../options.ts'
import { seededRandom } from '../seeded.ts'
import { createTs, type EndReason, type Player, statusOf } from './player.ts'

export type NoticeKind = 'created' | 'changed' | 'destroyed'

/** A notification, and what became of it. All times are Unix milliseconds of the world. */
export interface Notice {
  readonly noticeId: string
  readonly eventType: number
  readonly playerId: string
  /** When it happened. */
  readonly at: number
  /** When it was sent; several times where it was repeated or not accepted. */
  readonly sentAt: number[]
  outcome: 'pending' | 'lost' | 'delivered' | 'given-up'
  /** It is told in a shape that no receiver can read. */
  readonly isStrange: boolean
  /** What was sent of it then, each time. */
  readonly bodies: string[]
}

const eventTypes: Readonly<Record<NoticeKind, number>> = {
  created: notificationTypes.created,
  changed: notificationTypes.statusChanged,
  destroyed: notificationTypes.destroyed,
}

const reasons: Readonly<Record<EndReason, string>> = {
  deleted: 'Delete Request',
  'idle-timeout': 'Idle Timeout',
  'server-error': 'Internal Error',
}

/** The service among the others of its provider. */
const productId = 5

/** Milliseconds of the clock: until the first try, and from a try that failed to the next one. */
const toFirst = 500
const toNext = [5_000, 30_000] as const
const toRepetition = [1_000, 30_000] as const
const outOfOrder = [5_000, 60_000] as const

/**
 * The notification server of one app: it signs what happens to the players and hands it to `deliver`, at most three
 * times until it is accepted. Without `deliver`, or a secret of the app, it is silent. It tells nothing of what
 * happened before the sandbox was made.
 */
export class Notices {
  readonly log: Notice[] = []
  readonly #app: string
  readonly #secret: string | undefined
  readonly #settings: Settings
  readonly #agenda: Agenda
  readonly #since: number
  readonly #draw: Draw

  constructor(parts: {
    readonly app: string
    readonly settings: Settings
    readonly agenda: Agenda
    readonly since: number
  }) {
    const { app, settings } = parts
    this.#app = app
    this.#secret = settings.apps.find(({ id }) => id === app)?.notifications?.secret
    this.#settings = settings
    this.#agenda = parts.agenda
    this.#since = parts.since
    this.#draw = drawFrom(seededRandom(`${settings.seed}/${app}/notices`))
  }

  tell(kind: NoticeKind, player: Player, at: number): void {
    if (at < this.#since || !this.#secret || !this.#settings.deliver) return
    const { noticeLossRate, noticeRepeatRate, noticeDisorderRate } = this.#settings.switches
    const draw = this.#draw
    const noticeId = draw.id()
    const notice: Notice = {
      noticeId,
      eventType: eventTypes[kind],
      playerId: player.id,
      at,
      sentAt: [],
      outcome: draw.chance(noticeLossRate) ? 'lost' : 'pending',
      isStrange: befalls(this.#settings.quirks.strangeNotice, 'strange notice', noticeId),
      bodies: [],
    }
    this.log.push(notice)
    const delay = draw.chance(noticeDisorderRate) ? draw.between(...outOfOrder) : toFirst
    const again = draw.chance(noticeRepeatRate) ? draw.between(...toRepetition) : undefined
    if (notice.outcome === 'lost') return
    const payload = payloadOf(player, at)
    this.#after(delay, at, due => this.#try(notice, payload, again, due))
  }

  #try(notice: Notice, payload: object, again: number | undefined, at: number): void {
    void this.#send(notice, payload, at).then(accepted => {
      if (accepted) {
        notice.outcome = 'delivered'
        if (again !== undefined) this.#after(again, at, due => void this.#send(notice, payload, due))
        return
      }
      const wait = toNext[notice.sentAt.length - 1]
      if (wait === undefined) notice.outcome = 'given-up'
      else this.#after(wait, at, due => this.#try(notice, payload, again, due))
    })
  }

  /** Whether it was accepted. It leaves once the world has come to rest, so that its receiver may ask the world. */
  async #send(notice: Notice, payload: object, at: number): Promise<boolean> {
    notice.sentAt.push(at)
    const { noticeId, eventType } = notice
    const told = { noticeId, productId, eventType, notifyMs: at, payload }
    const body = notice.isStrange ? strange(told) : JSON.stringify(told)
    if (notice.isStrange) notice.bodies.push(body)
    const { deliver, signatureHeader, signatureHeaderV2 } = this.#settings
    const headers = {
      'content-type': 'application/json',
      [signatureHeader]: this.#sign('sha1', body),
      [signatureHeaderV2]: this.#sign('sha256', body),
    }
    await Promise.resolve()
    try {
      const status = await deliver!(this.#app, { headers, body })
      return status >= 200 && status < 300
    } catch {
      return false
    }
  }

  #sign(algorithm: 'sha1' | 'sha256', body: string): string {
    return createHmac(algorithm, this.#secret!).update(body).digest('hex')
  }

  #after(ms: number, at: number, act: (due: number) => void): void {
    this.#agenda.at(at + ms * this.#settings.speed, act)
  }
}

/** A notification of which nobody can tell what it says, each in one of some ways. */
function strange(told: { readonly noticeId: string }): string {
  const whole = JSON.stringify(told)
  const ways = [
    JSON.stringify({ ...told, noticeId: null }),
    JSON.stringify({ ...told, eventType: 'created' }),
    JSON.stringify({ ...told, payload: [] }),
    whole.slice(0, -1),
  ]
  return ways[hashOf('way', told.noticeId) % ways.length]!
}

function payloadOf(player: Player, at: number): object {
  const { id, name, uid, account, channelName, streamUrl, token, reason } = player
  const shown = { id, name: name ?? null, uid, account, channelName, streamUrl, token }
  return {
    player: { ...shown, createTs: createTs(player), status: statusOf(player) },
    lts: at,
    ...(reason && { destroyReason: reasons[reason] }),
  }
}
