import { z } from 'zod'
import { identifier } from '../provider/classroom/index.ts'
import {
  ListAnswer,
  largestPage,
  listPlayers as operation,
  PlayerItem,
  playerGroupOf,
} from '../provider/players/index.ts'
import { duration } from '../settings/values.ts'
import type { Timestamp } from '../tables/json.ts'
import {
  type CloudPlayerChangeRow,
  type CloudPlayerRow,
  cloudPlayer,
  cloudPlayerChange,
} from '../tables/players.ts'
import { blank } from '../tables/table.ts'
import type { Hint, Page } from './page.ts'
import { appCadence } from './parts/cadence.ts'
import { asText, isSaid, judgeEach, type Read, redactPlayer } from './parts/items.ts'
import { type Change, destroyed, KnownPlayers, miss, readOn, type Seen, see } from './parts/known-players.ts'
import { type ToRowsWith, withState } from './parts/stream-state.ts'
import {
  arrivalTime,
  fieldsBeside,
  latestBelieved,
  notAfter,
  secondsTimestamp,
  timestamp,
} from './parts/values.ts'
import type { SnapshotStream } from './stream.ts'

/**
 * The cloud players of an app: the whole list, again and again. An entry may be as thin as its ID, so what it leaves
 * out stays as it was known. What two complete listings in a row lack is gone; one says nothing of what is so new that
 * it may not show it yet. What comes back lives.
 */
export const cloudPlayers: SnapshotStream = {
  kind: 'snapshot',
  name: 'cloud-players',
  title: 'Cloud players, what they play where, and how their status changed',
  operation,
  writes: [cloudPlayer, cloudPlayerChange],
  read,
  source: 'list',
  scope: 'app',
  ...appCadence(
    duration('5s', '1h')
      .prefault('15s')
      .describe('How often the whole list is read. The provider allows 15 pages of 500 a minute.'),
  ),
  request: cursor => ({ pageSize: largestPage, ...(cursor !== null && { pageToken: cursor }) }),
  toRows: withState(KnownPlayers, toRows),
  configured: ({ playerLimits, playersPath }) => {
    const { path, ...operation } = cloudPlayers.operation
    const { group } = playerGroupOf(cloudPlayers.operation, {}, playerLimits)
    return { ...cloudPlayers, operation: { ...operation, path: playersPath ?? path, limitGroup: group } }
  },
}

/** An ID that is longer than any key of the database is none. */
const longestId = 255

const Item = PlayerItem.extend({ id: z.string().min(1).max(longestId) })
type Item = Read<z.infer<typeof Item>>

const columns = new Set([
  ...['id', 'name', 'uid', 'account', 'channelName', 'streamUrl', 'status', 'createTs'],
])

function read(answer: unknown): Pick<Page, 'items' | 'nextId' | 'total'> {
  const { players, nextPageToken, totalSize } = ListAnswer.parse(answer)
  return { items: players ?? [], nextId: nextPageToken || undefined, total: totalSize ?? undefined }
}

function toRows(page: Page, knownPlayers: KnownPlayers): ToRowsWith<KnownPlayers> {
  const items = page.items.map(redactPlayer)
  const { good, rejects } = judgeEach(Item, items)
  const listed = oneEach(good)
  const ids = listed.map(({ value }) => value.id)
  const moment = {
    now: Math.floor((page.answeredAt ?? page.receivedAt) / 1_000),
    receivedAt: Math.trunc(page.receivedAt),
  }
  const sightings = listed.map(item => sighting(item, page))
  const seen = see(knownPlayers.players, sightings, moment)
  const progress = readOn(knownPlayers.listing, page, ids)
  const { players, losses } = miss(seen.players, progress, moment)
  return {
    rows: {
      'players.cloud_player': [
        ...listed.map(item => playerRow(item, page)),
        ...losses.map(({ id, at }) => ({ ...unsaid(id), status: destroyed, destroyed_at: timestamp(at) })),
      ],
      'players.cloud_player_change': [...[...seen.changes, ...losses].map(changeRow)],
    },
    streamState: { players, listing: progress.listing },
    room: { kind: 'current' },
    follow: 'next',
    rejects,
    hints: hintsOf(listed, seen, page),
    unfinished: false,
  }
}

/** An entry may come again where others slipped from page to page; what either leaves out the other may say. */
function oneEach(entries: readonly Item[]): readonly Item[] {
  const byId = new Map<string, Item>()
  for (const { value, raw, ordinal } of entries) {
    const before = byId.get(value.id)
    byId.set(value.id, {
      value: { ...before?.value, ...said(value) },
      raw: { ...before?.raw, ...said(raw) },
      ordinal,
    })
  }
  return [...byId.values()]
}

/** Null and an empty text say nothing. */
function said<T extends object>(entry: T): T {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => isSaid(value) && value !== '')) as T
}

function sighting({ value }: Item, page: Page) {
  const since = createdAt(value, page) === null ? undefined : (value.createTs ?? undefined)
  return { id: value.id, status: value.status ?? undefined, since }
}

function createdAt({ createTs }: Item['value'], page: Page): Timestamp | null {
  return notAfter(latestBelieved(page), secondsTimestamp(createTs))
}

function playerRow(item: Item, page: Page): CloudPlayerRow {
  const { value } = item
  const createTs = createdAt(value, page)
  return {
    player_id: value.id,
    name: value.name ?? null,
    uid: asText(value.uid),
    account: value.account ?? null,
    channel_name: value.channelName ?? null,
    stream_url: value.streamUrl ?? null,
    status: value.status ?? null,
    created_at: createTs,
    last_seen_at: arrivalTime(page),
    destroyed_at: null,
    extra: fieldsBeside(columns, item, { createTs }),
  }
}

/** All else stays as it was last listed. */
function unsaid(player_id: string): CloudPlayerRow {
  return { ...blank(cloudPlayer), player_id }
}

function changeRow({ id, from, to, at }: Change): CloudPlayerChangeRow {
  return { player_id: id, changed_at: timestamp(at)!, from_status: from, to_status: to, source: 'list' }
}

/** The channel of a class has the roomUuid for its name. */
function hintsOf(listed: readonly Item[], { fresh }: Seen, page: Page): readonly Hint[] {
  const rooms = listed
    .filter(({ value }) => fresh.has(value.id))
    .map(({ value }) => identifier.safeParse(value.channelName).data)
  return [...new Set(rooms)].flatMap(room =>
    room === undefined
      ? []
      : [{ room, change: 'news', at: Math.trunc(page.receivedAt), streams: ['room-events'] } as const],
  )
}
