import pg from 'pg'
import { demoApp } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import type { Fence, PageCommit } from '../src/engine/ports.ts'
import { decodeJson } from '../src/http/json.ts'
import { connect } from '../src/postgres/connect.ts'
import { createStore } from '../src/postgres/store.ts'
import { streams } from '../src/streams/index.ts'
import type { PageResult, ReadingSettings } from '../src/streams/page.ts'
import type { CursorStream } from '../src/streams/stream.ts'
import type { Json } from '../src/tables/json.ts'
import { defaultConnection } from '../test/support/connection.ts'
import { ofRooms, openBacklog } from './answers.ts'
import { copyAgain } from './copy.ts'
import { onDatabase } from './database.ts'
import { type DrainOptions, spread } from './drain.ts'
import { treeCpuSeconds } from './process.ts'

/** All pages of one room: of each stream in the order in which they are read, its log first. */
type RoomPages = readonly (readonly Omit<PageCommit, 'version'>[])[]

/** Seconds, those of CPU too. */
interface Played {
  readonly rows: number
  readonly seconds: number
  readonly copy: number
  readonly cpu: number
  readonly serverCpu: number
  readonly copyCpu: number
}

const me: Fence = { shard: 0, owner: 'bench', epoch: 1 }
const reading: ReadingSettings = { submitter: 'operator', sequenceScope: 'room' }
/** Rooms of which a page waits for its commit at one time, as many as the daemon has. */
const inFlight = 64

/**
 * What of a drain the commit is: all pages of a backlog are read and made rows beforehand, then committed as the daemon does,
 * with its writers, and at last the same rows are copied. Nothing is asked for and nothing parsed meanwhile.
 */
export async function commits({ events, rooms, rounds, say }: DrainOptions) {
  return onDatabase(async ({ server, fresh }) => {
    say(`making rows of ${events} events in ${rooms} rooms`)
    const pages = await capture(rooms, Math.ceil(events / rooms))
    const all: Played[] = []
    for (let round = 1; round <= rounds; round++) {
      all.push(await play(await fresh(`round_${round}`), pages, () => treeCpuSeconds(server.pid)))
      say(`round ${round}: ${all.at(-1)!.seconds.toFixed(1)} s, COPY ${all.at(-1)!.copy.toFixed(2)} s`)
    }
    const of = (figure: (round: Played) => number) => spread(all.map(figure))
    return {
      ...{ events, rooms, rounds, rows: all[0]!.rows, pages: pages.flat(2).length },
      commit_seconds: of(each => each.seconds),
      copy_seconds: of(each => each.copy),
      ratio: of(each => each.copy / each.seconds),
      server_cpu_ratio: of(each => each.serverCpu / each.copyCpu),
      daemon_cpu_ratio: of(each => each.cpu / each.copyCpu),
    }
  })
}

async function play(
  url: string,
  rooms: readonly RoomPages[],
  serverCpu: () => Promise<number>,
): Promise<Played> {
  const pool = connect({ ...defaultConnection, url, poolSize: 8 })
  const admin = new pg.Pool({ connectionString: url, max: 1 })
  try {
    await admin.query(`insert into ingest.ownership values (0, 'bench', 1)`)
    const store = createStore(pool, {
      ...{
        streams: Object.values(streams),
        roomMemory: 3_600_000,
        region: () => 'ap',
        sequenceScope: 'room',
        clock: systemClock,
      },
    })
    const commitRoom = async (room: RoomPages) => {
      for (const pages of room) {
        for (const [version, page] of pages.entries()) {
          const { outcome } = await store.commit({ ...page, version })
          if (outcome !== 'committed') throw new Error(`a page of ${page.stream} is ${outcome}`)
        }
      }
    }
    const names = rooms.map(room => room[0]![0]!.series)
    await store.discoverRooms(me, demoApp.id, names)
    const before = { cpu: process.cpuUsage(), server: await serverCpu() }
    const began = systemClock.monotonic()
    const waiting = rooms.values()
    const workers = Array.from({ length: inFlight }, async () => {
      for (const room of waiting) await commitRoom(room)
    })
    await Promise.all(workers)
    const seconds = (systemClock.monotonic() - began) / 1_000
    const { user, system } = process.cpuUsage(before.cpu)
    const serverTook = (await serverCpu()) - before.server
    const { rows, seconds: copy, cpu: copyCpu } = await copyAgain(admin, serverCpu)
    return { seconds, copy, rows, cpu: (user + system) / 1_000_000, serverCpu: serverTook, copyCpu }
  } finally {
    await pool.end()
    await admin.end()
  }
}

/** Every page of every room, made rows. */
async function capture(rooms: number, eventsPerRoom: number): Promise<readonly RoomPages[]> {
  const { targetOf, answer } = openBacklog(rooms, eventsPerRoom)
  const ask = async (stream: CursorStream, more: object) => decodeJson(await answer(targetOf(stream, more)))
  const { data } = (await ask(streams['app-events'], {})) as {
    readonly data: readonly { readonly roomUuid: string }[]
  }
  const order = ofRooms.toSorted((a, b) => Number(b.isParent ?? false) - Number(a.isParent ?? false))
  const all: RoomPages[] = []
  for (const room of new Set(data.map(({ roomUuid }) => roomUuid))) {
    const pages = []
    for (const stream of order)
      pages.push(await pagesOf(stream, room, asked => ask(stream, { roomUuid: room, ...asked })))
    all.push(pages)
  }
  return all
}

async function pagesOf(
  stream: (typeof ofRooms)[number],
  room: string,
  ask: (asked: object) => Promise<unknown>,
) {
  const pages: Omit<PageCommit, 'version'>[] = []
  let [cursor, streamState]: [string | null, Json] = [null, { incarnation: 1 }]
  for (;;) {
    const { items, nextId, total } = stream.read(await ask(stream.request(cursor)))
    const now = systemClock.now()
    const page = { series: room, cursor, purpose: 'read', items, nextId, total, settings: reading } as const
    const made: PageResult = stream.toRows({ ...page, answeredAt: now, receivedAt: now }, streamState)
    pages.push({
      ...{
        app: demoApp.id,
        region: 'ap',
        stream: stream.name,
        series: room,
        fence: me,
        source: stream.source,
      },
      ...{ room: made.room, rows: made.rows, rejects: made.rejects, streamState: made.streamState },
      ...{
        cursor: nextId ?? cursor,
        caughtUp: nextId === undefined,
        ...(made.holes && { holes: made.holes }),
      },
    })
    streamState = made.streamState
    if (nextId === undefined) return pages
    cursor = nextId
  }
}
