interface Lateness {
  readonly series: number
  readonly lateBy: number
}

/** How late one stream is over all its apps. */
export interface Lag {
  readonly due: number
  /** ms */
  readonly lateBy: number
}

export interface LagGauge {
  readonly note: (stream: string, app: string, lateness: Lateness) => void
  readonly of: (stream: string) => Lag
  /** Forgets everything: the apps are someone else's now. */
  readonly clear: () => void
}

/** Remembers the last word of every app, because the latest of them all is what matters. */
export function createLagGauge(): LagGauge {
  const streams = new Map<string, Map<string, Lateness>>()
  return {
    note(stream, app, lateness) {
      const apps = streams.get(stream) ?? new Map<string, Lateness>()
      streams.set(stream, apps)
      if (lateness.series === 0) apps.delete(app)
      else apps.set(app, lateness)
    },
    of(stream) {
      const apps = [...(streams.get(stream)?.values() ?? [])]
      return {
        due: apps.reduce((sum, { series }) => sum + series, 0),
        lateBy: apps.reduce((latest, { lateBy }) => Math.max(latest, lateBy), 0),
      }
    },
    clear: () => streams.clear(),
  }
}
