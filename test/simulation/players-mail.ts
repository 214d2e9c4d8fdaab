import { createHmac } from 'node:crypto'
import type { Deliver, Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { Notifications } from '../../src/telemetry/notifications.ts'
import type { Kernel } from './kernel.ts'

/** What a daemon that runs offers to whoever brings notifications. */
export interface Letterbox {
  readonly desk: Notifications['take']
}

/** A notification that no player gave cause for. */
export interface Lie {
  readonly app: string
  readonly noticeId: string
  /** Signed with the app's own secret, or with another one. */
  readonly kind: 'signed' | 'forged'
  readonly answers: number[]
}

export interface PlayersMail {
  /** For the sandbox: brings a notification to one of the daemons that run. */
  readonly deliver: Deliver
  /** Tells of the end of a player that lives, whoever says so. */
  readonly lie: (sandbox: Sandbox, app: string, kind: Lie['kind']) => Promise<void>
  /** When the database took each notification for the first time, ms since the epoch, by app and ID. */
  readonly taken: ReadonlyMap<string, number>
  readonly lies: readonly Lie[]
  /** Answers by status; `none` where no daemon ran, or none answered within ten seconds. */
  readonly answers: ReadonlyMap<string, number>
}

export interface MailOptions {
  readonly kernel: Kernel
  readonly random: Random
  readonly secretOf: (app: string) => string
  readonly running: () => readonly Letterbox[]
}

/** The provider waits this long for an answer. */
const patience = 10_000

export function createPlayersMail({ kernel, random, secretOf, running }: MailOptions): PlayersMail {
  const taken = new Map<string, number>()
  const lies: Lie[] = []
  const answers = new Map<string, number>()

  async function post(app: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> {
    const boxes = running()
    const box = boxes[Math.floor(random.next() * boxes.length)]
    const late = new AbortController()
    const status = box
      ? await Promise.race([
          box.desk({ app: undefined, header: name => headers[name], body: Buffer.from(body) }),
          kernel.clock.sleep(patience, late.signal),
        ])
      : undefined
    late.abort()
    const said = status?.status ?? 'none'
    answers.set(String(said), (answers.get(String(said)) ?? 0) + 1)
    if (!status) throw new Error('no answer')
    const { noticeId } = JSON.parse(body) as { readonly noticeId: string }
    const key = `${app} ${noticeId}`
    if (status.status === 200 && !taken.has(key)) taken.set(key, kernel.clock.now())
    return status.status
  }

  return {
    taken,
    lies,
    answers,
    deliver: (app, { headers, body }) => post(app, headers, body),
    lie: async (sandbox, app, kind) => {
      const living = sandbox.players(app).filter(({ destroyedAt }) => destroyedAt === undefined)
      const player = living[Math.floor(random.next() * living.length)]
      if (!player) return
      const noticeId = `lie-${lies.length}`
      const lie: Lie = { app, noticeId, kind, answers: [] }
      lies.push(lie)
      const { id, name = null, channelName } = player
      const payload = { player: { id, name, channelName, status: 'failed' }, lts: kernel.clock.now() }
      const body = JSON.stringify({
        noticeId,
        productId: 5,
        eventType: 3,
        notifyMs: kernel.clock.now(),
        payload,
      })
      const secret = kind === 'signed' ? secretOf(app) : 'guess'
      const headers = {
        [sandbox.settings.signatureHeaderV2]: createHmac('sha256', secret).update(body).digest('hex'),
      }
      await post(app, headers, body).then(
        status => lie.answers.push(status),
        () => {},
      )
    },
  }
}
