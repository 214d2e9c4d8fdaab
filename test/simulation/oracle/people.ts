import { canonical } from './canonical.ts'
import type { Examination, Finding } from './examination.ts'
import { pick, type Row, type StoredSchema } from './rows.ts'
import { clockAt, type Turn } from './zones.ts'

/** A view, what of it is looked at in SQL, and what that must be. */
interface View {
  readonly name: string
  readonly columns: Readonly<Record<string, string>>
  readonly expected: (world: World) => readonly Row[]
}

/** Somebody was in a room; ms since the epoch. */
interface Stay {
  readonly room: string
  readonly user: string
  readonly role: string | null
  readonly from: number
  /** Undefined of who is still there. */
  readonly to: number | undefined
}

interface World {
  readonly tables: StoredSchema
  readonly rooms: readonly Row[]
  readonly stays: readonly Stay[]
  readonly turns: readonly Turn[]
}

const hour = 3_600_000
const late = 5 * 60_000

const place = ['app_id', 'room_uuid', 'incarnation'] as const
const here = Object.fromEntries(place.map(column => [column, column]))
const ms = (time: string) => `round(extract(epoch from ${time}) * 1000)::float8`
/** Minutes, exact to a millisecond; sums of fractions are not the same in every order. */
const minutes = (column: string) => `round(${column}::numeric * 60000)::float8`
const share = (column: string) => `round(${column}::numeric, 4)::float8`

const views: readonly View[] = [
  {
    name: 'class',
    columns: {
      ...here,
      ...{
        state: 'state',
        is_going_on: 'is_going_on',
        started_at: ms('started_at'),
        ended_at: ms('ended_at'),
      },
      ...{ minutes: minutes('minutes'), students: 'students', unknown_roles: 'unknown_roles' },
      teachers: `array(select t from unnest(string_to_array(teachers, ', ')) t order by t collate "C")`,
      ...{ messages: 'messages', hands: 'hands', rewards: 'rewards', quizzes: 'quizzes', polls: 'polls' },
      ...{ recordings: 'recordings', files: 'files' },
    },
    expected: classes,
  },
  {
    name: 'participation',
    columns: {
      ...{ ...here, user_uuid: 'user_uuid', is_student: 'is_student', entered_at: ms('entered_at') },
      ...{ left_at: ms('left_at'), stays: 'stays', minutes: minutes('minutes'), messages: 'messages' },
      ...{ hands: 'hands', rewards: 'rewards', quizzes: 'quizzes_answered', polls: 'polls_voted' },
    },
    expected: participations,
  },
  {
    name: 'late_arrival',
    columns: {
      ...{ ...here, user_uuid: 'user_uuid', class_started_at: ms('class_started_at') },
      ...{ entered_at: ms('entered_at'), minutes: minutes('minutes_late') },
    },
    expected: lateArrivals,
  },
  {
    name: 'head_count',
    columns: { ...here, at: ms('at'), people: 'people', students: 'students' },
    expected: headCounts,
  },
  {
    name: 'attention',
    columns: {
      ...{ ...here, until: ms('until'), first: share('students_first_half') },
      ...{ second: share('students_second_half'), acts: `acts_first_half || ' ' || acts_second_half` },
    },
    expected: attentions,
  },
  {
    name: 'attendance_by_day',
    columns: {
      ...{ app_id: 'app_id', day: 'day::text', classes: 'classes', students: 'students', visits: 'visits' },
      ...{ stays: 'stays', minutes: minutes('student_minutes') },
    },
    expected: world => daysOf(world, dayOf),
  },
  {
    name: 'attendance_by_week',
    columns: {
      ...{ app_id: 'app_id', day: 'week::text', classes: 'classes', students: 'students', visits: 'visits' },
      ...{ minutes: minutes('student_minutes'), students_before: 'students_before' },
      ...{ visits_before: 'visits_before', minutes_before: minutes('student_minutes_before') },
      change: share('change'),
    },
    expected: weeks,
  },
]

/**
 * What people are told of classes and of who was in them follows from the rows that are stored, and from the stays that
 * classroom.attendance_interval makes of these. Of a day of which retention took a class others tell.
 */
export async function examinePeople(
  { rows, turns = [] }: Pick<Examination, 'rows' | 'turns'>,
  tables: StoredSchema,
): Promise<readonly Finding[]> {
  const rooms = tables.get('room')!.rows
  if (rooms.some(({ emptied_at }) => (emptied_at ?? null) !== null)) return []
  const stays = await rows<Omit<Stay, 'to'> & { readonly to: number | null }>(
    `select concat_ws(' ', app_id, room_uuid, incarnation) as room, user_uuid as user, role, ${ms('entered_at')} as from,
            ${ms('entered_at + stayed')} as to
     from classroom.attendance_interval`,
  )
  const world = {
    tables,
    rooms,
    turns,
    stays: stays.map(({ to, ...stay }) => ({ ...stay, to: to ?? undefined })),
  }
  const found: Finding[] = []
  for (const { name, columns, expected } of views) {
    const asked = Object.entries(columns).map(([column, sql]) => `${sql} as "${column}"`)
    const is = await rows<Row>(`select ${asked.join(', ')} from classroom.${name}`)
    const say = (all: readonly Row[]) =>
      all.map(row => canonical(Object.keys(columns).map(column => row[column] ?? null)))
    const [left, right] = [say(is), say(expected(world))]
    const add = (kind: 'different' | 'lost', texts: Iterable<string>) =>
      found.push(...[...texts].map(text => ({ kind, text: `classroom.${name}: ${text}` })))
    add('different', new Set(left).difference(new Set(right)))
    add('lost', new Set(right).difference(new Set(left)))
    if (new Set(left).size < left.length)
      found.push({ kind: 'duplicate', text: `classroom.${name}: rows twice` })
  }
  return found
}

const states: readonly unknown[] = ['not started', 'started', 'ended', 'closed']
const kindOf = (role: unknown) => (typeof role === 'string' ? role.trim().toLowerCase() : '')
const isStudent = (role: unknown) => !['1', 'teacher', 'host', '3', 'assistant'].includes(kindOf(role))
const isKnown = (role: unknown) => !isStudent(role) || ['2', 'student'].includes(kindOf(role))

/** Who was told with no role has that of their other rows. */
const toldRoles = (own: readonly Row[]) => own.map(({ role }) => role).filter(role => kindOf(role) !== '')

function classes({ tables, rooms }: World): readonly Row[] {
  const came = groupsOf(tables, 'attendance', placeOf)
  const counted = (table: string) => groupsOf(tables, table, placeOf)
  const [messages, hands, rewards] = [counted('chat_message'), counted('hand_wave'), counted('reward')]
  const [quizzes, polls] = [counted('quiz'), counted('poll')]
  const recordings = counted('recording')
  // What was removed before its list was read stands in the changes alone.
  const [listed, changed] = [counted('resource'), counted('resource_change')]
  return rooms.map(room => {
    const key = placeOf(room)
    const own = came.get(key) ?? []
    const people = [
      ...Map.groupBy(
        own.filter(({ user_uuid }) => user_uuid !== null),
        user => user.user_uuid,
      ).values(),
    ]
    const teachers = own.filter(({ role, user_name }) => user_name !== null && !isStudent(role))
    const { state, started_at: start, ended_at: end, last_event_at: last } = room
    const isTold = end === null || start === null || Number(end) > Number(start)
    const count = (rows: ReadonlyMap<string, readonly Row[]>) => rows.get(key)?.length ?? 0
    return {
      ...pick(room, place),
      ...{ state: states[Number(state ?? -1)] ?? null, started_at: start },
      is_going_on: state === 1 && room.valid_to === null && room.forgotten_at === null,
      ended_at: isTold ? end : null,
      minutes:
        isTold && start !== null && (end ?? last) !== null ? Number(end ?? last) - Number(start) : null,
      students: people.filter(own => toldRoles(own).every(isStudent)).length,
      unknown_roles: people.filter(own => !(toldRoles(own).length > 0 && toldRoles(own).every(isKnown)))
        .length,
      teachers:
        teachers.length === 0
          ? []
          : [...new Set(teachers.map(({ user_name }) => String(user_name)))].sort(inBytes),
      ...{ messages: count(messages), quizzes: count(quizzes), polls: count(polls) },
      hands: (hands.get(key) ?? []).filter(({ action }) => action === 'add').length,
      rewards: sum((rewards.get(key) ?? []).map(({ changed_reward }) => changed_reward)),
      recordings: count(recordings),
      files: new Set(
        [listed, changed].flatMap(rows => (rows.get(key) ?? []).map(({ resource_uuid }) => resource_uuid)),
      ).size,
    }
  })
}

function participations({ tables, stays }: World): readonly Row[] {
  const byUser = (table: string) => groupsOf(tables, table, row => `${placeOf(row)} ${row.user_uuid}`)
  const [messages, hands, rewards] = [byUser('chat_message'), byUser('hand_wave'), byUser('reward')]
  const [answers, votes] = [byUser('quiz_submission'), byUser('poll_submission')]
  return [...Map.groupBy(stays, ({ room, user }) => `${room} ${user}`)].map(([key, own]) => {
    const over = own.filter(({ to }) => to !== undefined)
    const different = (rows: readonly Row[] | undefined, id: string) =>
      new Set(rows?.map(row => row[id])).size
    return {
      ...{
        ...placeIn(own[0]!.room),
        user_uuid: own[0]!.user,
        is_student: own.every(({ role }) => isStudent(role)),
      },
      entered_at: Math.min(...own.map(({ from }) => from)),
      left_at: over.length < own.length ? null : Math.max(...over.map(({ to }) => to!)),
      ...{
        stays: own.length,
        minutes: over.length === 0 ? null : sum(over.map(({ from, to }) => to! - from)),
      },
      messages: messages.get(key)?.length ?? 0,
      hands: (hands.get(key) ?? []).filter(({ action }) => action === 'add').length,
      rewards: sum((rewards.get(key) ?? []).map(({ changed_reward }) => changed_reward)),
      ...{ quizzes: different(answers.get(key), 'quiz_id'), polls: different(votes.get(key), 'poll_id') },
    }
  })
}

/**
 * Students who come first after the class has begun for five minutes; who comes back is not late, nor is whoever the log tells of
 * before it tells that the class began, whatever time that has.
 */
function lateArrivals({ tables, rooms }: World): readonly Row[] {
  const came = groupsOf(tables, 'attendance', placeOf)
  const changes = groupsOf(tables, 'room_state_change', placeOf)
  return rooms.flatMap(room => {
    const begins = (changes.get(placeOf(room)) ?? []).filter(({ state }) => Number(state) === 1)
    const all = (came.get(placeOf(room)) ?? []).filter(
      ({ user_uuid, action }) => user_uuid !== null && action === 'enter',
    )
    const staff = new Set(all.filter(({ role }) => !isStudent(role)).map(({ user_uuid }) => user_uuid))
    const entered = all
      .filter(({ user_uuid }) => !staff.has(user_uuid))
      .sort(
        (one, other) =>
          Number(BigInt(String(one.sequence)) - BigInt(String(other.sequence))) ||
          Number(one.ordinal) - Number(other.ordinal),
      )
    const first = new Map(entered.toReversed().map(row => [row.user_uuid, row]))
    const start = Number(room.started_at ?? Number.POSITIVE_INFINITY)
    return [...first.values()]
      .filter(({ at, sequence }) => {
        const isBefore = begins.length > 0 && begins.every(begin => isEarlier(sequence, begin.sequence))
        return Number(at) > start + late && !isBefore
      })
      .map(({ user_uuid, at }) => ({
        ...{ ...pick(room, place), user_uuid, class_started_at: start, entered_at: at },
        minutes: Number(at) - start,
      }))
  })
}

function isEarlier(one: unknown, other: unknown): boolean {
  return BigInt(String(one)) < BigInt(String(other))
}

/** Of a stay that is told without a role the person's other stays in the class say whose it is. */
function isOfStudent({ role, user }: Stay, all: readonly Stay[]): boolean {
  if (kindOf(role) !== '') return isStudent(role)
  return all.every(other => other.user !== user || isStudent(other.role))
}

function headCounts({ stays }: World): readonly Row[] {
  return [...Map.groupBy(stays, ({ room }) => room)].flatMap(([room, own]) => {
    const steps = own.flatMap(stay => {
      const { from, to } = stay
      const students = Number(isOfStudent(stay, own))
      return [
        { at: from, people: 1, students },
        ...(to === undefined ? [] : [{ at: to, people: -1, students: -students }]),
      ]
    })
    const moments = [...Map.groupBy(steps, ({ at }) => at)].sort(([one], [other]) => one - other)
    let [people, students] = [0, 0]
    return moments.map(([at, changes]) => {
      people += sum(changes.map(change => change.people))
      students += sum(changes.map(change => change.students))
      return { ...placeIn(room), at, people, students }
    })
  })
}

/** Of each half of a class how many students were there on average, and how often they wrote or waved. */
function attentions({ tables, rooms, stays }: World): readonly Row[] {
  const came = groupsOf(tables, 'attendance', placeOf)
  const ofRooms = Map.groupBy(stays, ({ room }) => room)
  const [messages, hands] = [
    groupsOf(tables, 'chat_message', placeOf),
    groupsOf(tables, 'hand_wave', placeOf),
  ]
  return rooms.flatMap(room => {
    const [start, until] = [room.started_at, room.ended_at ?? room.last_event_at]
    if (start === null || until === null || Number(until) <= Number(start)) return []
    const [from, to] = [Number(start), Number(until)]
    const middle = from + (to - from) / 2
    const all = ofRooms.get(placeOf(room)) ?? []
    const own = all.filter(stay => isOfStudent(stay, all))
    const present = (since: number, till: number) =>
      sum(own.map(one => Math.max(0, Math.min(one.to ?? to, till) - Math.max(one.from, since)))) /
      (till - since)
    const roles = lastRoles(came.get(placeOf(room)) ?? [])
    const acts = [
      ...(messages.get(placeOf(room)) ?? []).filter(({ role, user_uuid }) =>
        isStudent(kindOf(role) === '' ? roles.get(user_uuid) : role),
      ),
      ...(hands.get(placeOf(room)) ?? []).filter(({ action }) => action === 'add'),
    ].filter(({ at }) => Number(at) >= from && Number(at) <= to)
    const early = acts.filter(({ at }) => Number(at) < middle).length
    return [
      {
        ...{ ...pick(room, place), until: to, acts: `${early} ${acts.length - early}` },
        ...{ first: rounded(present(from, middle)), second: rounded(present(middle, to)) },
      },
    ]
  })
}

function lastRoles(came: readonly Row[]): ReadonlyMap<unknown, unknown> {
  const told = came
    .filter(({ user_uuid, role }) => user_uuid !== null && kindOf(role) !== '')
    .sort((one, other) => Number(BigInt(String(one.sequence)) - BigInt(String(other.sequence))))
  return new Map(told.map(({ user_uuid, role }) => [user_uuid, role]))
}

/** What the comings and goings of the classes come to that began on the same day, or in the same week. */
function daysOf({ rooms, stays, turns }: World, nameOf: (at: number) => string): readonly Row[] {
  const ofRooms = Map.groupBy(stays, ({ room }) => room)
  const began = (room: Row) => nameOf(clockAt(turns, Number(room.started_at ?? room.valid_from)))
  return [...Map.groupBy(rooms, room => canonical([room.app_id, began(room)])).values()].map(classes => {
    const visits = classes.flatMap(room => {
      const people = Map.groupBy(ofRooms.get(placeOf(room)) ?? [], ({ user }) => user)
      return [...people.values()].filter(own => own.every(({ role }) => isStudent(role)))
    })
    const over = visits.flat().filter(({ to }) => to !== undefined)
    return {
      ...{ app_id: classes[0]!.app_id, day: began(classes[0]!), classes: classes.length },
      students: new Set(visits.map(([stay]) => stay!.user)).size,
      ...{ visits: visits.length, stays: visits.flat().length },
      minutes: sum(over.map(({ from, to }) => to! - from)),
    }
  })
}

/** Each week beside the one before it, of which nothing need be stored. */
function weeks(world: World): readonly Row[] {
  const all = daysOf(world, mondayOf)
  const nobody: Row = { students: 0, visits: 0, minutes: 0 }
  return all.map(({ stays: _, ...week }) => {
    const monday = dayOf(Date.parse(String(week.day)) - 7 * 24 * hour)
    const before = all.find(({ app_id, day }) => app_id === week.app_id && day === monday) ?? nobody
    const isMore = Number(before.minutes) > 0
    return {
      ...{ ...week, students_before: before.students, visits_before: before.visits },
      minutes_before: before.minutes,
      change: isMore ? rounded(Number(week.minutes) / Number(before.minutes) - 1) : null,
    }
  })
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

function mondayOf(at: number): string {
  const sinceMonday = (new Date(at).getUTCDay() + 6) % 7
  return dayOf(at - sinceMonday * 24 * hour)
}

function placeOf({ app_id, room_uuid, incarnation }: Row): string {
  return `${app_id} ${room_uuid} ${incarnation}`
}

/** Names of rooms may have blanks in them, those of apps have none. */
function placeIn(room: string): Row {
  const [first, last] = [room.indexOf(' '), room.lastIndexOf(' ')]
  return {
    app_id: room.slice(0, first),
    room_uuid: room.slice(first + 1, last),
    incarnation: Number(room.slice(last + 1)),
  }
}

function groupsOf(tables: StoredSchema, table: string, keyOf: (row: Row) => string) {
  return Map.groupBy(tables.get(table)!.rows, keyOf)
}

function sum(values: readonly unknown[]): number {
  return values.reduce<number>((all, value) => all + Number(value ?? 0), 0)
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

function inBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
