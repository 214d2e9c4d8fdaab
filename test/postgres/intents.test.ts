import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/postgres/connect.ts'
import { createIntentStore, pruneIntents } from '../../src/postgres/players.ts'
import { defaultConnection } from '../support/connection.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'

const intent = { app: 'a', name: 'math', channel: 'room', region: 'ap', requestHash: 'h1' }

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await cloneDatabase()
  // The rights of the daemon must do.
  pool = connect({ url: database.url, ...defaultConnection, poolSize: 2 })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

beforeEach(() => pool.query('delete from ingest.intent'))

const store = () => createIntentStore(pool)

async function row(): Promise<unknown> {
  const { rows } = await pool.query(
    'select request_hash as hash, attempts, state, player_id as player, channel_name as channel from ingest.intent',
  )
  return rows[0]
}

const age = (by: string) =>
  pool.query(
    `update ingest.intent set created_at = created_at - interval '${by}', updated_at = updated_at - interval '${by}'`,
  )

describe('an intent', () => {
  test('is open from its first attempt until it is known how it ended', async () => {
    expect(await store().find('a', 'math')).toBeUndefined()
    await store().attempt(intent)
    expect(await row()).toEqual({ hash: 'h1', attempts: 1, state: 'open', player: null, channel: 'room' })
    expect(await store().find('a', 'math')).toMatchObject({ requestHash: 'h1' })
    await store().done(intent, 'p-1')
    expect(await row()).toMatchObject({ state: 'done', player: 'p-1' })
    expect(await store().find('a', 'math')).toBeUndefined()
  })

  test('counts its attempts, and tells how long ago the first and the last of them were', async () => {
    await store().attempt(intent)
    await age('1 hour')
    await store().attempt(intent)
    const { age: first, lastAttempt } = (await store().find('a', 'math'))!
    expect(await row()).toMatchObject({ attempts: 2 })
    expect(first).toBeGreaterThanOrEqual(3_600_000)
    expect(lastAttempt).toBeLessThan(60_000)
  })

  test('of another player takes the name of an open one over', async () => {
    await store().attempt(intent)
    await store().attempt({ ...intent, requestHash: 'h2', channel: 'other' })
    expect(await row()).toEqual({ hash: 'h2', attempts: 1, state: 'open', player: null, channel: 'other' })
  })

  test('that is done begins anew when the same is wanted again', async () => {
    await store().attempt(intent)
    await store().done(intent, 'p-1')
    await age('1 day')
    await store().attempt(intent)
    expect(await row()).toMatchObject({ attempts: 1, state: 'open', player: null })
    expect((await store().find('a', 'math'))!.age).toBeLessThan(60_000)
  })

  test('that is done is not undone by who was refused its name', async () => {
    await store().attempt(intent)
    await store().done(intent, 'p-1')
    await store().failed('a', 'math')
    expect(await row()).toMatchObject({ state: 'done', player: 'p-1' })
  })

  test('that was refused is closed', async () => {
    await store().attempt(intent)
    await store().failed('a', 'math')
    expect(await row()).toMatchObject({ state: 'failed' })
    expect(await store().find('a', 'math')).toBeUndefined()
  })

  test('belongs to its app and its name alone', async () => {
    await store().attempt(intent)
    await store().done({ ...intent, app: 'b' }, 'p-1')
    await store().failed('a', 'other')
    expect(await row()).toMatchObject({ state: 'open' })
    expect(await store().find('b', 'math')).toBeUndefined()
  })

  test('is forgotten after 30 days, in whatever state', async () => {
    await store().attempt(intent)
    await age('29 days')
    await pruneIntents(pool, new Date())
    expect(await row()).toBeDefined()
    await age('2 days')
    await pruneIntents(pool, new Date())
    expect(await row()).toBeUndefined()
  })
})
