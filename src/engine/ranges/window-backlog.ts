import { backlogOf } from '../../planning/coverage.ts'
import { LIVE_PATIENCE } from '../../planning/live-channels.ts'
import { lengthOf, type Range, subtract } from '../../planning/ranges.ts'
import { frameOf, type WindowRules } from '../../planning/windows.ts'
import type { WindowSeries } from '../../streams/page.ts'
import type { StreamLabels, WindowProgress } from '../ports.ts'
import type { Followed, WindowSourceContext } from './window-following.ts'

interface Oldest {
  readonly series: string
  readonly from: number
  /** On the monotonic clock, ms; undefined where it was not read since it became the oldest. */
  readonly readAt?: number
}

/** What the metrics tell of the ranges that a window stream of an app still lacks. */
export class WindowBacklog {
  readonly #source: WindowSourceContext
  readonly #labels: StreamLabels
  readonly #followed: ReadonlyMap<string, Followed>
  readonly #rulesOf: (series: Pick<WindowSeries, 'step'>) => WindowRules
  #oldest: Oldest | undefined

  constructor(
    source: WindowSourceContext,
    followed: ReadonlyMap<string, Followed>,
    rulesOf: (series: Pick<WindowSeries, 'step'>) => WindowRules,
  ) {
    this.#source = source
    this.#labels = { app: source.context.app.id, stream: source.stream.name }
    this.#followed = followed
    this.#rulesOf = rulesOf
  }

  /** Sets the gauges by what is known of the series now. */
  tell(progress: readonly WindowProgress[]): void {
    const { rules, context, pacer } = this.#source
    const { clock, meter } = context
    const [now, at] = [rules.now(), clock.monotonic()]
    const left = progress.flatMap(each => this.#backlogOf(each, now))
    const [oldest] = left.toSorted((a, b) => a.from - b.from)
    const isSame = oldest?.series === this.#oldest?.series && oldest?.from === this.#oldest?.from
    if (!isSame) this.#oldest = oldest && { series: oldest.series, from: oldest.from }
    const { availableData } = this.#rulesOf({ step: 1 })
    // A channel that goes on waits on purpose before its turn comes.
    const patience = oldest?.passing === 'going on' ? availableData * LIVE_PATIENCE : 0
    meter.schedule(this.#labels, this.#latenessAt(at))
    meter.backlog(this.#labels, {
      seconds: lengthOf(left),
      expiresIn: oldest ? (oldest.from + availableData - now) * 1_000 : null,
      turn: patience + pacer.evenRound(),
      ...(this.#oldest?.readAt !== undefined && { oldestReadAt: this.#oldest.readAt }),
    })
  }

  /** What the provider was asked for and does not serve is no backlog. */
  #backlogOf(progress: WindowProgress, now: number) {
    const { one, passing } = this.#followed.get(progress.series)!
    const backlog = subtract(backlogOf(progress, frameOf(this.#rulesOf(one), now)), progress.missing)
    return backlog.map(({ from, to }) => ({ from, to, passing, series: progress.series }))
  }

  /** Channels that come and go are asked about as far as the budget goes, and never late. */
  #latenessAt(at: number) {
    const lasting = [...this.#followed.values()].filter(({ passing }) => !passing)
    const late = lasting.map(({ state }) => at - state.liveAt).filter(ms => ms > 0)
    return { series: late.length, lateBy: Math.max(0, ...late) }
  }

  /** A reading of the range that began `at`, on the monotonic clock, ms, came to its end. */
  noteRead(series: string, { from, to }: Range, at: number): void {
    const oldest = this.#oldest
    if (oldest?.series !== series || oldest.from < from || oldest.from >= to) return
    this.#oldest = { ...oldest, readAt: at }
  }
}
