import { type Clock, createTurns, type Random, within } from '../clock/clock.ts'
import type { WeekHours } from '../planning/cadence.ts'
import { type Backoff, retryDelay } from '../planning/retry.ts'
import { families } from '../provider/operation.ts'
import type { Stream, StreamName } from '../streams/stream.ts'
import { Admission } from './admission/admission.ts'
import type { Load } from './admission/load.ts'
import type { Queue } from './admission/queue.ts'
import { RunningApp } from './app.ts'
import { createStoreHealth, type StoreHealth } from './health.ts'
import { shardOf } from './ports/ledger.ts'
import { type Claim, type Fence, type Ports, StoreUnavailable, type Transport } from './ports.ts'
import { createPacers, type Pacers } from './ranges/pacer.ts'
import type { AppSettings, EngineSettings } from './settings.ts'
import {
  type CommonMoments,
  createCommonMoments,
  createWakeup,
  runOnSchedule,
  type Wakeup,
} from './waiting.ts'

interface EngineContext extends Ports {
  readonly settings: EngineSettings
  readonly streams: readonly Stream[]
  readonly clock: Clock
  readonly random: Random
  readonly queue: Queue
  /** What answers may weigh together that are being worked on. */
  readonly load?: Load
}

interface Running {
  readonly drained: RunningApp
  /** Resolves when nothing of it is under way any more. Never rejects. */
  readonly ended: Promise<void>
  readonly controller: AbortController
  readonly epoch: number
}

const claimBackoff: Backoff = { first: 500, cap: 3_000 }

/** A claim that takes longer than this, ms, is given up: its connection may be dead. */
const CLAIM_DEADLINE_MS = 10_000

/** Whoever did not renew its shards for so long, ms, is taken for dead by others. */
const HELD_MS = 10_000

/** Room for rows is made for so long at most, ms, before the first page: what is owned must be renewed meanwhile. */
const PREPARE_DEADLINE_MS = 5_000

/** How often rooms are looked for that someone wants read again, ms. */
const MARKS_EVERY_MS = 20_000

/** Apps that begin at one time: as many as keep the connections to the database busy. */
const BEGINNING_APPS = 8

/** Shards are given back in milliseconds, or by a database that does not answer, ms. */
const RELEASE_DEADLINE_MS = 1_000

/** How often is read in which hours of the week there are classes, ms, while no app comes. */
const HOURS_EVERY_MS = 6 * 3_600_000
/** The same after they could not be read, ms. */
const HOURS_AGAIN_MS = 300_000

/** The running daemon: it owns what it can, polls what it owns, and stops in an orderly way. */
export class Engine {
  readonly #context: EngineContext
  readonly #admission: Admission
  readonly #pacers: Pacers
  readonly #wakeup: Wakeup
  readonly #health: StoreHealth
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Running>()
  /** Apps that have not ended yet, those that were told to stop included, with their shards. */
  readonly #alive = new Map<Promise<void>, number>()
  /** Apps that are drained from now on where their shards are owned. */
  #apps: readonly { readonly app: AppSettings; readonly shard: number }[]
  /** Apps that finish their pages in hand before they begin anew, or for good. */
  readonly #ending = new Set<string>()
  /** Apps that somebody else may own: a page of them was fenced, and no claim has said since whose they are. */
  readonly #doubtful = new Set<string>()
  /** Shards that are being handed over. */
  readonly #leaving = new Set<number>()
  readonly #beginnings = createTurns(BEGINNING_APPS)
  readonly #commonMoments: CommonMoments
  /** Of each app, in which hours of the week something is to be expected; read for all of them at once. */
  #busyHours: ReadonlyMap<string, WeekHours> = new Map()
  /** On the monotonic clock, ms. */
  #hoursKnownUntil = Number.NEGATIVE_INFINITY
  #shards = 0
  /** It has owned shards, or looked for some that were free. */
  #hasClaimed = false
  #isPrepared = false
  /** How often the database lost what had been written in it, as far as apps have begun anew for that. */
  #setBack = 0
  /** Resolves when the engine has stopped. */
  readonly done: Promise<void>

  constructor(context: EngineContext) {
    this.#context = context
    this.#apps = this.#sharded(context.settings.apps)
    this.#admission = new Admission(context, context.settings.deadline)
    this.#pacers = createPacers(context)
    this.#wakeup = createWakeup(context.clock)
    this.#commonMoments = createCommonMoments(context.clock)
    this.#health = createStoreHealth(context, this.#wakeup.notify)
    this.done = this.#run()
  }

  /** What this process owns at this moment. */
  owned(): { readonly shards: number; readonly apps: readonly string[] } {
    return { shards: this.#shards, apps: [...this.#running.keys()] }
  }

  /**
   * Has the whole app read anew by a stream as soon as may be, because something is said to have happened. May be asked
   * as often as one likes. Does nothing for an app that another process owns, or a stream that is off.
   */
  schedule(app: string, stream: StreamName): void {
    this.#running.get(app)?.drained.schedule(stream)
  }

  /**
   * Has these apps drained from the next claim on; others are not touched. Those that are left out, and those that are
   * `changed`, finish their pages in hand first. Resolves when these have.
   */
  async configure(apps: readonly AppSettings[], changed: readonly string[]): Promise<void> {
    const kept = new Set(apps.map(({ id }) => id))
    const ending = [...this.#running].filter(([id]) => !kept.has(id) || changed.includes(id))
    this.#apps = this.#sharded(apps)
    for (const [id, running] of ending) {
      this.#ending.add(id)
      this.#release(id, running)
    }
    this.#wakeup.notify()
    await Promise.all(ending.map(([, { ended }]) => ended))
    for (const [id] of ending) {
      this.#pacers.leave(id)
      this.#admission.forget(id)
      this.#ending.delete(id)
    }
    this.#wakeup.notify()
  }

  /** Finishes the pages in hand, gives the shards back, and resolves. */
  stop(): Promise<void> {
    this.#stopping.abort()
    this.#wakeup.notify()
    return this.done
  }

  /** Once, before anything is drained. Where it fails, rows find a place all the same, and the housekeeping goes on. */
  async #prepare(): Promise<void> {
    const { clock, log, store } = this.#context
    if (this.#isPrepared) return
    this.#isPrepared = true
    const { signal } = this.#stopping
    const error = await within(clock, PREPARE_DEADLINE_MS, store.prepare(), 'not in time', signal).catch(
      (reason: unknown) => reason,
    )
    if (error !== undefined && !signal.aborted)
      log.warn('partitions could not be made ahead; the housekeeping tries again', { error })
  }

  async #keepHouse(): Promise<void> {
    const { clock, log, store } = this.#context
    if (this.#shards === 0 || this.#health.state() === 'down') return
    const confirmed = confirmedTime(clock, this.#context.transport)
    if ((await store.housekeeping(confirmed, this.#stopping.signal)) === 'done') return
    log.warn('nothing that is too old was taken away: the provider does not confirm the time of the database')
  }

  #sharded(apps: readonly AppSettings[]) {
    return apps.map(app => ({ app, shard: shardOf(app.id, this.#context.settings.shards) }))
  }

  /** What an app began, found and closed in the database it takes for done, as long as it is drained. */
  #beginAnew(): void {
    this.#context.log.warn('the database may be an older one than before: all apps begin anew in it')
    for (const [app, running] of [...this.#running]) void this.#endBeforeNext(app, running, running.ended)
  }

  #adopt({ fences, surplus, setBack = 0 }: Claim): void {
    if (setBack > this.#setBack) this.#beginAnew()
    this.#setBack = setBack
    this.#shards = fences.length
    this.#context.meter.owned(this.#shards)
    const byShard = new Map(fences.map(fence => [fence.shard, fence]))
    for (const { app, shard } of this.#apps) {
      if (this.#ending.has(app.id)) continue
      const fence = byShard.get(shard)
      const held = this.#running.get(app.id)
      if (held?.epoch === fence?.epoch) continue
      if (held) this.#release(app.id, held)
      if (fence) this.#start(app, fence)
    }
    this.#handOver(surplus.filter(shard => !this.#leaving.has(shard)))
  }

  /** Nobody can say whose they are: what they are asked for could be stored by nobody here. The next claim takes them up again. */
  #leaveDoubtful(): void {
    for (const app of this.#doubtful) {
      const held = this.#running.get(app)
      if (held) this.#release(app, held)
    }
    this.#doubtful.clear()
  }

  /** Gives shards back as soon as the pages in hand of their apps are stored: what is under way would be lost. */
  #handOver(shards: readonly number[]): void {
    const { settings, ownership, clock, log } = this.#context
    if (shards.length === 0) return
    for (const shard of shards) this.#leaving.add(shard)
    const ending = [...this.#alive].filter(([, shard]) => shards.includes(shard)).map(([ended]) => ended)
    void within(clock, settings.drainDeadline, Promise.all(ending), undefined)
      .then(ended => ended ?? log.warn('some pages of apps that move to another process are given up'))
      .then(() => ownership.release(shards))
      // It is still ours, and is handed over when ownership was claimed the next time.
      .catch(() => {})
      .finally(() => {
        for (const shard of shards) this.#leaving.delete(shard)
      })
  }

  #start(app: AppSettings, fence: Fence): void {
    const { log } = this.#context
    const controller = new AbortController()
    const drained = new RunningApp({
      context: {
        ...this.#context,
        app,
        admission: this.#admission,
        health: this.#health,
        fence: () => fence,
        signal: controller.signal,
        onFenced: () => {
          this.#doubtful.add(app.id)
          this.#wakeup.notify()
        },
        beginnings: this.#beginnings,
        commonMoments: this.#commonMoments,
        busyHours: () => this.#busyHours.get(app.id),
      },
      streams: this.#context.streams,
      pacers: this.#pacers,
      clockOffset: () => this.#context.transport.clockOffset('analytics'),
    })
    this.#hoursKnownUntil = Number.NEGATIVE_INFINITY
    const ended: Promise<void> = drained.done
      .catch(error => {
        log.error('an app stopped by a fault of this program; it is started again', { app: app.id, error })
        return this.#endBeforeNext(app.id, { drained, controller }, drained.ended())
      })
      .finally(() => {
        this.#alive.delete(ended)
        // What it told last would stand for ever, and its deadlines would pass.
        if (!this.#running.has(app.id)) this.#context.meter.left(app.id)
      })
    this.#alive.set(ended, fence.shard)
    this.#running.set(app.id, { drained, controller, ended, epoch: fence.epoch })
  }

  /** Ends what goes on of an app, which begins anew after that: it is never drained twice at one time. */
  async #endBeforeNext(
    app: string,
    { drained, controller }: Pick<Running, 'drained' | 'controller'>,
    ended: Promise<void>,
  ): Promise<void> {
    controller.abort()
    if (this.#running.get(app)?.drained === drained) {
      this.#running.delete(app)
      this.#ending.add(app)
    }
    await ended
    this.#ending.delete(app)
  }

  #release(app: string, { controller }: Running): void {
    controller.abort()
    this.#running.delete(app)
  }

  /** Has the rooms read that someone has marked since. */
  async #applyMarks(): Promise<void> {
    const { clock, store } = this.#context
    for (;;) {
      await clock.sleep(MARKS_EVERY_MS, this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      if (this.#running.size === 0 || this.#health.state() === 'down') continue
      // What cannot be read now is looked for the next time.
      const marked = await store.wantedRooms().catch(() => [])
      for (const wanted of marked) this.#running.get(wanted.app)?.drained.reread(wanted)
      if (clock.monotonic() >= this.#hoursKnownUntil) await this.#learnHours()
    }
  }

  async #learnHours(): Promise<void> {
    const { clock, store } = this.#context
    this.#hoursKnownUntil = clock.monotonic() + HOURS_EVERY_MS
    const hours = await store.busyHours([...this.#running.keys()]).catch(() => undefined)
    if (hours) this.#busyHours = hours
    else this.#hoursKnownUntil = Math.min(this.#hoursKnownUntil, clock.monotonic() + HOURS_AGAIN_MS)
  }

  /** Renews what is held and takes what became free, until the engine stops. */
  async #own(): Promise<void> {
    const { settings, ownership, clock, random, log, meter } = this.#context
    const { signal } = this.#stopping
    let renewedAt = clock.monotonic()
    for (let failures = 0; !signal.aborted; ) {
      try {
        const claim = await within(clock, CLAIM_DEADLINE_MS, ownership.claim(), undefined, signal)
        if (!claim) throw new StoreUnavailable(undefined, { timeout: 'query' })
        this.#hasClaimed = true
        if (claim.fences.length > 0) await this.#prepare()
        this.#adopt(claim)
        this.#doubtful.clear()
        renewedAt = clock.monotonic()
        failures = 0
        const wasDown = this.#health.state() === 'down'
        this.#health.answered()
        if (wasDown) for (const { drained } of this.#running.values()) drained.wake()
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        this.#leaveDoubtful()
        const why = error instanceof StoreUnavailable ? error.fault : { error }
        if (clock.monotonic() - renewedAt >= HELD_MS) {
          this.#shards = 0
          meter.unrenewed('code' in why ? why : {})
        }
        log.error('ownership could not be renewed; trying again', why)
      }
      await this.#wakeup.wait(
        failures > 0 ? retryDelay(claimBackoff, failures, random.next()) : settings.renewEvery,
      )
      // The next claim is what finds out whether the database is back: not at once, when it is said to be away.
      if (failures === 0 && this.#health.state() === 'down') {
        await clock.sleep(this.#health.pause(random.next()), signal)
      }
    }
  }

  async #shutDown(): Promise<void> {
    const { settings, ownership, clock, log } = this.#context
    for (const { controller } of this.#running.values()) controller.abort()
    const ended = await within(clock, settings.drainDeadline, Promise.all(this.#alive.keys()), undefined)
    if (!ended) log.warn('some pages in hand were not finished in time and are given up')
    this.#running.clear()
    const releasing = ownership.release().then(() => true)
    const isReleased = await within(clock, RELEASE_DEADLINE_MS, releasing, false).catch(() => false)
    if (!isReleased && this.#hasClaimed)
      log.warn('the shards could not be given back; the others take them within seconds')
  }

  async #run(): Promise<void> {
    const { clock, settings } = this.#context
    const keeping = runOnSchedule(
      { ...this.#context, moments: settings.housekeeping, signal: this.#stopping.signal },
      () => this.#keepHouse(),
    )
    const heeding = this.#applyMarks()
    await this.#own()
    // A statement of theirs that is under way may take as long as the database lets it.
    const others = within(clock, settings.drainDeadline, Promise.all([keeping, heeding]), undefined)
    await Promise.all([this.#shutDown(), others])
  }
}

/**
 * The latest moment, ms since the epoch, that no provider contradicts: the earliest that the clock which is known best may
 * show, or another one that is earlier whatever it shows. Undefined before the first answer; after it the estimates go on
 * by themselves, however quiet all streams are, and grow ever looser: one that may mean the same as a better one says
 * nothing against it.
 */
export function confirmedTime(clock: Clock, transport: Transport): number | undefined {
  const known = families
    .flatMap(family => transport.clockOffset(family) ?? [])
    .map(({ ahead, doubt }) => ({ doubt, earliest: ahead - doubt, latest: ahead + doubt }))
  const [best] = known.toSorted((a, b) => a.doubt - b.doubt)
  if (!best) return undefined
  const counting = known.filter(each => each === best || each.latest < best.earliest)
  return clock.now() + Math.min(...counting.map(({ earliest }) => earliest))
}
