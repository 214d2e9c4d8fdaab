import type { CommitResult } from '../../src/engine/ports.ts'
import { app, feedPage, me, type TestStore } from './harness.ts'

let turn = 0

/** A room that no other test has, followed by every stream. */
export async function freshRoom({ store }: TestStore): Promise<string> {
  const room = `room-${++turn}`
  await store.discoverRooms(me, app, [room])
  return room
}

/** Commits the next page of the app's feed, which must be followed. */
export async function feed(
  { store }: TestStore,
  more: Parameters<typeof feedPage>[1],
): Promise<CommitResult> {
  const { version } = (await store.progress(app, 'app-events', ''))!
  return store.commit(feedPage(version, more))
}

export async function roomOf(db: TestStore, room: string, incarnation = 1) {
  const [row] = await db.rows('select * from classroom.room where room_uuid = $1 and incarnation = $2', [
    room,
    incarnation,
  ])
  return row!
}
