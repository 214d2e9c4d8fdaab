import type { Universe } from './universe.ts'
import type { ExtApp, Kick, Properties, RecordingRequest } from './world.ts'

/** A room as it stands, with what operations set in it and no event tells of. Times are Unix ms of the world. */
export interface RoomView {
  readonly app: string
  readonly roomUuid: string
  readonly incarnation: number
  readonly state: number
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
  readonly destroyedAt: number | undefined
  /** Who is in the room: their userUuids. */
  readonly present: readonly string[]
  /** The last kick of each user who was ever put out. */
  readonly kicks: Readonly<Record<string, Kick>>
  readonly properties: Properties
  readonly userProperties: Readonly<Record<string, Properties>>
  readonly extApps: Readonly<Record<string, ExtApp>>
  /** Reasons that came with changes of properties, in order. */
  readonly causes: readonly object[]
  /** How the last recording was asked for; undefined where no operation did. */
  readonly recording: RecordingRequest | undefined
}

export function viewRoom(universe: Universe, app: string, roomUuid: string): RoomView | undefined {
  universe.happened()
  const room = universe.app(app)?.rooms.findLast(one => one.uuid === roomUuid)
  if (!room) return undefined
  const { incarnation, state, startedAt, endedAt, destroyedAt } = room
  const { contents, present } = universe.classrooms.of(room).classroom
  const { kicks, properties, users, extApps, causes, recording } = contents.held
  return {
    ...{ app, roomUuid, incarnation, state, startedAt, endedAt, destroyedAt },
    present: [...present.keys()],
    kicks: Object.fromEntries(kicks),
    properties,
    userProperties: Object.fromEntries(users),
    extApps: Object.fromEntries(extApps),
    causes: [...causes],
    recording,
  }
}
