/** What an app had of a budget: as one of the apps, and as so many series. */
interface Had {
  readonly asApp: number
  readonly asSeries: number
}

/** Where an app stands among those that share a budget. */
export interface Stand extends Had {
  readonly app: string
  /** Some of what it wants is about to expire. */
  readonly isUrgent: boolean
}

/** Where any app stands that has ever asked for something, and whether it is still waited for. */
export interface KnownStand extends Stand {
  readonly isAwaited: boolean
}

/** What an app asked for since it said last where it stands. */
export interface Asked {
  readonly times: number
  /** Series that it asks about. */
  readonly series: number
  readonly isUrgent: boolean
}

/**
 * Where an app stands now, given where all stood that share the budget. Who has been away does not catch up: it begins where
 * the last of those stands who wait, or the first of all where nobody does.
 */
export function standOf(
  app: string,
  { times, series, isUrgent }: Asked,
  known: readonly KnownStand[],
): Stand {
  const before = known.find(each => each.app === app)
  const awaited = known.filter(each => each.isAwaited && each.app !== app)
  const least = (of: (had: Had) => number): number => {
    if (before?.isAwaited) return of(before)
    const begin = awaited.length > 0 ? Math.min(...awaited.map(of)) : Math.max(0, ...known.map(of))
    return Math.max(begin, before ? of(before) : 0)
  }
  return {
    ...{ app, isUrgent },
    asApp: least(({ asApp }) => asApp) + times,
    asSeries: least(({ asSeries }) => asSeries) + times / Math.max(1, series),
  }
}

/**
 * Whether an app may ask now, given how many requests may be sent now by anyone. Where there is one for each that waits, it
 * may: what it had more is made up for when there is less. Else it may when no other that is waited for has the better claim.
 * Of those that wait, it is the turn of the one whose series had least, so that all series are asked as often. Whoever is
 * about to lose something goes first, and of several the app that had least, so that one which asks for too much takes
 * nothing from those that do not.
 */
export function isTurnOf(own: Stand, known: readonly KnownStand[], ready: number): boolean {
  const others = known.filter(({ app, isAwaited }) => isAwaited && app !== own.app)
  return others.length + 1 <= ready || !others.some(other => isBefore(other, own))
}

function isBefore(one: Stand, other: Stand): boolean {
  if (one.isUrgent !== other.isUrgent) return one.isUrgent
  return one.isUrgent ? one.asApp < other.asApp : one.asSeries < other.asSeries
}
