import type { Sandbox, TruthLine } from '../../../sandbox/src/index.ts'
import { isSame, storableOnce } from './canonical.ts'
import type { StoredSchema } from './rows.ts'
import { withoutPeople } from './unkept.ts'

type Line<Kind extends TruthLine['kind']> = Extract<TruthLine, { readonly kind: Kind }>
export type TrueEvent = Line<'event'>
export type TrueItem = Line<'widget'>

/** One life of a roomUuid, with all that ever was in it. */
export interface TrueRoom extends Omit<Line<'room'>, 'kind' | 'events'> {
  /** The only region that knows it. */
  readonly region: string | undefined
  readonly events: readonly TrueEvent[]
  readonly items: readonly TrueItem[]
  readonly recordings: readonly Line<'recording'>['item'][]
  readonly resources: readonly Line<'resource'>['item'][]
  /** What became of resources and no event told. */
  readonly steps: readonly Line<'step'>['item'][]
  /** IDs of the calls that were made in it. */
  readonly calls: readonly string[]
  /** The provider still answers about it. */
  readonly isServed: boolean
  /** The number under which it is stored; undefined where nothing of it is. */
  readonly stored: number | undefined
}

/** Every room that ever was, in the order of opening; `isDiscreet`: without what is not kept of people. */
export function readRooms(sandbox: Sandbox, stored: StoredSchema, isDiscreet = false): readonly TrueRoom[] {
  const rooms: (Omit<TrueRoom, 'stored'> & {
    readonly events: TrueEvent[]
    readonly items: TrueItem[]
    readonly recordings: Line<'recording'>['item'][]
    readonly resources: Line<'resource'>['item'][]
    readonly steps: Line<'step'>['item'][]
    readonly calls: string[]
  })[] = []
  for (const line of sandbox.truth()) {
    const room = rooms.at(-1)
    if (line.kind === 'room') {
      const { kind: _, events: __, ...own } = line
      const isServed = line.destroyedAt === undefined && !line.muted
      const region = regionOf(sandbox, line)
      rooms.push({
        ...own,
        region,
        isServed,
        events: [],
        items: [],
        recordings: [],
        resources: [],
        steps: [],
        calls: [],
      })
    } else if (line.kind === 'event') room!.events.push(isDiscreet ? withoutPeople(line) : line)
    else if (line.kind === 'widget')
      room!.items.push(isDiscreet ? { ...line, item: withoutPeople(line.item) } : line)
    else if (line.kind === 'recording') room!.recordings.push(line.item)
    else if (line.kind === 'resource') room!.resources.push(line.item)
    else if (line.kind === 'step') room!.steps.push(line.item)
    else if (line.incarnation > 0) room!.calls.push(line.call.callId)
  }
  const numbers = storedNumbers(rooms, stored)
  return rooms.map(room => ({ ...room, stored: numbers.get(nameOf(room)) }))
}

function nameOf({ app, roomUuid, incarnation }: Omit<Line<'room'>, 'kind' | 'events' | 'muted' | 'state'>) {
  return `${app} ${roomUuid} ${incarnation}`
}

function regionOf(sandbox: Sandbox, { app, roomUuid, incarnation }: Line<'room'>): string | undefined {
  const room = sandbox.universe
    .app(app)
    ?.rooms.find(one => one.uuid === roomUuid && one.incarnation === incarnation)
  return room?.region
}

/**
 * Which stored incarnation stands for which true one. A room that lived unseen has no number in the store, so
 * the two countings may differ; contents decide: a stored incarnation is the one it shares most events with.
 */
function storedNumbers(
  rooms: readonly Omit<TrueRoom, 'stored'>[],
  stored: StoredSchema,
): ReadonlyMap<string, number> {
  const rows = Map.groupBy(stored.get('room_event')!.rows, row => `${row.app_id} ${row.room_uuid}`)
  const numbers = new Map<string, number>()
  for (const [name, lives] of Map.groupBy(rooms, ({ app, roomUuid }) => `${app} ${roomUuid}`)) {
    const told = new Map<string, { readonly life: string; readonly data: unknown }[]>()
    for (const life of lives) {
      for (const { sequence, cmd, data } of life.events) {
        const key = `${sequence} ${cmd}`
        const others = told.get(key) ?? []
        told.set(key, others)
        others.push({ life: nameOf(life), data: storableOnce(data) })
      }
    }
    const isAlone = lives.length === 1
    const votes = new Map<number, Map<string, number>>()
    for (const { incarnation, sequence, cmd, data } of rows.get(name) ?? []) {
      const counts = votes.get(Number(incarnation)) ?? new Map<string, number>()
      votes.set(Number(incarnation), counts)
      for (const one of told.get(`${sequence} ${cmd}`) ?? [])
        if (isAlone || isSame(data, one.data)) counts.set(one.life, (counts.get(one.life) ?? 0) + 1)
    }
    for (const [number, counts] of [...votes].sort(([a], [b]) => a - b)) {
      if (counts.size === 0) continue
      const [best] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one))
      if (!numbers.has(best)) numbers.set(best, number)
    }
  }
  return numbers
}
