import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { shards } from '../../src/commands/engine-settings.ts'
import { CommandFences } from '../../src/commands/wiring/client.ts'
import { shardOf } from '../../src/engine/ports/ledger.ts'
import { openStore, session, type TestStore } from '../postgres/harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
beforeEach(() => db.rows('truncate ingest.ownership, ingest_jobs.job'))
afterAll(() => db.close())

const app = 'school'
const shard = shardOf(app, shards)
const held = async () => {
  const rows = await db.rows(
    `select singleton_key::int as shard from ingest_jobs.job where state = 'active' order by 1`,
  )
  return rows.map(row => row.shard)
}

function borrow() {
  const fences = new CommandFences(db.connection)
  onTestFinished(() => fences.close())
  return fences
}

it('lends the shard of an app and leaves all others free', async () => {
  const fences = borrow()
  const lent = await fences.acquire(app)
  expect(lent!.fence).toMatchObject({ shard, epoch: 1 })
  expect(await held()).toEqual([shard])
  const neighbour = await fences.acquire('college')
  expect(await held()).toEqual([shard, shardOf('college', shards)].sort((a, b) => a - b))
  await lent!.giveBack()
  // Whoever waits for the budget of one app keeps no daemon from another one.
  expect(await held()).toEqual([shardOf('college', shards)])
  await neighbour!.giveBack()
  expect(await held()).toEqual([])
})

it('gives a shard back when the last request of its app has ended', async () => {
  const fences = borrow()
  const [one, other] = [await fences.acquire(app), await fences.acquire(app)]
  await one!.giveBack()
  expect(await held()).toEqual([shard])
  await other!.giveBack()
  expect(await held()).toEqual([])
  expect((await fences.acquire(app))!.fence).toMatchObject({ shard, epoch: 2 })
})

it('keeps nothing where the shard changes hands', async () => {
  await db.rows(`insert into ingest.ownership values ($1, 'gone', 3)`, [shard])
  const commit = await session(db.url)
  await commit.query(`begin; select from ingest.ownership where shard = ${shard} for share`)
  const fences = borrow()
  expect(await fences.acquire(app)).toBeUndefined()
  expect(await held()).toEqual([])
  await commit.query('rollback')
  expect((await fences.acquire(app))!.fence).toMatchObject({ shard, epoch: 5 })
})
