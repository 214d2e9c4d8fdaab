import { Admission } from '../../../src/engine/admission/admission.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import type { ClockOffset } from '../../../src/engine/ports.ts'
import { createRangeRules } from '../../../src/engine/ranges/range-rules.ts'
import { createLiveChoice } from '../../../src/engine/ranges/window-following.ts'
import { WindowSource } from '../../../src/engine/ranges/window-source.ts'
import type { RangeLimits } from '../../../src/planning/windows.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import type { WindowSettings } from '../../../src/streams/stream.ts'
import { calls, type ServedWindow } from '../fake-windows.ts'
import { appCounted, createHarness, fence, minute, second, settingsOf } from '../harness.ts'

export const day = 24 * 3_600
export const limits: RangeLimits = { availableData: 3 * day, timeFrame: 8 * 3_600, dataDelay: 60 }
const settings: WindowSettings = {
  series: [{ key: '', ask: {}, step: 1 }],
  every: minute,
  allowedLateness: 3_600,
  revisitEvery: 10 * minute,
  frame: 'needed',
}

export const ofCalls = { limits, settings }

type Answers = (asked: {
  readonly from: number
  readonly to: number
  readonly page: number
}) => ServedWindow | FailureKind

/** The shortest available data of a plan: values of twenty seconds, of the past forty minutes. */
export const realtime = {
  limits: { availableData: 2_400, timeFrame: 2_400, dataDelay: 40 },
  settings: {
    series: [{ key: '', ask: {}, step: 20 }],
    every: 5 * minute,
    allowedLateness: 0,
    revisitEvery: 5 * minute,
    frame: 'full',
  },
} as const

/** A window source of one stream between a store and a provider that a test plays. */
export function makeHarness(
  answers: Answers = () => ({ items: [] }),
  { limits, settings }: { readonly limits: RangeLimits; readonly settings: WindowSettings } = ofCalls,
) {
  const harness = createHarness([])
  const app = appCounted('call-search', limits)
  const engine = settingsOf([app])
  const asked: { from: number; to: number; page: number; at: number }[] = []
  const offset = { known: { ahead: 0, doubt: 0 } as ClockOffset | undefined }
  harness.transport.clockOffset = () => offset.known
  harness.transport.send = async (_app, { target }) => {
    const query = new URL(target, 'http://provider').searchParams
    const [from, to, page] = ['start_ts', 'end_ts', 'page_no'].map(name => Number(query.get(name)))
    const question = { from: from!, to: to!, page: page! }
    asked.push({ ...question, at: harness.clock.now() / 1_000 })
    const said = answers(question)
    const timing = { receivedAt: harness.clock.now(), elapsed: 0 }
    if (typeof said === 'string') return { ok: false, failure: { kind: said, text: said }, timing }
    return {
      ok: true,
      answer: { body: said, answeredAt: undefined, size: 0 },
      timing,
    }
  }
  const controller = new AbortController()
  const heard: string[] = []
  const context = {
    ...harness,
    ...{ app, settings: engine, fence: () => fence, signal: controller.signal },
    admission: new Admission(harness, engine.deadline),
    health: createStoreHealth(harness, () => {}),
    onFenced: () => heard.push('fenced'),
    onRooms: () => heard.push('rooms'),
    onWork: () => heard.push('work'),
    onRecovered: () => source.trust(),
  }
  const makeSource = () => {
    const rules = createRangeRules(limits, harness.clock, () => offset.known)
    const choice = createLiveChoice(context, rules.now)
    const made = new WindowSource({
      ...{ context, stream: calls, settings, choice, rules, answered: { count: 0 } },
      // So few requests that nothing is tried sooner because there is room for it.
      ...{ details: undefined, substreams: [], pacer: { firstRound: () => 0, evenRound: () => 86_400 } },
    })
    return { rules, source: made }
  }
  const { rules, source } = makeSource()
  /** Does everything that can be done now, or as many requests of it; answers which purposes they were for. */
  const workOf =
    (source: WindowSource) =>
    async (most = Number.POSITIVE_INFINITY): Promise<string[]> => {
      const done: string[] = []
      while (done.length < most) {
        const found = source.find()
        await harness.clock.advance(0)
        const [job] = (await found).requests.toSorted((a, b) => a.expiresAt - b.expiresAt)
        if (!job) return done
        done.push(job.purpose)
        const run = job.run()
        await harness.clock.advance(second)
        await run
      }
      return done
    }
  return {
    ...harness,
    offset,
    source,
    work: workOf(source),
    /** The source of the process that comes after this one, and what does its work. */
    restart: () => {
      const { source: next } = makeSource()
      return { source: next, work: workOf(next) }
    },
    asked,
    rules,
    heard,
    progress: () => harness.store.window('calls', ''),
  }
}

export const nowOf = (harness: ReturnType<typeof makeHarness>) => harness.clock.now() / 1_000
