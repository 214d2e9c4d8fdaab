import type { Clock, Random } from '../clock/clock.ts'
import { retryDelay } from '../planning/retry.ts'
import { shardOf } from '../planning/shard.ts'
import type { Stream } from '../streams/stream.ts'
import { createAdmission } from './admission.ts'
import { runOnSchedule } from './cron.ts'
import { type Poller, startPoller } from './poller.ts'
import { type Fence, type Ports, StoreUnavailable } from './ports.ts'
import type { Queue } from './queue.ts'
import type { AppSettings, EngineSettings } from './settings.ts'

/** The running daemon: it owns what it can, polls what it owns, and stops in an orderly way. */
export interface Engine {
  /** What this process owns at this moment. */
  readonly owned: () => { readonly shards: number; readonly apps: readonly string[] }
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
}

interface Running {
  readonly app: AppSettings
  readonly poller: Poller
  readonly controller: AbortController
  fence: Fence
}

const claimBackoff = { first: 500, cap: 10_000 }

export function startEngine(context: EngineContext): Engine {
  const { settings, ownership, clock, random, log, meter, store } = context
  const admission = createAdmission(context, settings.deadline)
  const stopping = new AbortController()
  const running = new Map<string, Running>()
  let fences: readonly Fence[] = []
  let reclaim = new AbortController()

  function adopt(claimed: readonly Fence[]): void {
    fences = claimed
    meter.owned(claimed.length)
    const byShard = new Map(claimed.map(fence => [fence.shard, fence]))
    for (const app of settings.apps) {
      const fence = byShard.get(shardOf(app.id, settings.shards))
      const held = running.get(app.id)
      if (fence && held?.fence.epoch === fence.epoch) held.fence = fence
      else {
        if (held) release(held)
        if (fence) start(app, fence)
      }
    }
  }

  function start(app: AppSettings, fence: Fence): void {
    const controller = new AbortController()
    const streams = context.streams.filter(stream => app.streams[stream.name])
    const held = { app, controller, fence } as { -readonly [K in keyof Running]: Running[K] }
    held.poller = startPoller({
      ...context,
      app,
      admission,
      streams,
      fence: () => held.fence,
      signal: controller.signal,
      onFenced: () => reclaim.abort(),
    })
    running.set(app.id, held)
  }

  function release(held: Running): void {
    held.controller.abort()
    if (running.get(held.app.id) === held) running.delete(held.app.id)
  }

  /** Renews what is held and takes what became free, until the engine stops. */
  async function own(): Promise<void> {
    let failures = 0
    while (!stopping.signal.aborted) {
      try {
        adopt(await ownership.claim())
        failures = 0
      } catch (error) {
        failures += 1
        const code = error instanceof StoreUnavailable ? error.code : undefined
        log.error('ownership could not be renewed; trying again', { code, ...(code ? {} : { error }) })
      }
      reclaim = new AbortController()
      const pause = failures > 0 ? retryDelay(claimBackoff, failures, random.next()) : settings.renewEvery
      await clock.sleep(pause, AbortSignal.any([stopping.signal, reclaim.signal]))
    }
  }

  async function shutDown(): Promise<void> {
    const held = [...running.values()]
    for (const each of held) each.controller.abort()
    const deadline = new AbortController()
    await Promise.race([
      Promise.all(held.map(each => each.poller.done)),
      clock.sleep(settings.drainDeadline, deadline.signal),
    ])
    deadline.abort()
    await ownership
      .release()
      .catch(() => log.warn('the shards could not be given back; they expire by themselves'))
  }

  async function run(): Promise<void> {
    const keeping = runOnSchedule(
      { ...context, expression: settings.housekeeping, signal: stopping.signal },
      () => (fences.length > 0 ? store.housekeeping() : Promise.resolve()),
    )
    await own()
    await shutDown()
    await keeping
  }

  const done = run()
  return {
    owned: () => ({ shards: fences.length, apps: [...running.keys()] }),
    stop: () => {
      stopping.abort()
      return done
    },
    done,
  }
}
