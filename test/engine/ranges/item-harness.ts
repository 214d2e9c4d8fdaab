import { Admission } from '../../../src/engine/admission/admission.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import type { OpenItem } from '../../../src/engine/ports.ts'
import { ItemSource } from '../../../src/engine/ranges/item-source.ts'
import { createRangeRules } from '../../../src/engine/ranges/range-rules.ts'
import type { Pace } from '../../../src/planning/cadence.ts'
import type { RangeLimits } from '../../../src/planning/windows.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import type { WorkItem } from '../../../src/streams/page.ts'
import type { Substream } from '../../../src/streams/stream.ts'
import { type ServedWindow, sessions } from '../fake-windows.ts'
import { appCounted, createHarness, enough, fence, second, settingsOf } from '../harness.ts'

export const day = 24 * 3_600
export const limits: RangeLimits = { availableData: day, timeFrame: 3_600, dataDelay: 300 }

export interface Asked {
  readonly call: string
  readonly from: number
  readonly to: number
  readonly page: number
}

/** A source of work items between a store and a provider that a test plays. */
export function makeHarness(
  answers: (asked: Asked) => ServedWindow | FailureKind = () => ({ items: [] }),
  pace: Partial<Pace> = {},
  part: Substream['part'] = 'begins',
) {
  const harness = createHarness([])
  const app = appCounted('call-details', limits)
  const settings = settingsOf([app])
  const asked: Asked[] = []
  const offset = { ahead: 0, doubt: 0 }
  harness.transport.clockOffset = () => offset
  const size = { now: 0 }
  harness.transport.send = async (_app, { target }, _signal, arrived) => {
    await arrived?.(size.now)
    const query = new URL(target, 'http://provider').searchParams
    const [from, to, page] = ['start_ts', 'end_ts', 'page_no'].map(name => Number(query.get(name)))
    const question = { call: query.get('call_id')!, from: from!, to: to!, page: page! }
    asked.push(question)
    const said = answers(question)
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    if (typeof said === 'string')
      return { ok: false, failure: { kind: said, text: said, body: new Uint8Array(9) }, timing }
    return {
      ok: true,
      answer: { body: said, answeredAt: undefined, size: 0 },
      timing,
    }
  }
  const now = harness.clock.now() / 1_000
  const controller = new AbortController()
  const context = {
    ...harness,
    ...{ app, settings, fence: () => fence, signal: controller.signal },
    admission: new Admission(harness, settings.deadline),
    health: createStoreHealth(harness, () => {}),
    onFenced: () => {},
    onRooms: () => {},
    onWork: () => {},
    onRecovered: () => {},
  }
  const rules = createRangeRules(limits, harness.clock, harness.transport.clockOffset.bind(null, 'analytics'))
  const source = new ItemSource({
    context,
    stream: part === sessions.part ? sessions : { ...sessions, part },
    rules,
    availableData: limits.availableData,
    answered: { count: 0 },
    settings: { every: 0, ...pace, concurrency: 2 },
    shortage: enough,
  })
  const put = (key: string, age: number, parts: Partial<WorkItem> = {}, more: Partial<OpenItem> = {}) =>
    harness.store.putItem(
      {
        stream: 'call-sessions',
        key,
        part: '',
        from: now - age,
        to: now - age + 600,
        ask: null,
        ...parts,
      },
      more,
    )
  /** Does everything that can be done now, what expires first in front. */
  const work = async () => {
    const purposes: string[] = []
    for (;;) {
      const { requests: jobs } = await source.find()
      const [job] = jobs.toSorted((a, b) => a.expiresAt - b.expiresAt)
      if (!job) return purposes
      purposes.push(job.purpose)
      const run = job.run()
      await harness.clock.advance(second)
      await run
    }
  }
  return { ...harness, context, source, rules, put, work, asked, now, size, offset }
}
