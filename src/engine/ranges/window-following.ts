import { pauseOf } from '../../planning/cadence.ts'
import { chooseLive } from '../../planning/live-channels.ts'
import { frameOf, type RangeLimits, type WindowRules } from '../../planning/windows.ts'
import { channel as channelName } from '../../provider/analytics/index.ts'
import type { WindowSeries } from '../../streams/page.ts'
import type { StreamName, WindowSettings, WindowStream } from '../../streams/stream.ts'
import type { AppContext } from '../context.ts'
import type { LiveChannel } from '../ports.ts'
import type { GroupContext } from './group-scheduler.ts'
import type { Pacer } from './pacer.ts'
import type { RangeRules } from './range-rules.ts'
import { newSeries, type SeriesState } from './window-series.ts'

export interface WindowSourceContext {
  readonly context: GroupContext
  readonly stream: WindowStream
  readonly settings: WindowSettings
  /** The channels that are asked about while something goes on in them. */
  readonly choice: LiveChoice
  readonly rules: RangeRules
  /** Windows of its limit group that were answered since this process began, of whichever stream. */
  readonly answered: { count: number }
  /** What the plan allows of the details of a call; undefined where they are not drained. */
  readonly details: RangeLimits | undefined
  /** The streams of those details. */
  readonly substreams: readonly StreamName[]
  readonly pacer: Pick<Pacer, 'firstRound' | 'evenRound'>
}

export interface Followed {
  readonly one: WindowSeries
  readonly state: SeriesState
  /** Of a channel that is asked about while something goes on in it: whether that is over. */
  passing?: 'going on' | 'over'
}

/** A first start goes back as far as the plan has data available, less what expires until it is read, seconds. */
export const FIRST_LEAD = 60

/** Which series of a window stream are asked for: those of the configuration, and of channels that come and go. */
export class WindowFollowing {
  readonly #source: WindowSourceContext
  readonly #context: GroupContext
  readonly series: Map<string, Followed>
  #chosen: readonly LiveChannel[] = []

  constructor(source: WindowSourceContext) {
    this.#source = source
    this.#context = source.context
    this.series = new Map(source.settings.series.map(one => [one.key, this.#follow(one)]))
  }

  /** Follows the channels in which something goes on now, and no longer those in which it is over. */
  renew(): Promise<void> {
    return this.#choose(noSeries)
  }

  async begin(): Promise<void> {
    const { stream, settings, rules, details, substreams } = this.#source
    const { app, store } = this.#context
    const fence = this.#context.fence()
    // Details of calls that had expired before anyone asked are no backlog.
    for (const name of details ? substreams : []) {
      await store.beginWindows(fence, app.id, name, [''], rules.now() - details!.availableData)
    }
    await this.#make(settings.series, 'lasting')
    const open = new Set(
      (await store.windows(app.id, stream.name, rules.gone(1))).map(({ series }) => series),
    )
    await this.#choose(open)
    for (const series of open) {
      if (!this.series.has(series)) await store.leaveWindows(fence, app.id, stream.name, series)
    }
  }

  /** All that can be had of the past is backlog, or nothing of it. */
  async #make(all: readonly WindowSeries[], kind: 'lasting' | 'passing'): Promise<void> {
    const { stream, settings, rules, pacer } = this.#source
    const { app, store } = this.#context
    const { frame, allowedLateness } = settings
    const lead = FIRST_LEAD + pacer.firstRound()
    const alike = Map.groupBy(all, ({ step, expects }) => `${step} ${expects}`)
    for (const series of alike.values()) {
      const { step, expects } = series[0]!
      const isPassing = kind === 'passing'
      const own: WindowRules = rules.of({ step, frame, allowedLateness })
      const from = isPassing
        ? frameOf(own, rules.now()).upperBound
        : Math.min(frameOf(own, rules.now() + lead).lowerBound, frameOf(own, rules.now()).upperBound)
      const keys = series.map(({ key }) => key)
      const each = expects === 'each' ? step : undefined
      await store.beginWindows(this.#context.fence(), app.id, stream.name, keys, from, each, isPassing)
    }
  }

  /** `open`: series that were asked for before this process began. */
  async #choose(open: ReadonlySet<string>): Promise<void> {
    const { settings, choice } = this.#source
    const { clock } = this.#context
    const { live } = settings
    if (!live) return
    const wasAsked = (channel: string) => live.of(channel).some(({ key }) => open.has(key))
    const now = await choice.now(live.most, wasAsked)
    if (now === this.#chosen) return
    const wanted = new Map<string, { readonly one: WindowSeries; readonly isOver: boolean }>()
    for (const { channel, endedAt } of now) {
      for (const one of live.of(channel)) wanted.set(one.key, { one, isOver: endedAt !== null })
    }
    const fresh = [...wanted.values()].map(({ one }) => one).filter(({ key }) => !this.series.has(key))
    await this.#make(fresh, 'passing')
    for (const one of fresh) {
      const each: Followed = { ...this.#follow(one), passing: 'going on' }
      // One that is new has no backlog yet.
      if (!open.has(one.key)) each.state.liveAt += pauseOf(settings, clock.now())
      this.series.set(one.key, each)
    }
    for (const [key, each] of this.series) {
      if (!each.passing) continue
      const still = wanted.get(key)
      if (still) each.passing = still.isOver ? 'over' : 'going on'
      else if (!each.state.isBusy) await this.#leave(key)
    }
    this.#chosen = now
  }

  async #leave(key: string): Promise<void> {
    const { stream } = this.#source
    const { app, store } = this.#context
    await store.leaveWindows(this.#context.fence(), app.id, stream.name, key)
    this.series.delete(key)
  }

  #follow(one: WindowSeries): Followed {
    const { settings } = this.#source
    const { clock } = this.#context
    return { one, state: newSeries(clock.monotonic(), settings.revisitEvery ?? settings.every) }
  }
}

const noSeries: ReadonlySet<string> = new Set()

/** Which channels real time is asked of: one choice for all streams of a limit group. */
export type LiveChoice = ReturnType<typeof createLiveChoice>

/** How often it is looked which rooms and calls go on, ms. */
const CHOOSE_EVERY_MS = 60_000

/** A channel keeps its place for so long after its end, seconds, so that what came last is read. */
const GRACE = 900

/** `now`: the provider's clock, Unix seconds. */
export function createLiveChoice({ app, clock, store }: AppContext, now: () => number) {
  let chosen: readonly LiveChannel[] | undefined
  let chosenAt = Number.NEGATIVE_INFINITY
  return {
    /**
     * The channels of this minute, `most` of them at most. `isAsked` tells of the first choice which ones were asked
     * about before this process began. Throws StoreUnavailable.
     */
    now: async (most: number, isAsked: (channel: string) => boolean): Promise<readonly LiveChannel[]> => {
      if (chosen && clock.monotonic() - chosenAt < CHOOSE_EVERY_MS) return chosen
      const listed = await store.liveChannels(app.id, now() - GRACE)
      // Half of a surrogate pair cannot be sent, and what is longer than a name nobody takes.
      const askable = listed.filter(({ channel }) => {
        return channel.isWellFormed() && channelName.safeParse(channel).success
      })
      const before = chosen && new Set(chosen.map(({ channel }) => channel))
      chosen = chooseLive(askable, before ? channel => before.has(channel) : isAsked, most)
      chosenAt = clock.monotonic()
      return chosen
    },
  }
}
