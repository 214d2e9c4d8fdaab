import type { Hands } from './hands.ts'
import type { Kernel } from './kernel.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import {
  examineForgotten,
  examineRoomForgotten,
  examineToldAgain,
  examineToldBeside,
  type Person,
  type Room,
  readTold,
} from './oracle/forgotten.ts'
import { examineReplayed } from './oracle/replayed.ts'
import { examineWanted, type Wanted } from './oracle/wanted.ts'
import type { Server } from './server.ts'

const minute = 60_000
/** What is wanted once more is fetched within the share of the budget for such work. */
const longestFetch = 20 * minute
/** Everything is more than two questions may span, seconds. */
const further = 50 * 3_600

export interface WishesOptions {
  readonly kernel: Kernel
  readonly server: Server
  readonly hands: Hands
  /** The faulty phase, Unix seconds. */
  readonly from: number
  readonly to: number
  readonly examination: () => Examination
}

/** A class and the break after it. */
const classesGoOn = 5 * minute

/** Rows that are missing, others, and of other contents: what an older version of the program may have made of the same. */
const spoils = [
  'with gone as (delete from classroom.chat_message where sequence % 5 = 0 returning 1) select count(*) from gone',
  `with other as (update classroom.attendance set action = 'leave', user_name = 'nobody' where sequence % 4 = 0 returning 1)
   select count(*) from other`,
  'with other as (update classroom.poll_tally set num = num + 1 returning 1) select count(*) from other',
  `with more as (
     insert into classroom.hand_wave (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
     select app_id, room_uuid, incarnation, sequence, ordinal + 1000, user_uuid, action, at from classroom.hand_wave limit 5 returning 1)
   select count(*) from more`,
]

type Unmarked = Omit<Wanted, 'at'>

/** What an operator has done when all is well. Everything is done one after the other, and a daemon goes on beside it. */
export function createWishes({ kernel, server, hands, from, to, examination }: WishesOptions) {
  const acted = async <T>(act: Promise<T>) => {
    await kernel.runUntil(kernel.now + minute)
    return await act
  }
  const fetched = async (all: readonly Unmarked[]) => {
    const wanted: Wanted[] = []
    for (const what of all) wanted.push(await acted(hands.want(what)))
    await kernel.runUntil(kernel.now + longestFetch)
    return wanted
  }
  /** Details of the first calls that were measured. */
  const measured = () =>
    server.rows<Unmarked>(
      `select w.app_id as app, w.stream, c.call_id as call, extract(epoch from c.created_at)::float8 as "from",
              extract(epoch from c.created_at)::float8 + 1 as "to"
       from ingest.work_item w join analytics.call c on c.app_id = w.app_id and c.call_id = w.item
       where w.state = 'done' and w.stream in ('call-sessions', 'call-metrics')
       group by 1, 2, 3, 4, 5 order by 4, 3, 2 limit 6`,
    )
  const goOn = async () => {
    const { universe } = examination().sandbox
    universe.resume()
    await kernel.runUntil(kernel.now + classesGoOn)
    universe.pause()
    await kernel.runUntil(kernel.now + classesGoOn)
  }
  return {
    /** What was given up is fetched once more by itself, some calls, and then everything. */
    fetchAgain: async (): Promise<readonly Finding[]> => {
      const lost = await server.rows<Unmarked>(
        `select app_id as app, stream, extract(epoch from range_from)::float8 as "from",
                extract(epoch from range_to)::float8 as "to"
         from ingest.gap where stream = 'calls' and state = 'lost' order by id limit 4`,
      )
      const apps = await server.rows<{ app: string }>('select distinct app_id as app from analytics.call')
      const parts = await fetched([...lost, ...(await measured())])
      const whole = await fetched(apps.map(({ app }) => ({ app, stream: 'calls', from: from - further, to })))
      return examineWanted(examination(), [...parts, ...whole])
    },
    /** Two people are taken out, and what they were in is read again. */
    forget: async (): Promise<readonly Finding[]> => {
      const people = await server.rows<Person>(
        `(select app_id as app, 'uid' as kind, peer_uid as id from analytics.session_series
          where peer_uid not in ('', '0') order by call_id, peer_uid limit 1)
         union all (select app_id, 'user', user_uuid from classroom.chat_message
                    where user_uuid is not null order by room_uuid, sequence limit 1)`,
      )
      const before = await readTold(examination())
      for (const person of people) await acted(hands.forget(person))
      const rooms = await server.rows<{ app: string; room: string }>(
        'select app_id as app, room_uuid as room from classroom.room where forgotten_at is null and valid_to is null order by 1, 2',
      )
      for (const { app, room } of rooms) await acted(hands.readAgain(app, room))
      await fetched(await measured())
      const after = await readTold(examination())
      // Classes go on, and who is forgotten comes to them.
      await goOn()
      return [
        ...(await examineForgotten(examination(), people, before, after)),
        ...examineToldAgain(people, await readTold(examination())),
      ]
    },
    /** Everyone is taken out who was in the room that was used most often. */
    forgetRoom: async (): Promise<readonly Finding[]> => {
      const [room] = await server.rows<Room>(
        'select app_id as app, room_uuid as name from classroom.room group by 1, 2 order by count(*) desc, 1, 2 limit 1',
      )
      if (!room) return []
      const before = await readTold(examination())
      await acted(hands.forget({ app: room.app, kind: 'room', id: room.name }))
      return examineRoomForgotten(room, before, await readTold(examination()))
    },
    /** Everyone is taken out who was in one of the classes, and others go on. */
    forgetClass: async (): Promise<readonly Finding[]> => {
      const [room] = await server.rows<Room>(
        `select r.app_id as app, r.room_uuid as name from classroom.room r
         where exists (select from analytics.call c join analytics.call_session s using (app_id, call_id)
                       where (c.app_id, c.cname) = (r.app_id, r.room_uuid)) order by 1, 2 limit 1`,
      )
      if (!room) return []
      const before = await readTold(examination())
      await acted(hands.forget({ app: room.app, kind: 'room', id: room.name }))
      const after = await readTold(examination())
      await goOn()
      return [
        ...examineRoomForgotten(room, before, after),
        ...examineToldBeside(room, after, await readTold(examination())),
      ]
    },
    /** Somebody spoils what is made of the raw rows, and has it made anew; and has letters tried that nobody can read. */
    replay: async (): Promise<readonly Finding[]> => {
      const differences = await acted(hands.replay('compare'))
      const before = await readTold(examination())
      for (const spoil of spoils) await server.rows(spoil)
      await acted(hands.replay('write'))
      await acted(hands.tryLetters())
      return examineReplayed(before, await readTold(examination()), differences)
    },
  }
}
