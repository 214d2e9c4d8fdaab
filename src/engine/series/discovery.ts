import { quietSince } from '../../planning/cadence.ts'
import type { StreamName } from '../../streams/stream.ts'
import type { OpenSeries } from '../ports/store.ts'
import { type PollerContext, parentStream, type Rooms, seriesOf } from './rooms.ts'

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
  schedule: (stream: StreamName, series: string, within: number) => void,
): Promise<void> {
  if (app.rooms.length > 0) await store.discoverRooms(fence(), app.id, app.rooms)
  const open = await store.openSeries(app.id, parentStream)
  const latestFirst = open.toSorted((a, b) => (b.lastEventAt ?? Infinity) - (a.lastEventAt ?? Infinity))
  if (open.length > rooms.places) rooms.crowd(true)
  const step = Math.max(QUICK_STEP_MS, (rooms.streams().length * slowestPace()) / SHARE_OF_PACE)
  const { activeEvery } = rooms.settings(parentStream)
  for (const [place, each] of latestFirst.slice(0, rooms.places).entries()) {
    const { series } = each
    takeUp(rooms, each, activeEvery, clock.now())
    schedule(
      parentStream,
      series,
      Math.min(place, AT_ONCE) * QUICK_STEP_MS + Math.max(0, place - AT_ONCE) * step,
    )
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

/** Remembers a room as the store has it. */
function takeUp(
  rooms: Rooms,
  { series, life, lastEventAt, region }: OpenSeries,
  activeEvery: number,
  now: number,
): void {
  const known = rooms.find(series) ?? rooms.add(series, 'store', life)
  known.whereabouts.named(region ?? '')
  seriesOf(known, parentStream).quiet = lastEventAt === null ? 0 : quietSince(activeEvery, now - lastEventAt)
}

/** How often rooms that wait in the store are looked for, ms. */
const RELIEF_EVERY_MS = 10_000

/**
 * Lets rooms that are followed and not remembered have their turn, by name, so that each comes round whatever becomes of
 * the others. To be called often; it does something now and then, while there are such rooms.
 */
export function createRelief(
  { app, clock, store }: PollerContext,
  rooms: Rooms,
  schedule: (room: string) => void,
) {
  let relievedAt = Number.NEGATIVE_INFINITY
  let last = ''
  return async (): Promise<void> => {
    if (!rooms.isCrowded || clock.monotonic() - relievedAt < RELIEF_EVERY_MS) return
    relievedAt = clock.monotonic()
    const open = await store.openSeries(app.id, parentStream)
    const waiting = open.filter(({ series }) => !rooms.find(series))
    rooms.crowd(waiting.length > 0)
    const byName = waiting.sort((a, b) => (a.series < b.series ? -1 : 1))
    const next = byName.findIndex(({ series }) => series > last)
    const inTurn = next < 0 ? byName : [...byName.slice(next), ...byName.slice(0, next)]
    const { activeEvery } = rooms.settings(parentStream)
    for (const each of inTurn.slice(0, rooms.places)) {
      takeUp(rooms, each, activeEvery, clock.now())
      schedule(each.series)
      last = each.series
    }
  }
}
