import type { App } from './app.ts'
import type { Reading } from './readings.ts'
import type { Family } from './routes.ts'
import { filesTold, sequenceOf } from './tell-classroom.ts'
import { pollShare, quizOptions } from './tell-widgets.ts'
import {
  type Call,
  type Counts,
  type Person,
  quizRight,
  type Room,
  seriesValue,
  type UpAndDown,
} from './world.ts'

/** The rows that the tables must hold when all was told: lists of values, in the order of the columns in stored.ts. */
export type Rows = Readonly<Record<string, readonly (readonly unknown[])[]>>

export function expectedRows(app: App, families: readonly Family[]): Rows {
  return Object.assign({}, ...families.map(family => ({ classroom, analytics, players })[family](app)))
}

function classroom({ world, plan, act }: App): Rows {
  const rooms = world.rooms.map((room, index) => roomRows(plan.reading, room, index, act))
  const names = Object.keys(rooms[0]!)
  return {
    ...Object.fromEntries(names.map(name => [name, rooms.flatMap(rows => rows[name]!)])),
    // The class in whose channel it plays goes on.
    orphan_player: [],
  }
}

function analytics({ world, plan: { reading } }: App): Rows {
  const stays = ({ sessions }: Call) =>
    sessions.filter(({ platform }) => reading.serverUsers === 'asked for' || platform !== 'Linux')
  return {
    call: world.calls.map(({ id, cname, created, destroyed }) => [
      ...[id, cname, created, destroyed ?? null, destroyed !== undefined],
    ]),
    call_session: world.calls.flatMap(call =>
      stays(call).map(({ sid, uid, join, leave, network, platform }) => [
        ...[call.id, sid, String(uid), network, platform, join, leave, true],
      ]),
    ),
    session_metric: world.calls.flatMap(call =>
      stays(call).flatMap(({ sid, values }) =>
        values.map(({ mid, peer, at, value }) => [
          ...[call.id, sid, peer === 0 && reading.ownPeer === 'absent' ? '' : String(peer), mid, at, value],
          reading.metricExtra !== 'none',
        ]),
      ),
    ),
  }
}

function players({ world, plan: { reading }, act, made, deleted }: App): Rows {
  const region = (id: string) => made.find(player => player.id === id)?.region ?? null
  return {
    cloud_player: [...world.players, ...made]
      .filter(({ status }) => status[0] !== undefined || act > 0)
      .map(({ id, name, uid, created, channel, status }) => {
        const entry = reading.playersEntry
        const isGone = deleted.has(id) || (act > 0 && status[1] === undefined)
        const last = isGone ? 'destroyed' : status[act]
        return [
          // The list does not say in which region it was made.
          ...[id, name, created, region(id), isGone],
          ...(entry === 'thin' ? [null, null] : [channel, true]),
          ...[entry === 'full' ? String(uid) : null, entry === 'with account' ? `account ${uid}` : null],
          entry === 'thin' && !isGone ? null : last,
        ]
      }),
  }
}

function roomRows(reading: Reading, room: Room, index: number, act: number): Rows {
  const log = act > 0 ? room.log.flat() : room.log[0]
  const rows: Record<string, unknown[][]> = Object.fromEntries(
    [
      ...['room', 'room_event', 'room_state_change', 'chat_message', 'attendance', 'recording_state_change'],
      ...[
        'reward',
        'resource_change',
        'stage_change',
        'hand_wave',
        'resource',
        'recording',
        'recording_file',
      ],
      ...['quiz', 'quiz_submission', 'poll', 'poll_submission', 'poll_tally'],
    ].map(name => [name, []]),
  )
  const { uuid } = room
  const named = reading.user !== 'userUuid alone'
  const known = ({ uuid }: Person) => (reading.user === 'without userUuid' ? null : uuid)
  let state: number | null = null
  let recording: string | null = null
  log.forEach((it, place) => {
    const sequence = String(sequenceOf(reading, index, place))
    const add = (table: string, ...values: unknown[]) => rows[table]!.push([uuid, sequence, ...values])
    add('room_event', it.cmd)
    switch (it.cmd) {
      case 1:
        state = it.state
        add('room_state_change', it.state, it.startTime ?? null)
        break
      case 3:
        add('chat_message', known(it.from), named ? it.from.name : null, stored(it.message), 1)
        break
      case 20:
        for (const who of it.came) add('attendance', known(who), named ? who.name : null, 'enter', total(it))
        for (const who of it.went) add('attendance', known(who), named ? who.name : null, 'leave', total(it))
        break
      case 1001:
        if (it.isStart) recording = it.recording.id
        add('recording_state_change', it.isStart ? 1 : Number(reading.stopState), recording)
        break
      case 1101:
        add('reward', it.who.uuid, it.change, it.sum, it.at)
        break
      case 1003:
        for (const file of it.files)
          add(
            ...(['resource_change', file.uuid, it.action === 1 ? 'upsert' : 'delete', file.name] as const),
            operatorOf(reading, it.by),
          )
        break
      case 1501:
        for (const [who, action, isListed] of steps(it)) add('stage_change', who.uuid, action, isListed)
        break
      case 1502:
        for (const [who, action, isListed] of steps(it))
          add('hand_wave', who.uuid, action, isListed, { timeout: 30 })
    }
  })
  rows.room!.push([uuid, 1, state, false])
  const now = room.files[act > 0 ? 1 : 0].map(file => file.uuid)
  for (const file of room.files[0]) {
    const isThin = reading.resource === 'uuid, name and url'
    rows.resource!.push([
      uuid,
      file.uuid,
      file.name,
      file.url,
      isThin ? null : file.size,
      !now.includes(file.uuid),
    ])
  }
  for (const each of room.recordings.filter(({ acts: [begin] }) => act >= begin)) {
    rows.recording!.push([uuid, each.id, each.startTime, act >= each.acts[1] ? each.endTime : null])
    if (act > 0) for (const url of filesTold(reading, each)) rows.recording_file!.push([uuid, each.id, url])
  }
  addQuizzes(reading, room, act, rows)
  addPolls(reading, room, act, rows)
  return rows
}

function total({ came, went }: { came: readonly Person[]; went: readonly Person[] }): number {
  return came.length + went.length
}

/** Each of those who are up, or no longer, and whether the full list names them. */
function steps({ up, down, others }: UpAndDown): readonly (readonly [Person, string, boolean])[] {
  return [
    ...up.map(who => [who, 'add', true] as const),
    ...down.map(who => [who, 'remove', false] as const),
    ...others.map(who => [who, 'present', true] as const),
  ]
}

function operatorOf({ eventOperator }: Reading, { uuid }: Person): string | null {
  return eventOperator === 'absent' || eventOperator === 'without userUuid' ? null : uuid
}

/** Who did something to a widget; part of a key, hence never null. */
function widgetUser({ widgetOperator }: Reading, { uuid }: Person): string {
  return widgetOperator === 'full' ? uuid : ''
}

/** NUL and halves of pairs, as Postgres can keep them. */
function stored(text: string): string {
  return text.replaceAll('\u0000', '\u001a0000').replaceAll('\ud800', '\u001ad800')
}

function addQuizzes(
  reading: Reading,
  { uuid, quiz }: Room,
  act: number,
  rows: Record<string, unknown[][]>,
): void {
  const answers = new Map<string, number>()
  const last = new Map<string, { counts: Counts; isOver: boolean; at: number }>()
  for (const step of act > 0 ? quiz.flat() : quiz[0]) {
    const former = last.get(step.id)
    switch (step.step) {
      case 'start':
        last.set(step.id, {
          counts: { selected: 0, correct: 0, total: step.total, average: 0 },
          isOver: false,
          at: step.at,
        })
        break
      case 'answer': {
        const { id, chosen, isCorrect, at } = step
        const by = widgetUser(reading, step.by)
        const key = `${id} ${by}`
        const ordinal = answers.get(key) ?? 0
        answers.set(key, ordinal + 1)
        rows.quiz_submission!.push([uuid, id, by, ordinal, quizOptions(reading, chosen), isCorrect, at])
        break
      }
      default:
        last.set(step.id, { ...former!, counts: step.counts, isOver: step.step === 'end' })
    }
  }
  for (const [id, { counts, isOver, at }] of last) {
    const { selected, correct, total, average } = counts
    const options = [quizOptions(reading, [0, 1, 2]), quizOptions(reading, quizRight)]
    const isAsked = selected > 0
    rows.quiz!.push([
      uuid,
      id,
      ...options,
      correct,
      isAsked ? selected : null,
      total,
      average,
      isOver ? 'ended' : 'running',
      at,
    ])
  }
}

function addPolls(
  reading: Reading,
  { uuid, poll }: Room,
  act: number,
  rows: Record<string, unknown[][]>,
): void {
  const answers = new Map<string, number>()
  const votes = new Map<string, readonly number[]>()
  const over = new Set<string>()
  const modes = new Map<string, number>()
  for (const step of act > 0 ? poll.flat() : poll[0]) {
    switch (step.step) {
      case 'start':
        modes.set(step.id, step.mode)
        votes.set(step.id, [0, 0, 0])
        break
      case 'answer': {
        const by = widgetUser(reading, step.by)
        const key = `${step.id} ${by}`
        const ordinal = answers.get(key) ?? 0
        answers.set(key, ordinal + 1)
        const isKnown = reading.selectIndex !== 'objects without an index'
        rows.poll_submission!.push([uuid, step.id, by, ordinal, isKnown ? step.chosen : null, !isKnown])
        break
      }
      default:
        votes.set(step.id, step.votes)
        if (step.step === 'end') over.add(step.id)
    }
  }
  for (const [id, mode] of modes) {
    rows.poll!.push([uuid, id, mode, true, over.has(id) ? 'ended' : 'running'])
    votes.get(id)!.forEach((num, option) => {
      const share = reading.pollDetails === 'full' ? pollShare(votes.get(id)!, option) : null
      rows.poll_tally!.push([uuid, id, option, num, share])
    })
  }
}

/** Values of series that must be there: [metric, cname, uid, whether there is more, at, value]. */
export function expectedSeries(
  [metric, cname, uid]: readonly [string, string, string],
  isMore: boolean,
  from: number,
  to: number,
  step: number,
): readonly (readonly unknown[])[] {
  const rows: unknown[][] = []
  for (let at = Math.ceil(from / step) * step; at < to; at += step)
    rows.push([metric, cname, uid, isMore, at, seriesValue(`${metric}${cname}${uid}`, at)])
  return rows
}
