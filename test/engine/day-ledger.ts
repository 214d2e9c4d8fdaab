import type { Clock } from '../../src/clock/clock.ts'
import type { TakeResult } from '../../src/engine/ports.ts'
import type { Spent } from '../../src/planning/pacing.ts'
import { FakeLedger, hour } from './harness.ts'

const day = 24 * hour

/** Counts what was debited of each limit group in the last day, by the clock of the test, so that requests are paced. */
export class DayLedger extends FakeLedger {
  readonly #debits: { readonly group: string; readonly at: number }[] = []
  readonly now: () => number

  constructor(clock: Pick<Clock, 'monotonic'>) {
    super(clock)
    this.now = () => clock.monotonic()
  }

  override async take(debit: { readonly scope: string; readonly group: string }): Promise<TakeResult> {
    this.#debits.push({ group: debit.group, at: this.now() })
    return super.take(debit)
  }

  override async budget(_scope?: string, group?: string, _window = 0, recent = 0): Promise<Spent> {
    const all = this.#timesOf(group)
    const counting = all.filter(at => at > this.now() - day)
    const freesIn = counting.length > 0 ? counting[0]! + day - this.now() : null
    const lately = counting.filter(at => at > this.now() - recent).length
    const last = all.at(-1)
    const sinceLast = last === undefined ? null : this.now() - last
    return { used: counting.length, freesIn, recent: lately, total: all.length, sinceLast }
  }

  override async lastingPace(
    _scope?: string,
    group?: string,
    _window = 0,
    requests = 0,
  ): Promise<number | null> {
    const counting = this.#timesOf(group).filter(at => at > this.now() - day)
    if (counting.length === 0) return null
    const left = Math.max(0, requests - counting.length)
    return Math.min(...counting.map((at, i) => (left + i + 1) / (at + day - this.now())))
  }

  #timesOf(group: string | undefined): readonly number[] {
    return this.#debits.filter(debit => debit.group === group).map(({ at }) => at)
  }
}
