import type { Clock, Random } from '../clock/clock.ts'
import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { Stream, StreamName } from '../streams/stream.ts'
import { Admission } from './admission/admission.ts'
import type { Load } from './admission/load.ts'
import type { Queue } from './admission/queue.ts'
import { type RunningApp, startApp } from './app.ts'
import { createStoreHealth } from './health.ts'
import { confirmedTime, runOnSchedule } from './housekeeping.ts'
import { shardOf } from './ports/ledger.ts'
import { type Fence, type Ports, StoreUnavailable } from './ports.ts'
import { createPacers } from './ranges/pacer.ts'
import type { AppSettings, EngineSettings } from './settings.ts'
import { createWakeup, within } from './waiting.ts'

/** The running daemon: it owns what it can, polls what it owns, and stops in an orderly way. */
export interface Engine {
  /** What this process owns at this moment. */
  readonly owned: () => { readonly shards: number; readonly apps: readonly string[] }
  /**
   * Has the whole app read anew by a stream as soon as may be, because something is said to have happened. May be asked
   * as often as one likes. Does nothing for an app that another process owns, or a stream that is off.
   */
  readonly schedule: (app: string, stream: StreamName) => void
  /** Finishes the pages in hand, gives the shards back, and resolves. */
  readonly stop: () => Promise<void>
  /** Resolves when the engine has stopped. */
  readonly done: Promise<void>
}

export interface EngineContext extends Ports {
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
  readonly controller: AbortController
  readonly epoch: number
}

const claimBackoff: Backoff = { first: 500, cap: 3_000 }

/** A claim that takes longer than this, ms, is given up: its connection may be dead. */
const CLAIM_DEADLINE_MS = 10_000

/** Room for rows is made for so long at most, ms, before the first page: what is owned must be renewed meanwhile. */
const PREPARE_DEADLINE_MS = 5_000

/** How often rooms are looked for that someone wants read again, ms. */
const MARKS_EVERY_MS = 20_000

export function startEngine(context: EngineContext): Engine {
  const { settings, ownership, clock, random, log, meter, store } = context
  const admission = new Admission(context, settings.deadline)
  const pacers = createPacers(context)
  const wakeup = createWakeup(clock)
  const health = createStoreHealth(log, wakeup.notify)
  const stopping = new AbortController()
  const running = new Map<string, Running>()
  /** Pollers that have not ended yet, those that were told to stop included. */
  const alive = new Set<Promise<void>>()
  let shards = 0
  let isPrepared = false

  /** Once, before anything is drained. Where it fails, rows find a place all the same, and the housekeeping goes on. */
  async function prepare(): Promise<void> {
    if (isPrepared) return
    isPrepared = true
    await within(clock, PREPARE_DEADLINE_MS, store.prepare(), stopping.signal).catch(error => {
      if (!stopping.signal.aborted)
        log.warn('partitions could not be made ahead; the housekeeping tries again', { error })
    })
  }

  async function keepHouse(): Promise<void> {
    if (shards === 0 || health.state() === 'down') return
    if ((await store.housekeeping(confirmedTime(clock, context.transport))) === 'done') return
    log.warn('nothing that is too old was taken away: the provider does not confirm the time of the database')
  }

  function adopt(fences: readonly Fence[]): void {
    shards = fences.length
    meter.owned(shards)
    const byShard = new Map(fences.map(fence => [fence.shard, fence]))
    for (const app of settings.apps) {
      const fence = byShard.get(shardOf(app.id, settings.shards))
      const held = running.get(app.id)
      if (held?.epoch === fence?.epoch) continue
      if (held) release(app, held)
      if (fence) start(app, fence)
    }
  }

  function start(app: AppSettings, fence: Fence): void {
    const controller = new AbortController()
    const drained = startApp({
      context: {
        ...context,
        app,
        admission,
        health,
        fence: () => fence,
        signal: controller.signal,
        onFenced: wakeup.notify,
      },
      streams: context.streams,
      pacers,
      clockOffset: () => context.transport.clockOffset('analytics'),
    })
    running.set(app.id, { drained, controller, epoch: fence.epoch })
    const ended = drained.done
      .catch(error => {
        log.error('an app stopped by a fault of this program; it is started again', { app: app.id, error })
        if (running.get(app.id)?.drained === drained) running.delete(app.id)
      })
      .finally(() => alive.delete(ended))
    alive.add(ended)
  }

  function release(app: AppSettings, { controller }: Running): void {
    controller.abort()
    running.delete(app.id)
  }

  /** Has the rooms read that someone has marked since. */
  async function applyMarks(): Promise<void> {
    for (;;) {
      await clock.sleep(MARKS_EVERY_MS, stopping.signal)
      if (stopping.signal.aborted) return
      if (running.size === 0 || health.state() === 'down') continue
      // What cannot be read now is looked for the next time.
      const marked = await store.wantedRooms().catch(() => [])
      for (const { app, room, region } of marked) running.get(app)?.drained.reread(room, region)
    }
  }

  /** Renews what is held and takes what became free, until the engine stops. */
  async function own(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        const fences = await within(clock, CLAIM_DEADLINE_MS, ownership.claim(), stopping.signal)
        if (fences.length > 0) await prepare()
        adopt(fences)
        failures = 0
        const wasDown = health.state() === 'down'
        health.answered()
        if (wasDown) for (const { drained } of running.values()) drained.wake()
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        const why = error instanceof StoreUnavailable ? error.fault : { error }
        log.error('ownership could not be renewed; trying again', why)
      }
      await wakeup.wait(
        failures > 0 ? retryDelay(claimBackoff, failures, random.next()) : settings.renewEvery,
      )
      // The next claim is what finds out whether the database is back: not at once, when it is said to be away.
      if (failures === 0 && health.state() === 'down') {
        await clock.sleep(health.pause(random.next()), stopping.signal)
      }
    }
  }

  async function shutDown(): Promise<void> {
    for (const { controller } of running.values()) controller.abort()
    await within(clock, settings.drainDeadline, Promise.all(alive)).catch(() =>
      log.warn('some pages in hand were not finished in time and are given up'),
    )
    running.clear()
    await ownership
      .release()
      .catch(() => log.warn('the shards could not be given back; they expire by themselves'))
  }

  async function run(): Promise<void> {
    const keeping = runOnSchedule(
      { ...context, expression: settings.housekeeping, signal: stopping.signal },
      keepHouse,
    )
    const heeding = applyMarks()
    await own()
    await shutDown()
    await Promise.all([keeping, heeding])
  }

  const done = run()
  return {
    owned: () => ({ shards, apps: [...running.keys()] }),
    schedule: (app, stream) => running.get(app)?.drained.schedule(stream),
    stop: () => {
      stopping.abort()
      wakeup.notify()
      return done
    },
    done,
  }
}
