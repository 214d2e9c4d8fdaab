import { quietSince } from '../planning/cadence.ts'
import type { CursorStreamName } from '../streams/stream.ts'
import type { PollerContext } from './context.ts'
import { gatekeeper, type Rooms, seriesOf } from './rooms.ts'

/** So many rooms are looked at as fast as may be when an app is started; the others more slowly. */
const AT_ONCE = 100
const QUICK_STEP_MS = 10

/** Share of what the limits allow that is spent on rooms which nothing was heard of. */
const SHARE_OF_PACE = 0.5

/**
 * Makes the rooms of the config known and plans a first look at the log of every room that is followed: those
 * that last showed life come first, and the others leave room for news.
 */
export async function discover(
  { app, clock, store, streams, fence }: PollerContext,
  rooms: Rooms,
  want: (stream: CursorStreamName, series: string, within: number) => void,
): Promise<void> {
  if (app.rooms.length > 0) await store.discoverRooms(fence(), app.id, app.rooms)
  const open = await store.openSeries(app.id, gatekeeper)
  const latestFirst = open.toSorted((a, b) => (b.lastEventAt ?? Infinity) - (a.lastEventAt ?? Infinity))
  const step = Math.max(QUICK_STEP_MS, (rooms.streams().length * slowestPace()) / SHARE_OF_PACE)
  const { activeEvery } = rooms.settings(gatekeeper)
  for (const [place, { series, life, lastEventAt }] of latestFirst.entries()) {
    const known = rooms.find(series) ?? rooms.add(series, 'store', life)
    seriesOf(known, gatekeeper).quiet =
      lastEventAt === null ? 0 : quietSince(activeEvery, clock.now() - lastEventAt)
    want(gatekeeper, series, Math.min(place, AT_ONCE) * QUICK_STEP_MS + Math.max(0, place - AT_ONCE) * step)
  }

  /** ms between two requests of the rooms, as the limits have it. */
  function slowestPace(): number {
    const groups = streams
      .filter(({ scope }) => scope === 'room')
      .map(({ operation }) => operation.limitGroup)
    const rates = groups.flatMap(group => app.limits[group]?.rates ?? [])
    return Math.max(0, ...rates.map(({ window, requests }) => (window * 1_000) / requests))
  }
}
