import type { Clock } from '../clock/clock.ts'

/** What the streams still owe, over all apps. */
export interface BacklogGauge {
  /** `seconds` of data are not read yet or not final; the oldest expires in `expiresIn` ms, null when none is owed. */
  readonly note: (
    stream: string,
    app: string,
    state: { readonly seconds: number; readonly expiresIn: number | null },
  ) => void
  /** What every stream owes that said so; `expiresIn` in ms from now, undefined when nothing is owed. */
  readonly all: () => readonly Backlog[]
  readonly clear: () => void
}

export interface Backlog {
  readonly stream: string
  readonly seconds: number
  readonly expiresIn: number | undefined
}

interface Entry {
  readonly seconds: number
  /** On the monotonic clock, ms. */
  readonly expiresAt: number
}

export function createBacklogGauge(clock: Clock): BacklogGauge {
  const streams = new Map<string, Map<string, Entry>>()
  return {
    note: (stream, app, { seconds, expiresIn }) => {
      const apps = streams.get(stream) ?? new Map<string, Entry>()
      streams.set(stream, apps)
      const expiresAt = expiresIn === null ? Number.POSITIVE_INFINITY : clock.monotonic() + expiresIn
      apps.set(app, { seconds, expiresAt })
    },
    all: () => [...streams].map(([stream, apps]) => sum(stream, [...apps.values()], clock.monotonic())),
    clear: () => streams.clear(),
  }
}

function sum(stream: string, entries: readonly Entry[], now: number): Backlog {
  const soonest = Math.min(...entries.map(({ expiresAt }) => expiresAt))
  const seconds = entries.reduce((all, entry) => all + entry.seconds, 0)
  return { stream, seconds, expiresIn: Number.isFinite(soonest) ? soonest - now : undefined }
}
