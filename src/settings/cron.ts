import { createTask, parse, validate } from 'node-cron'
import { leaf, unfit } from './leaf.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** The calendar repeats itself in four years but for a day: so many days hold every pause that there is. */
const CALENDAR_DAYS = 1_462

/**
 * The moments of a cron expression of five fields, by the clocks of a zone: node-cron reads the fields and says of a day
 * whether it is one of them; the waiting is done by whoever has a clock. A moment that the clocks skip comes as much
 * later, and those of an hour that they repeat come both times. All times are ms since the epoch.
 */
export class Cron {
  readonly expression: string
  readonly timeZone: string
  readonly #offsetAt: (at: number) => number
  /** Of a day, ms after its midnight. */
  readonly #times: readonly number[]
  readonly #isOnDay: (day: number) => boolean
  #longest: number | undefined
  readonly #elsewhere = new Map<string, Cron>()
  #known = { after: 0, next: 0 }

  constructor(expression: string, timeZone = 'UTC') {
    this.expression = expression
    this.timeZone = timeZone
    this.#offsetAt = timeZone === 'UTC' ? () => 0 : offsetsOf(timeZone)
    const { hour, minute } = parse(expression)
    const times = hour.flatMap(h => minute.map(m => h * HOUR_MS + m * MINUTE_MS))
    this.#times = times.toSorted((a, b) => a - b)
    const task = createTask(expression, () => {}, { timezone: 'UTC' })
    void task.destroy()
    // The library takes long for a day, and most expressions are of all of them.
    this.#isOnDay = expression.endsWith(' * * *')
      ? () => true
      : day => task.match(new Date(day * DAY_MS + this.#times[0]!))
  }

  /** The same by the clocks of another zone; asked often, it is one. */
  in(timeZone: string): Cron {
    if (timeZone === this.timeZone) return this
    const there = this.#elsewhere.get(timeZone) ?? new Cron(this.expression, timeZone)
    this.#elsewhere.set(timeZone, there)
    return there
  }

  /** The first moment later than this; Infinity where none ever comes. */
  next(after: number): number {
    if (after >= this.#known.after && after < this.#known.next) return this.#known.next
    const today = Math.floor((after + this.#offsetAt(after)) / DAY_MS)
    for (let day = today - 1; day < today + 2 * CALENDAR_DAYS; day++) {
      if (!this.#isOnDay(day)) continue
      const next = this.#momentsOf(day).find(at => at > after)
      if (next === undefined) continue
      this.#known = { after, next }
      return next
    }
    return Number.POSITIVE_INFINITY
  }

  /** The longest that there is between two moments, ms; Infinity where there is none. */
  get longestPause(): number {
    this.#longest ??= this.#findLongest()
    return this.#longest
  }

  toString(): string {
    return this.expression
  }

  #findLongest(): number {
    const days = [...Array(CALENDAR_DAYS).keys()].filter(this.#isOnDay)
    if (days.length < 2) return days.length === 0 ? Number.POSITIVE_INFINITY : CALENDAR_DAYS * DAY_MS
    const [first = 0] = this.#times
    const overnight = longestStep(days) * DAY_MS - (this.#times.at(-1)! - first)
    const longest = Math.max(overnight, longestStep(this.#times))
    return this.timeZone === 'UTC' || longest < HOUR_MS ? longest : longest + HOUR_MS
  }

  #momentsOf(day: number): readonly number[] {
    const moments = this.#times.flatMap(time => this.#momentsAt(day * DAY_MS + time))
    return this.timeZone === 'UTC' ? moments : moments.toSorted((a, b) => a - b)
  }

  /** When the clocks of the zone show this. */
  #momentsAt(shown: number): readonly number[] {
    const offsets = new Set([this.#offsetAt(shown - DAY_MS), this.#offsetAt(shown + DAY_MS)])
    const moments = [...offsets].map(offset => shown - offset)
    const real = moments.filter(at => at + this.#offsetAt(at) === shown)
    return real.length > 0 ? real : moments.slice(0, 1)
  }
}

function longestStep(ascending: readonly number[]): number {
  return ascending.reduce((most, at, i) => (i === 0 ? 0 : Math.max(most, at - ascending[i - 1]!)), 0)
}

/** How far the clocks of a zone are ahead of UTC, ms. */
function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  return at => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value
    const [, sign, hours = '0', minutes = '0'] = /([+-])(\d+):(\d+)/.exec(name ?? '') ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS)
  }
}

const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const

/** Moments of five fields, in UTC. */
export function cron() {
  const allowed =
    'five fields: minute, hour, day of month, month, day of week, as in */5 * * * * (numbers, * , - /), of days that there are'
  const known = new Map<string, Cron>()
  return leaf({ allowed, json: { type: 'string' } }, written => {
    const alike = known.get(written)
    if (alike) return alike
    const fields = written.trim().split(/\s+/)
    const isFit = fields.length === ranges.length && fields.every((field, i) => isField(field, ranges[i]!))
    if (!isFit || !validate(written)) return unfit
    const moments = new Cron(fields.join(' '))
    if (moments.longestPause === Number.POSITIVE_INFINITY) return unfit
    known.set(written, moments)
    return moments
  })
}

function isField(field: string, [least, most]: readonly [number, number]): boolean {
  return field.split(',').every(part => {
    const match = /^(?:(?:\*|(\d{1,2})-(\d{1,2}))(?:\/([1-9]\d?))?|\d{1,2})$/.exec(part)
    const [, from = least, to = most] = match ?? []
    const numbers = part.match(/\d+/g) ?? []
    return match && numbers.every(n => +n >= least && +n <= most) && Number(from) <= Number(to)
  })
}
