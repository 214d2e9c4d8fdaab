import { type AppPlan, Refusal } from './app.ts'
import { reading } from './readings.ts'
import { openRoom, quietRoom } from './world.ts'

/** An app in which questions about rooms are refused: what one room is refused concerns no other. */

const notFound = () => new Refusal(404, { msg: 'Not Found', ts: Date.now() })
const muted = () => new Refusal(403, { code: 30_403_200, msg: 'Classroom is muted globally', ts: Date.now() })

const id = 'refused-rooms'
const refusedRooms = new Map([
  [quietRoom(id), notFound],
  [openRoom(id), muted],
])

/** One room is nowhere, of another one nothing may be read, for good; the third is as ever. */
export const refused: AppPlan = {
  id,
  reading: reading(),
  refuse: room => refusedRooms.get(room)?.(),
  // What the feed says of them is known all the same.
  isUnread: line =>
    [...refusedRooms.keys()].some(room => line.includes(room)) &&
    !/^(room_event|chat_message|attendance|room_state_change) lacks/.test(line),
}
