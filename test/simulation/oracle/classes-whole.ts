import type { TrueRoom } from './classroom-truth.ts'
import { isRoomStream, keysOf, missingOf, roomStreams } from './complete.ts'
import { operationOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { deniedRecordings } from './logs-read.ts'
import { isToldTooLate } from './margins.ts'
import type { StoredSchema } from './rows.ts'
import { wasOff } from './switched-off.ts'

interface Told {
  readonly app: string
  readonly room: string
  readonly incarnation: number
  readonly complete: boolean
  readonly lacking: string
  readonly reasons: string
  readonly gaps: number
  /** As its room has it: the view says nothing where that is the start. */
  readonly endedAt: number | null
  readonly isEmptied: boolean
}

/** From the end of a class until a process that stood still has written down what it heard before, ms. */
const toBeStored = 60_000

/**
 * Of each class that is said to be complete all is there that happened up to its end, and each of its streams was served after
 * that, also where the room was used again since; and in the end whatever is whole is said to be.
 */
export async function examineClassesWhole(
  examination: Examination,
  rooms: readonly TrueRoom[],
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const { isEnd, healed, sandbox, streams } = examination
  const told = await examination.rows<Told>(
    `select c.app_id as app, c.room_uuid as room, c.incarnation, c.complete, c.lacking, c.reasons, c.gaps,
            round(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt", r.emptied_at is not null as "isEmptied"
     from classroom.class_complete c join classroom.room r using (app_id, room_uuid, incarnation)`,
  )
  const byPlace = Map.groupBy(told, row => `${row.app} ${row.room} ${row.incarnation}`)
  const kept = keysOf(stored)
  const numbered = sandbox.settings.switches.widgetItemSequence === 'present'
  const served = servedTimes(sandbox)
  const isDenied = deniedRecordings(examination)
  const findings: Finding[] = []
  const add = (text: string) => void findings.push({ kind: 'complete', text: `class ${text}` })
  const later = new Map(rooms.map(room => [`${room.app} ${room.roomUuid}`, room]))
  for (const room of rooms) {
    if (room.stored === undefined) continue
    const place = `${room.app} ${room.roomUuid} ${room.stored}`
    const [row, ...others] = byPlace.get(place) ?? []
    if (!row || others.length > 0) {
      add(`${place}: ${others.length + Number(row !== undefined)} rows say whether it is`)
      continue
    }
    const own = roomStreams.filter(
      stream =>
        (streams?.includes(stream) ?? true) &&
        !(stream === 'recordings' && isDenied(room)) &&
        !wasOff(examination, { app: room.app, stream }, room.openedAt, room.destroyedAt ?? examination.end),
    )
    const said = row.lacking === '' ? [] : row.lacking.split(', ')
    if (said.some(stream => !isRoomStream(stream))) add(`${place}: lacks ${row.lacking}`)
    if (row.complete !== (row.reasons === '') || (row.complete && row.lacking !== ''))
      add(`${place}: complete ${row.complete}, lacking "${row.lacking}", for "${row.reasons}"`)
    if (row.isEmptied) continue
    const held = { place, kept, numbered, isExcused: () => false }
    if (row.complete && row.endedAt === null) add(`${place}: said to be whole, and nobody knows its end`)
    for (const stream of row.complete ? own : []) {
      const until = row.endedAt ?? 0
      const missing = missingOf(room, stream, { ...held, until, isToCome: isToldTooLate })
      if (missing) add(`${place}: said to be whole, and lacks ${missing} of ${stream}`)
      const times = served.get(`${room.app} ${operationOf[stream]} ${room.roomUuid}`) ?? []
      const next = nextOf(room, rooms)
      const isRead = times.some(time => time >= until && time <= (next?.openedAt ?? Infinity))
      if (!isRead) add(`${place}: said to be whole, and nobody was told ${stream} since its end at ${until}`)
    }
    const isLatest = later.get(`${room.app} ${room.roomUuid}`) === room
    const isOver = room.isServed && room.state === 3 && (room.events.at(-1)?.at ?? 0) < healed - toBeStored
    if (!isEnd || !isLatest || !isOver || row.complete || streams) continue
    const lacking = own.filter(stream => missingOf(room, stream, { ...held, until: healed }))
    // What is in the ledger is judged there.
    if (lacking.length === 0 && row.gaps === 0) add(`${place}: whole, and not said to be: ${row.reasons}`)
  }
  return findings
}

/** The next one that was opened under the name. */
function nextOf(room: TrueRoom, rooms: readonly TrueRoom[]): TrueRoom | undefined {
  return rooms.find(
    ({ app, roomUuid, openedAt }) =>
      app === room.app && roomUuid === room.roomUuid && openedAt > room.openedAt,
  )
}

/** When the provider told something of a room, by app, operation and room. */
function servedTimes({ arrivals }: Examination['sandbox']): ReadonlyMap<string, readonly number[]> {
  const times = new Map<string, number[]>()
  for (const { app, operation, target, time, status, fault } of arrivals.list(0, arrivals.count)) {
    const room = /\/rooms\/([^/]+)\//.exec(target)?.[1]
    if (room === undefined || status !== 200 || (fault && fault !== 'latency' && fault !== 'empty')) continue
    const key = `${app} ${operation} ${decodeURIComponent(room)}`
    const known = times.get(key) ?? []
    times.set(key, known)
    known.push(time)
  }
  return times
}
