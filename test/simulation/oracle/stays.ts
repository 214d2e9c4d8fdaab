import { fieldsOf } from './event-rows.ts'
import type { Examination, Finding } from './examination.ts'
import type { Row, StoredSchema } from './rows.ts'

/** Somebody comes or goes, as an event says; `isOn` afterwards. */
interface Step {
  readonly user: string
  readonly at: number
  readonly sequence: bigint
  readonly ordinal: number
  readonly isOn: boolean
  /** What else the view says of whoever came. */
  readonly beside: string
  /** The provider's time of this alone. */
  readonly own?: number | undefined
}

interface View {
  readonly name: string
  readonly begin: string
  readonly end: string
  readonly lasted: string
  readonly beside: readonly string[]
  /** What one event says of somebody twice comes in the order of the two, unless this finds another. */
  readonly sort?: (steps: readonly Step[]) => readonly Step[]
  readonly steps: (tables: StoredSchema) => readonly (readonly [room: string, step: Step])[]
}

/** Whoever leaves the room is on no stage any more, and waves no hand. */
const changesOf = (table: string) => (tables: StoredSchema) => [
  ...stepsOf(tables, table, ({ action }) => action !== 'remove'),
  ...stepsOf(
    tables,
    'attendance',
    () => false,
    ({ action }) => action === 'leave',
  ),
]

const views: readonly View[] = [
  {
    ...{ name: 'attendance_interval', begin: 'entered_at', end: 'left_at', lasted: 'stayed' },
    beside: ['user_name', 'role'],
    sort: untangled,
    steps: tables => stepsOf(tables, 'attendance', ({ action }) => action === 'enter'),
  },
  {
    ...{ name: 'stage_interval', begin: 'began_at', end: 'ended_at', lasted: 'lasted', beside: [] },
    steps: changesOf('stage_change'),
  },
  {
    ...{ name: 'hand_interval', begin: 'began_at', end: 'ended_at', lasted: 'lasted', beside: [] },
    steps: changesOf('hand_wave'),
  },
]

/** Who was in a room, on its stage and waving, from when to when, follows from the comings and goings that are stored. */
export async function examineStays(
  { rows }: Pick<Examination, 'rows'>,
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const rooms = new Map(stored.get('room')!.rows.map(room => [roomOf(room), room]))
  const found: Finding[] = []
  for (const view of views) {
    const told = (await rows<{ said: string }>(sayAll(view))).map(({ said }) => said)
    const expected = expectedOf(view, stored, rooms)
    const add = (kind: 'duplicate' | 'lost', texts: readonly string[]) =>
      found.push(...texts.map(text => ({ kind, text: `classroom.${view.name}: ${text}` })))
    add('duplicate', beyond(told, expected))
    add('lost', beyond(expected, told))
  }
  return found
}

/** A row as one text: room, user, begin, end, how long it lasted, all in ms, and what else it says. */
function sayAll({ name, begin, end, lasted, beside }: View): string {
  const ms = (column: string) => `round(extract(epoch from ${column}) * 1000)::int8`
  const told = ['app_id', 'room_uuid', 'incarnation', 'user_uuid', ms(begin), ms(end)]
  const columns = [...told, ms(lasted), ...beside]
  return `select ${columns.map(column => `coalesce((${column})::text, '-')`).join(` || ' ' || `)} as said from classroom.${name}`
}

function expectedOf(view: View, stored: StoredSchema, rooms: ReadonlyMap<string, Row>): readonly string[] {
  const steps = Map.groupBy(view.steps(stored), ([room, { user }]) => `${room} ${user}`)
  return [...steps.values()].flatMap(own => {
    const room = own[0]![0]
    const standing = rooms.get(room)
    if (!standing) return []
    const inOrder = own
      .map(([, step]) => step)
      .sort((a, b) => Number(a.sequence - b.sequence) || a.ordinal - b.ordinal)
    return stays(view.sort?.(inOrder) ?? inOrder).map(({ from, to }) => {
      const until = to ?? lastSign(standing, from.at)
      const lasted = until === undefined ? '-' : Math.max(0, until - from.at)
      const said = [
        room,
        from.user,
        from.at,
        to ?? '-',
        lasted,
        ...(view.beside.length > 0 ? [from.beside] : []),
      ]
      return said.join(' ')
    })
  })
}

/**
 * An event that says of somebody both that they came and that they went, in this order, goes by the times of the two; without
 * them nothing is other than before it, since only who is there can go first.
 */
function untangled(steps: readonly Step[]): readonly Step[] {
  const found: Step[] = []
  let wasOn = false
  for (let n = 0; n < steps.length; n++) {
    const [step, next] = [steps[n]!, steps[n + 1]]
    const isBoth = step.isOn && next?.isOn === false && next.sequence === step.sequence
    if (!isBoth) {
      found.push(step)
      wasOn = step.isOn
      continue
    }
    n += 1
    const isTold = step.own !== undefined && next.own !== undefined && step.own !== next.own
    const goesFirst = isTold ? next.own! < step.own! : wasOn
    const [first, second] = goesFirst ? [false, true] : [true, false]
    found.push({ ...step, isOn: first }, { ...next, isOn: second })
  }
  return found
}

/** Who comes twice has stayed, and who goes twice has gone the first time. */
function stays(steps: readonly Step[]) {
  const found: { readonly from: Step; to: number | undefined }[] = []
  let isOn = false
  for (const step of steps) {
    if (step.isOn === isOn) continue
    isOn = step.isOn
    if (isOn) found.push({ from: step, to: undefined })
    else found.at(-1)!.to = step.at
  }
  return found
}

/** Until when somebody stayed whom nobody saw leaving; undefined while the room is there. */
function lastSign(room: Row, from: number): number | undefined {
  const { started_at: start, ended_at: end } = room
  const isKnown = end !== null && (start === null || Number(end) > Number(start))
  if (isKnown && Number(end) > from) return Number(end)
  const isGone = room.forgotten_at !== null || room.valid_to !== null
  return isGone ? Math.max(Number(room.last_event_at), from) : undefined
}

function stepsOf(
  tables: StoredSchema,
  table: string,
  isOn: (row: Row) => boolean,
  isOf: (row: Row) => boolean = () => true,
): readonly (readonly [string, Step])[] {
  return tables.get(table)!.rows.flatMap(row => {
    if (row.user_uuid === null || !isOf(row)) return []
    const place = { sequence: BigInt(String(row.sequence)), ordinal: Number(row.ordinal) }
    const { updateTime } = fieldsOf(row.extra)
    const own = typeof updateTime === 'number' && updateTime > 0 ? updateTime : undefined
    const beside = `${row.user_name ?? '-'} ${row.role ?? '-'}`
    return [
      [
        roomOf(row),
        { user: String(row.user_uuid), at: Number(row.at), ...place, isOn: isOn(row), beside, own },
      ],
    ]
  })
}

function roomOf({ app_id, room_uuid, incarnation }: Row): string {
  return `${app_id} ${room_uuid} ${incarnation}`
}

/** What the first holds more often than the second. */
function beyond(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>()
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1)
  return some.filter(one => {
    const count = left.get(one) ?? 0
    left.set(one, count - 1)
    return count <= 0
  })
}
