import { Admission, type Attempt } from '../../../src/engine/admission/admission.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { requestLine } from '../../../src/provider/operation.ts'
import { feed, roomLog } from '../fake-streams.ts'
import { createHarness, fence, second } from '../harness.ts'

export const quick: GroupLimit = {
  scope: 'a1',
  rates: [perSecond(1_000)],
  concurrency: 8,
  counted: 'process',
}
export const counted: GroupLimit = { scope: 'a1', rates: [perSecond(2)], concurrency: 1, counted: 'ledger' }

/** Admission between a ledger and a provider that a test plays, with a question of a room and one of the feed. */
export function makeHarness() {
  const harness = createHarness([])
  const admission = new Admission(harness, 30 * second)
  const controller = new AbortController()
  const signal = controller.signal
  const common = { app: 'a1', fence, purpose: 'live', life: 60 * second, signal } as const
  const ofRoom = (room: string, parts: Partial<Attempt> = {}) =>
    admission.send({
      ...common,
      request: requestLine(roomLog.operation, { region: 'ap', appId: 'a1', roomUuid: room }),
      limit: quick,
      ...parts,
    })
  const ofFeed = (parts: Partial<Attempt> = {}) =>
    admission.send({
      ...common,
      request: requestLine(feed.operation, { region: 'ap', appId: 'a1' }),
      limit: counted,
      ...parts,
    })
  const heldFor = admission.heldFor.bind(admission)
  const forget = admission.forget.bind(admission)
  /** Each lane asks, one request after the other with a second between, for `lasts` ms; answers what was asked. */
  const askOn = async (lasts: number, lanes: readonly (() => Promise<unknown>)[]) => {
    const { clock, transport } = harness
    const under = lanes.map(async ask => {
      while (!signal.aborted) {
        await ask()
        await clock.sleep(second, signal)
      }
    })
    await clock.advance(lasts)
    const asked = transport.asked.filter(({ at }) => at < lasts)
    controller.abort()
    await clock.advance(0)
    await Promise.all(under)
    return asked
  }
  return { ...harness, ofRoom, ofFeed, heldFor, forget, askOn, controller }
}
