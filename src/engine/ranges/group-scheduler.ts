import { retryDelay } from '../../planning/retry.ts'
import { chooseRequest, newTally, type Purpose } from '../../planning/shares.ts'
import type { Operation } from '../../provider/operation.ts'
import type { Hint } from '../../streams/page.ts'
import { contentionBackoff, faultBackoff } from '../admission/retry-rules.ts'
import type { AppContext } from '../context.ts'
import { hasMet } from '../failures.ts'
import { StoreUnavailable } from '../ports.ts'
import type { GroupLimit } from '../settings.ts'
import { createWakeup, type Wakeup } from '../waiting.ts'
import type { Pacer } from './pacer.ts'
import { PutOff } from './put-off.ts'

/** One thing that may be asked for now. */
export interface PendingRequest {
  readonly purpose: Purpose
  /** When the oldest of it can no longer be had, by the provider's clock, Unix seconds. */
  readonly expiresAt: number
  /** When its series was asked last, on the monotonic clock, ms. */
  readonly askedAt?: number
  /** It ends what was begun: before anything else is, so that little is left half done when a budget is short. */
  readonly completes: boolean
  /** Its last try failed: it is never so urgent that others have to wait. */
  readonly isFailing: boolean
  /** It or its like failed last, and nothing of the group was answered since: anything else goes first. */
  readonly isBehindOthers?: boolean
  /** Asks for it, to its end. Never rejects. */
  readonly run: () => Promise<void>
}

/** What one stream can have asked for. */
export interface WorkSource {
  /** Makes its series known. Throws StoreUnavailable. */
  readonly begin: () => Promise<void>
  /** Throws StoreUnavailable. */
  readonly find: () => Promise<PendingWork>
}

export interface PendingWork {
  readonly requests: readonly PendingRequest[]
  /** In how many ms there may be others. */
  readonly again: number
}

/** What the sources of a limit group need besides what every part of an app does. */
export interface GroupContext extends AppContext {
  /** News of rooms that came with other data. */
  readonly onRooms: (hints: readonly Hint[]) => void
  /** There is new work for some stream of the app. */
  readonly onWork: () => void
  /** A window that could not be read is read again: what ailed others of the app may be over too. */
  readonly onRecovered: () => void
}

/** Spends the budget of one limit group of an app: one request after the other, whatever is most urgent. */
export type GroupScheduler = ReturnType<typeof startGroupScheduler>

export interface ScheduledGroup {
  readonly name: string
  readonly limit: GroupLimit
  readonly sources: readonly WorkSource[]
  readonly pacer: Pacer
  /** How long before it expires anything goes before everything else, seconds; below 0 nothing does. */
  readonly soon: () => number
}

/** The sources are asked at least this often, ms. */
const LONGEST_NAP_MS = 60_000

/**
 * For how many ms nothing of an operation is to be begun that fails while others of its limit group are answered; undefined
 * where something may be. What waits before its breaker would keep the places of the group from the others, so that it is
 * tried by one request at a time; `isBusy`: one is under way.
 */
export function heldAlone(
  { admission, app }: Pick<AppContext, 'admission' | 'app'>,
  operation: Operation,
  isBusy: boolean,
): number | undefined {
  const limit = app.limits[operation.limitGroup]
  const triesIn = limit && admission.triesIn(app.id, limit, operation)
  if (triesIn === undefined || (triesIn === 0 && !isBusy)) return undefined
  return triesIn > 0 ? triesIn : LONGEST_NAP_MS
}

export function startGroupScheduler(context: GroupContext, group: ScheduledGroup, now: () => number) {
  const { app, clock, random, log, signal, health } = context
  const sources = group.sources.map(source => alongside(context, source))
  const wakeup: Wakeup = createWakeup(clock)
  const running = new Set<Promise<void>>()
  /** How far each purpose has come in its share since this process began. */
  let tally = newTally
  /** When the sources were asked last, on the monotonic clock, ms. */
  let lookedAt = Number.NEGATIVE_INFINITY

  /** While it is uncertain whether the database is well, one job tries it. */
  const places = () => (health.state() === 'up' ? group.limit.concurrency : 1)

  function start(request: PendingRequest): void {
    const over = group.pacer.began()
    const run = request.run().finally(() => {
      over()
      running.delete(run)
      wakeup.notify()
    })
    running.add(run)
  }

  /** Starts what is most urgent; answers for how many ms there is nothing to do. */
  async function step(): Promise<number> {
    if (health.state() === 'down') return LONGEST_NAP_MS
    // Whoever waits for a budget may do so for hours, and meanwhile data expire, of which the sources take note.
    const nextLook = lookedAt + LONGEST_NAP_MS - clock.monotonic()
    if (running.size >= places() && nextLook > 0) return nextLook
    lookedAt = clock.monotonic()
    const found = await Promise.all(sources.map(source => source.find()))
    if (running.size >= places()) return LONGEST_NAP_MS
    const requests = found.flatMap(each => each.requests).map(calmed)
    const idle = Math.min(LONGEST_NAP_MS, ...found.map(({ again }) => again))
    if (requests.length === 0) return idle
    const soon = now() + group.soon()
    const waits = await group.pacer.waits(
      requests.map(({ purpose }) => purpose),
      requests.some(({ expiresAt }) => expiresAt <= soon),
    )
    const held = context.admission.heldFor(group.limit.scope, group.name)
    if (held > 0) return Math.min(idle, held)
    const ready = requests.filter(({ purpose }) => waits[purpose] === 0)
    const others = ready.filter(({ isBehindOthers }) => !isBehindOthers)
    const begun = others.filter(({ completes, isFailing }) => completes && !isFailing)
    const first = [begun, others].find(each => each.length > 0) ?? ready
    const choice = chooseRequest(first, { tally, now: now(), soon: group.soon() })
    if (!choice) return Math.min(idle, ...requests.map(({ purpose }) => waits[purpose]))
    tally = choice.tally
    start(choice.request)
    return 0
  }

  /** What fails again and again is always the first to expire: that must not put it before all others. */
  function calmed(request: PendingRequest): PendingRequest {
    return request.isFailing
      ? { ...request, expiresAt: Math.max(request.expiresAt, now() + group.soon() + 1) }
      : request
  }

  /** Does something that needs the database until it is done. */
  async function persist<T>(act: () => Promise<T>): Promise<T | undefined> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await act()
      } catch (error) {
        const isMet = hasMet(context, error)
        if (!isMet && error instanceof StoreUnavailable) health.failed(error.fault)
        else if (!isMet)
          log.error('a limit group could not be drained; trying again', {
            app: app.id,
            group: group.name,
            error,
          })
        const backoff = isMet ? contentionBackoff : faultBackoff
        await wakeup.wait(retryDelay(backoff, failures, random.next()))
      }
    }
    return undefined
  }

  async function run(): Promise<void> {
    signal.addEventListener('abort', wakeup.notify, { once: true })
    await persist(async () => {
      for (const source of sources) await source.begin()
    })
    while (!signal.aborted) {
      const nap = (await persist(step)) ?? 0
      if (nap > 0) await wakeup.wait(nap)
    }
    await Promise.all(running)
  }

  return { wake: wakeup.notify, done: run() }
}

/**
 * A source that keeps no other waiting: where statements of others stand in its way it has nothing to ask for, and is
 * begun and looked through again a little later.
 */
function alongside(context: GroupContext, source: WorkSource): WorkSource {
  const putOff = new PutOff(context.clock)
  let isBegun = false
  const unlessMet = async <T>(act: () => Promise<T>): Promise<T | undefined> => {
    if (putOff.isWaiting('')) return undefined
    try {
      const done = await act()
      putOff.done('')
      return done
    } catch (error) {
      if (!hasMet(context, error)) throw error
      putOff.add('', failures => retryDelay(contentionBackoff, failures, context.random.next()))
      return undefined
    }
  }
  const begin = async () => {
    if (isBegun) return
    await source.begin()
    isBegun = true
  }
  return {
    begin: async () => void (await unlessMet(begin)),
    find: async () => {
      const found = await unlessMet(async () => {
        await begin()
        return source.find()
      })
      return found ?? { requests: [], again: Math.max(0, Math.min(LONGEST_NAP_MS, putOff.next())) }
    },
  }
}
