import type { Sandbox, TruePlayer } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'

/** A page of a list as it left the provider. */
export interface WirePage {
  /** When its request arrived, ms since the epoch. */
  readonly arrived: number
  /** pageToken of its request; null asks for the first page. */
  readonly cursor: string | null
  readonly entries: readonly WireEntry[]
  readonly total: number | undefined
  /** Empty where no more players follow; undefined where the answer does not say. */
  readonly next: string | undefined
}

export interface WireEntry {
  readonly id: string
  readonly status?: string
  /** Fields that it carries with a value. */
  readonly shown: readonly string[]
}

/**
 * What a list may do within the document besides what the sandbox plays: each is drawn for a reading, that is the
 * pages from a first one on.
 */
export interface Quirks {
  /** Share of the readings in which a player younger than the blind time is missing, of each that could be listed. */
  readonly flicker: number
  /** Share of the readings that leave one player out and do not count it; never the same one twice. */
  readonly omit: number
  /** Share of the readings with which three begin whose last page has lost half of its entries. */
  readonly cut: number
}

export const noQuirks: Quirks = { flicker: 0, omit: 0, cut: 0 }

const blindMs = 10_000
const readingsCut = 3

interface Reading {
  readonly hidden: ReadonlySet<string>
  readonly isCut: boolean
}

/** Stands between the daemons and the sandbox, and sees every page of a list that is answered. */
export interface PlayersWire {
  /** The sandbox as one process sees it; `onPage` hears of each page that it is sent. */
  readonly viewFor: (onPage: (app: string, page: WirePage) => void) => Sandbox
  /** From now on lists are as the sandbox makes them. */
  readonly calm: () => void
  /** How often each quirk struck. */
  readonly struck: Readonly<Record<keyof Quirks, number>>
}

export function createPlayersWire(
  sandbox: Sandbox,
  parts: { readonly quirks: Quirks; readonly random: Random; readonly now: () => number },
): PlayersWire {
  const { random, now } = parts
  let quirks = parts.quirks
  const struck = { flicker: 0, omit: 0, cut: 0 }
  const omitted = new Set<string>()
  const readings = new Map<string, Reading>()
  const cutsLeft = new Map<string, number>()

  function begin(app: string): Reading {
    const living = sandbox.players(app).filter(({ destroyedAt }) => destroyedAt === undefined)
    const hidden = new Set(living.filter(flickers).map(({ id }) => id))
    struck.flicker += hidden.size
    const left = living.filter(({ id, createdAt }) => now() - createdAt > 60_000 && !omitted.has(id))
    if (left.length > 0 && random.next() < quirks.omit) {
      const { id } = left[Math.floor(random.next() * left.length)]!
      omitted.add(id)
      hidden.add(id)
      struck.omit += 1
    }
    const cuts = cutsLeft.get(app) ?? 0
    const isCut = cuts > 0 || random.next() < quirks.cut
    cutsLeft.set(app, isCut ? (cuts > 0 ? cuts : readingsCut) - 1 : 0)
    if (isCut) struck.cut += 1
    const reading = { hidden, isCut }
    readings.set(app, reading)
    return reading
  }

  function flickers({ createdAt }: TruePlayer): boolean {
    return quirks.flicker > 0 && now() - createdAt < blindMs && random.next() < quirks.flicker
  }

  function alter(app: string, cursor: string | null, body: ListBody): ListBody {
    const { players, totalSize, nextPageToken } = body
    if (!players || totalSize === undefined) return body
    const { hidden, isCut } = cursor === null ? begin(app) : (readings.get(app) ?? begin(app))
    if (hidden.size === 0 && !isCut) return body
    const living = new Set(
      sandbox
        .players(app)
        .filter(({ destroyedAt }) => destroyedAt === undefined)
        .map(({ id }) => id),
    )
    const shown = players.filter(({ id }) => !hidden.has(id))
    const kept = isCut && nextPageToken === '' ? shown.slice(0, Math.floor(shown.length / 2)) : shown
    const uncounted = [...hidden].filter(id => living.has(id)).length
    return { ...body, players: kept, totalSize: totalSize - uncounted }
  }

  async function relay(
    request: Request,
    hangUp: (() => void) | undefined,
    onPage: (app: string, page: WirePage) => void,
  ): Promise<Response> {
    const url = new URL(request.url)
    const app = /^\/v1\/projects\/([^/]+)\/cloud-player\/players$/.exec(url.pathname)?.[1]
    const arrived = now()
    const response = await sandbox.fetch(request, hangUp)
    if (app === undefined || request.method !== 'GET' || response.status !== 200) return response
    const text = await response.text()
    const body = parse(text)
    if (!body) return new Response(text, response)
    const cursor = url.searchParams.get('pageToken')
    const altered = alter(app, cursor, body)
    const { players = [], totalSize: total, nextPageToken: next } = altered
    onPage(app, { arrived, cursor, entries: players.map(entry), total, next })
    return new Response(JSON.stringify(altered), response)
  }

  return {
    viewFor: onPage => ({ ...sandbox, fetch: (request, hangUp) => relay(request, hangUp, onPage) }),
    calm: () => {
      quirks = noQuirks
      cutsLeft.clear()
    },
    struck,
  }
}

interface ListBody {
  readonly players?: readonly (Readonly<Record<string, unknown>> & { readonly id: string })[]
  readonly totalSize?: number
  readonly nextPageToken?: string
}

/** Undefined where it is no JSON. */
function parse(text: string): ListBody | undefined {
  try {
    return JSON.parse(text) as ListBody
  } catch {
    return undefined
  }
}

function entry(player: Readonly<Record<string, unknown>> & { readonly id: string }): WireEntry {
  const shown = Object.keys(player).filter(name => player[name] !== null && player[name] !== undefined)
  const { id, status } = player
  return { id, shown, ...(typeof status === 'string' && { status }) }
}
