import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { app, session } from './harness.ts'
import { lesson, openReplayHarness, quizItems, type ReplayHarness, record } from './replay-harness.ts'

const denied = { code: '42501' }

let harness: ReplayHarness
const made = new Set<string>()
beforeAll(async () => {
  harness = await openReplayHarness()
  await harness.read('room-events', 'r1', { items: lesson('r1') })
  await harness.read('popup-quiz', 'r1', { items: quizItems })
  const teacher = { userUuid: 'eva', userName: 'Eva', role: 1 }
  await harness.read('room-events', 'r2', { items: [record('r2', 1, 20, { onlineUsers: [teacher] })] })
  await harness.db.rows(
    `insert into classroom.chat_message (app_id, room_uuid, incarnation, sequence, user_uuid, message, at)
     values ('other', 'r1', 1, 1, 'eve', 'of another app', now())`,
  )
})
afterAll(async () => {
  for (const role of made) await harness.db.rows(`drop owned by ${role} cascade; drop role ${role}`)
  await harness.close()
})

/** A session with the rights of such a reader alone; roles are of the whole server, so each has a name of its own. */
async function reader(
  kind: string,
  call: string,
): Promise<{ readonly role: string; readonly client: pg.Client }> {
  const role = `penstock_${kind}_${process.pid}`
  await harness.db.rows(`select ingest.make_reader($1, ${call})`, [role])
  made.add(role)
  const client = await session(harness.db.url)
  await client.query(`set session authorization ${role}`)
  return { role, client }
}

const viewsOf = (role: string) =>
  harness.db.rows('select c.relname as name from pg_class c where c.relnamespace = $1::regnamespace', [role])

describe('a reader without names and chats', () => {
  it('reads every view of its schema, and no name, no text and nothing raw', async () => {
    const { role, client } = await reader('nameless', 'p_names => false')
    const views = await viewsOf(role)
    expect(views.length).toBeGreaterThan(40)
    for (const { name } of views) {
      const { rows } = await client.query(`select t::text as line from ${role}.${name} t`)
      expect(JSON.stringify(rows), String(name)).not.toMatch(/ANN|BOB|Tom\b|Eva|half of a pair/)
    }
    const { rows } = await client.query(`select distinct user_uuid from ${role}.attendance order by 1`)
    expect(rows).toEqual([{ user_uuid: 'ann' }, { user_uuid: 'bob' }, { user_uuid: 'eva' }])
  })

  it('has no way below', async () => {
    const { client } = await reader('nameless', 'p_names => false')
    for (const table of [
      'classroom.chat_message',
      'classroom.room_event',
      'ingest.dead_letter',
      'ingest.forget_key',
    ])
      await expect(client.query(`select * from ${table}`), table).rejects.toMatchObject(denied)
  })
})

describe('a reader of one app', () => {
  it('reads every view of its schema, and rows of that app alone', async () => {
    const { role, client } = await reader('app', `p_app => '${app}'`)
    for (const { name } of await viewsOf(role)) {
      if (name === 'metric') continue
      const { rows } = await client.query(`select distinct app_id from ${role}.${name}`)
      expect([[], [{ app_id: app }]], String(name)).toContainEqual(rows)
    }
    const { rows } = await client.query(`select count(*)::int as messages from ${role}.chat_message`)
    expect(rows).toEqual([{ messages: 1 }])
    await expect(client.query('select * from classroom.chat_message')).rejects.toMatchObject(denied)
    await expect(client.query(`delete from ${role}.chat_message`)).rejects.toMatchObject(denied)
  })

  it('and whoever is another reader sees none of its schema', async () => {
    const { role } = await reader('app', `p_app => '${app}'`)
    const client = await session(harness.db.url)
    await client.query('set role penstock_read')
    await expect(client.query(`select * from ${role}.attendance`)).rejects.toMatchObject(denied)
    await expect(client.query(`select ingest.make_reader('mine')`)).rejects.toMatchObject(denied)
  })
})

it.each(['analytics', 'classroom', 'information_schema'])(
  'a reader is never called as a schema of something else: %s',
  async name => {
    const call = harness.db.rows('select ingest.make_reader($1)', [name])
    await expect(call).rejects.toThrow(`the schema ${name} is none of a reader`)
    expect(
      await harness.db.value('select count(*)::int from pg_class where relnamespace = $1::regnamespace', [
        name,
      ]),
    ).toBeGreaterThan(20)
    expect(await harness.db.value('select to_regrole($1)', [name])).toBeNull()
  },
)
