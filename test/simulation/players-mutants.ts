import type { Debit, Ledger, NotificationStore } from '../../src/engine/ports.ts'
import { decodeText } from '../../src/postgres/encode.ts'
import { notificationTypes } from '../../src/provider/players/index.ts'
import type { Page, PageResult } from '../../src/streams/page.ts'
import type { SnapshotStream, Stream } from '../../src/streams/stream.ts'
import type { Json } from '../../src/tables/json.ts'
import type { VirtualDatabase } from './database.ts'
import type { PlayersBug, PlayersDayOptions, PlayersDayResult } from './players-day.ts'
import { type PlayersWorld, playersWorlds } from './players-worlds.ts'

const minute = 60_000

/** A bug planted around the stream or the ports, to see whether an hour of players finds it. */
export interface PlayersMutant {
  readonly title: string
  /** What a run must be like for the bug to matter. */
  readonly run: Omit<PlayersDayOptions, 'seed' | 'cloneDatabase'>
  readonly plant: () => PlayersBug
}

type Run = PlayersMutant['run']

const lists = (world: PlayersWorld, length: number, more: Partial<Run> = {}): Run => ({
  ...world,
  length,
  ...more,
})

const { class: school, thin, crowd } = playersWorlds

export const playersMutants = {
  'absence-erases': {
    title: 'what an entry leaves out is written over what is known',
    run: lists(thin, 20 * minute),
    plant: () => ({
      alter: changeHarvest((page, streamState, toRows) => emptied(toRows(page, streamState))),
    }),
  },
  'thin-status-erases': {
    title: 'an entry without a status is taken for a change to none',
    run: lists(thin, 20 * minute),
    plant: () => ({
      alter: changeHarvest((page, streamState, toRows) =>
        toRows({ ...page, items: page.items.map(withStatus) }, streamState),
      ),
    }),
  },
  'gone-after-one': {
    title: 'a player is gone when one complete listing lacks it',
    run: lists(school, 20 * minute, { quirks: { omit: 0.05 } }),
    plant: () => ({
      alter: changeHarvest((page, streamState, toRows) => toRows(page, missedOnce(streamState, page))),
    }),
  },
  'incomplete-counted': {
    title: 'a listing counts that names fewer players than it says there are',
    run: lists(school, 20 * minute, { quirks: { cut: 0.03 } }),
    plant: () => ({
      alter: changeHarvest((page, streamState, toRows) =>
        toRows({ ...page, total: namedSoFar(page, streamState) }, streamState),
      ),
    }),
  },
  'blind-time-ignored': {
    title: 'a player is gone however lately it was created',
    run: lists(thin, 20 * minute, {
      apps: { school: { crowd: 0, every: 10_000, life: 3 * minute } },
      quirks: { flicker: 0.5 },
      every: '5s',
    }),
    plant: () => ({
      alter: changeHarvest((page, streamState, toRows) =>
        toRows({ ...page, answeredAt: (page.answeredAt ?? page.receivedAt) + minute }, streamState),
      ),
    }),
  },
  'first-page-only': {
    title: 'the first page of a list is taken for the whole of it',
    run: lists(crowd, 15 * minute),
    plant: () => ({
      alter: changeStream(stream => ({ read: answer => ({ ...stream.read(answer), nextId: undefined }) })),
    }),
  },
  'notification-is-truth': {
    title: 'what a notification tells is written at once',
    run: lists(school, 20 * minute),
    plant: () => ({ book: believing }),
  },
  'notification-kept-again': {
    title: 'a notification that comes again is kept again',
    run: lists(school, 20 * minute),
    plant: () => {
      let n = 0
      return {
        book: ({ keep }) => ({ keep: notice => keep({ ...notice, noticeId: `${notice.noticeId} ${n++}` }) }),
      }
    },
  },
  'lists-uncounted': {
    title: 'lists are asked for without a look at their limits',
    run: lists(school, 10 * minute, {
      ...{ every: '5s', delay: 100 },
      apps: { school: { crowd: 0, every: 8_000, life: minute } },
    }),
    plant: () => ({ alter: parts => ({ ...parts, ledger: uncounted(parts.ledger) }) }),
  },
  'rows-before-progress': {
    title: 'players are written, and what is remembered of them is not',
    run: lists(school, 20 * minute),
    plant: () => ({
      alter: parts => ({
        ...parts,
        store: {
          ...parts.store,
          commit: page =>
            parts.store.commit(
              page.stream === 'cloud-players' ? { ...page, streamState: forgetful(page.streamState) } : page,
            ),
        },
      }),
    }),
  },
} as const satisfies Readonly<Record<string, PlayersMutant>>

export type PlayersMutantName = keyof typeof playersMutants

/** What is not as it must be, by kind; empty when a run went well. */
export function wrongOf(result: PlayersDayResult): Readonly<Record<string, unknown>> {
  const { wrong, violations, breaches } = result
  return {
    ...(wrong.length === 0 ? {} : { wrong: wrong.slice(0, 3) }),
    ...(Object.keys(violations).length === 0 ? {} : { violations }),
    ...(breaches.length === 0 ? {} : { breaches: breaches.slice(0, 3) }),
  }
}

type Alter = NonNullable<PlayersBug['alter']>
type HarvestOf = (page: Page, streamState: Json) => PageResult

function changeStream(change: (stream: SnapshotStream) => Partial<SnapshotStream>): Alter {
  const changed = (stream: Stream): Stream =>
    stream.kind === 'snapshot' && stream.name === 'cloud-players' ? { ...stream, ...change(stream) } : stream
  return parts => ({ ...parts, streams: parts.streams.map(changed) })
}

function changeHarvest(change: (page: Page, streamState: Json, toRows: HarvestOf) => PageResult): Alter {
  return changeStream(({ toRows }) => ({ toRows: (page, streamState) => change(page, streamState, toRows) }))
}

/** Every text that is missing becomes an empty one, which is written over what is there. */
function emptied(toRows: PageResult): PageResult {
  const players = toRows.rows['players.cloud_player']?.map(row => ({
    ...row,
    channel_name: row.channel_name ?? '',
    stream_url: row.stream_url ?? '',
  }))
  return { ...toRows, rows: { ...toRows.rows, ...(players && { 'players.cloud_player': players }) } }
}

function withStatus(item: unknown): unknown {
  return typeof item === 'object' && item !== null && !('status' in item) ? { ...item, status: 'none' } : item
}

interface Remembered {
  readonly players: readonly { readonly id: string; readonly missed: object | null }[]
  readonly listing: { readonly seen: readonly string[] } | null
}

/** Whoever is missing now is said to have been missing once before. */
function missedOnce(streamState: Json, { receivedAt }: Page): Json {
  const memory = streamState as unknown as Remembered | null
  if (!memory?.players) return streamState
  const missed = { lists: 1, at: Math.trunc(receivedAt) }
  const players = memory.players.map(player => ({ ...player, missed: player.missed ?? missed }))
  return { ...memory, players } as unknown as Json
}

function namedSoFar({ items, cursor }: Page, streamState: Json): number {
  const memory = streamState as unknown as Remembered | null
  const before = cursor === null ? [] : (memory?.listing?.seen ?? [])
  return new Set([...before, ...items.map(item => (item as { readonly id: string }).id)]).size
}

function forgetful(streamState: Json): Json {
  const memory = streamState as unknown as Remembered | null
  return { ...memory, players: [] } as unknown as Json
}

/** Writes what the notification tells of its player. */
function believing({ keep }: NotificationStore, rows: VirtualDatabase['rows']): NotificationStore {
  return {
    keep: async notice => {
      const kept = await keep(notice)
      const isEnd = notice.eventType === notificationTypes.destroyed
      const { player } = (notice.payload ?? {}) as { readonly player?: { readonly status?: string } }
      const status = isEnd ? 'destroyed' : (player?.status ?? 'idle')
      const where = `app_id = '${notice.app}' and player_id = '${decodeText(notice.playerId ?? '')}'`
      await rows(
        `update players.cloud_player set status = '${status}', destroyed_at = ${isEnd ? 'ingest.clock()' : 'null'} where ${where}`,
      )
      return kept
    },
  }
}

/** Whoever asks for a list is granted it. */
function uncounted(ledger: Ledger): Ledger {
  const free = (debit: Debit): Debit => (debit.group.startsWith('players-') ? { ...debit, rates: [] } : debit)
  return { ...ledger, take: debit => ledger.take(free(debit)) }
}
