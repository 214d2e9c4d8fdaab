import type { Deliver } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { Notifications } from '../../src/telemetry/notifications.ts'
import type { Kernel } from './kernel.ts'

export interface MailOptions {
  readonly kernel: Kernel
  readonly random: Random
  /** Of each daemon that runs: what takes notifications. */
  readonly desks: () => readonly Notifications['take'][]
  /** Somebody who knows no secret sends what was signed once more, with another text. */
  readonly isForged?: boolean | undefined
}

/** The provider waits this long for an answer. */
const patience = 10_000

/** Brings a notification to one of the daemons that run. */
export function createPlayersMail({ kernel, random, desks, isForged = false }: MailOptions): Deliver {
  return async (_, { headers, body }) => {
    const open = desks()
    const desk = open[Math.floor(random.next() * open.length)]
    const late = new AbortController()
    if (isForged) {
      const forged = Buffer.from(JSON.stringify({ ...JSON.parse(body), noticeId: `forged ${random.next()}` }))
      void desk?.({ app: undefined, header: name => headers[name], body: forged })
    }
    const answer = await Promise.race([
      desk?.({ app: undefined, header: name => headers[name], body: Buffer.from(body) }),
      kernel.clock.sleep(patience, late.signal),
    ])
    late.abort()
    if (!answer) throw new Error('no answer')
    return answer.status
  }
}
