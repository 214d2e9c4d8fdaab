/** Counts arrivals as the contract words its limits, over sliding windows; an arrival too many is a violation. */

export interface Bound {
  readonly seconds: number
  readonly most: number
}

export interface Reach {
  readonly reach: number
  readonly span: number
  readonly delay: number
}

const second = 1
const minute = 60
const hour = 3600
const day = 86_400

/** The plan Enterprise, and the limits of cloud players. Where the scope is open, the smallest. */
export const bounds = {
  search: [
    { seconds: second, most: 10 },
    { seconds: day, most: 10_000 },
  ],
  details: [
    { seconds: second, most: 10 },
    { seconds: day, most: 10_000 },
  ],
  usage: [
    { seconds: minute, most: 10 },
    { seconds: day, most: 60 },
  ],
  quality: [
    { seconds: minute, most: 10 },
    { seconds: day, most: 60 },
  ],
  realtime: [
    { seconds: minute, most: 10 },
    { seconds: day, most: 1_440 },
  ],
  players: [
    { seconds: second, most: 2 },
    { seconds: minute, most: 15 },
  ],
} as const satisfies Readonly<Record<string, readonly Bound[]>>

export type Group = keyof typeof bounds

const reaches: Readonly<Partial<Record<Group, Reach>>> = {
  search: { reach: 15 * day, span: day, delay: 60 },
  details: { reach: 15 * day, span: 6 * hour, delay: 300 },
  usage: { reach: 30 * day, span: 7 * day, delay: 6 * hour },
  quality: { reach: 30 * day, span: 7 * day, delay: 6 * hour },
  realtime: { reach: hour, span: hour, delay: 20 },
}

export interface Meters {
  readonly violations: readonly string[]
  /** Undefined where all is well, else the message of the contract. */
  arrive(group: Group, key: string, at: number): string | undefined
  range(group: Group, from: number, to: number, at: number): string | undefined
}

export function makeMeters(): Meters {
  const arrivals = new Map<string, number[]>()
  const violations: string[] = []
  const refuse = (message: string, what: string) => {
    violations.push(`${message}: ${what}`)
    return message
  }
  return {
    violations,
    arrive(group, key, at) {
      const name = `${group} of ${key}`
      const times = arrivals.get(name) ?? []
      times.push(at)
      arrivals.set(name, times)
      for (const { seconds, most } of bounds[group]) {
        const within = times.filter(time => time > at - seconds * 1000).length
        if (within > most)
          return refuse(
            seconds === day ? 'qpd limit error' : 'qps limit error',
            `${name}, ${within} in ${seconds} s`,
          )
      }
      return undefined
    },
    range(group, from, to, at) {
      const rule = reaches[group]
      if (!rule) return undefined
      const now = at / 1000
      const what = `${group} from ${from} to ${to} at ${now}`
      if (!(to < now - rule.delay)) return refuse('query latency limit error', what)
      if (!(from > now - rule.reach)) return refuse('query time range limit error', what)
      if (!(to - from < rule.span)) return refuse('query time length limit error', what)
      return undefined
    },
  }
}
