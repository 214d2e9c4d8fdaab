import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { logPage, openStore, session, start, type TestStore } from './harness.ts'

const ttl = 12_000
let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
beforeEach(async () => {
  await db.rows('truncate ingest.ownership, ingest.lease')
  await db.setTime(start)
})
afterAll(() => db.close())

function owner(name: string, shards = 4) {
  const ownership = createOwnership({ ...db.connection, owner: name, shards, ttl })
  onTestFinished(() => ownership.close())
  return ownership
}

/** Breaks the session that holds a name, as a kill -9 of its process does, and waits until the database knows. */
async function breakSession(name: string): Promise<void> {
  const holder = `select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)`
  const pid = await db.value(holder, [name])
  await db.value('select pg_terminate_backend($1)', [pid])
  while ((await db.value(holder, [name])) !== undefined) await Promise.resolve()
}

/** Another session holds the fence of a shard, as a commit does until it ends. */
async function holdFence(shard: number) {
  const commit = await session(db.url)
  await commit.query(`begin; select from ingest.ownership where shard = ${shard} for share`)
  return commit
}

const epochs = (fences: readonly { readonly shard: number; readonly epoch: number }[]) =>
  fences.map(({ shard, epoch }) => [shard, epoch])

describe('ownership', () => {
  it('is of every shard for the first, and of none for the second while the first lives', async () => {
    const [first, second] = [owner('first'), owner('second')]
    expect(epochs(await first.claim())).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1],
    ])
    expect(await second.claim()).toEqual([])
    expect(await first.claim()).toContainEqual({ shard: 2, owner: 'first', epoch: 1 })
  })

  it('is renewed without a new epoch', async () => {
    const first = owner('first', 1)
    await first.claim()
    await db.advance(ttl - 1)
    expect(epochs(await first.claim())).toEqual([[0, 1]])
    expect(await db.value('select expires_at from ingest.lease')).toEqual(
      new Date(Date.parse(start) + ttl - 1 + ttl),
    )
  })

  it('goes to the next at once, with a new epoch, when the session of the first dies', async () => {
    const [first, second] = [owner('first', 2), owner('second', 2)]
    await first.claim()
    await breakSession('first')
    expect(epochs(await second.claim())).toEqual([
      [0, 2],
      [1, 2],
    ])
    expect(await first.claim().catch(() => first.claim())).toEqual([])
  })

  it('goes to the next when it has expired, although the session of the first lives', async () => {
    const [first, second] = [owner('first', 1), owner('second', 1)]
    await first.claim()
    await db.advance(ttl - 1)
    expect(await second.claim()).toEqual([])
    await db.advance(1)
    expect(epochs(await second.claim())).toEqual([[0, 2]])
    expect(await first.claim()).toEqual([])
  })

  it('is taken up again on a new connection when nobody took it meanwhile', async () => {
    const first = owner('first', 1)
    await first.claim()
    await breakSession('first')
    const again = await first.claim().catch(() => first.claim())
    expect(epochs(again)).toEqual([[0, 1]])
    expect(await owner('second', 1).claim()).toEqual([])
  })

  it('that is given back can be taken at once', async () => {
    const [first, second] = [owner('first', 2), owner('second', 2)]
    await first.claim()
    await first.release()
    expect(epochs(await second.claim())).toEqual([
      [0, 2],
      [1, 2],
    ])
  })

  it('is shared out when there are more shards later', async () => {
    await owner('first', 2).claim()
    expect(epochs(await owner('second', 4).claim())).toEqual([
      [2, 1],
      [3, 1],
    ])
  })

  it('never makes a claim wait for the commits of others', async () => {
    await owner('first', 2).claim()
    const commit = await holdFence(0)
    expect(await owner('second', 2).claim()).toEqual([])
    await commit.query('rollback')
  })

  it('is given back in turn with the claims of others, so that neither waits for rows of the other', async () => {
    const first = owner('first', 2)
    await first.claim()
    const claiming = await session(db.url)
    await claiming.query(`begin; select pg_advisory_xact_lock(hashtext('penstock.claim'))`)
    const released = first.release()
    const waiting = `select count(*)::int from pg_locks where locktype = 'advisory' and not granted`
    while ((await db.value(waiting)) === 0) await Promise.resolve()
    expect(await db.value('select count(*)::int from ingest.lease')).toBe(2)
    await claiming.query('commit')
    await released
    expect(await db.value('select count(*)::int from ingest.lease')).toBe(0)
  })

  it('is renewed and given back at once while a commit holds the fence', async () => {
    const [first, second] = [owner('first', 2), owner('second', 2)]
    await first.claim()
    const commit = await holdFence(0)
    expect(epochs(await first.claim())).toEqual([
      [0, 1],
      [1, 1],
    ])
    await first.release()
    expect(await db.value('select count(*)::int from ingest.lease')).toBe(0)
    await commit.query('rollback')
    expect(epochs(await second.claim())).toEqual([
      [0, 2],
      [1, 2],
    ])
  })

  it('goes to the next when the last commit of the former owner is over, who is fenced then', async () => {
    const [first, second] = [owner('first', 2), owner('second', 2)]
    const [fence] = await first.claim()
    const commit = await holdFence(0)
    await db.advance(ttl)
    expect(epochs(await second.claim())).toEqual([[1, 2]])
    await commit.query('rollback')
    expect(epochs(await second.claim())).toEqual([
      [0, 2],
      [1, 2],
    ])
    expect(await db.store.commit(logPage('r', 0, { fence: fence! }))).toEqual({ outcome: 'fenced' })
    expect(await first.claim()).toEqual([])
  })

  it('is of the wanted shards alone, or of none where they are not to be had', async () => {
    const [first, second] = [owner('first'), owner('second')]
    expect(epochs(await first.claim([2]))).toEqual([[2, 1]])
    expect(await second.claim([2])).toEqual([])
    expect(await db.rows('select shard, owner from ingest.ownership')).toEqual([{ shard: 2, owner: 'first' }])
    expect(await db.rows('select shard from ingest.lease')).toEqual([{ shard: 2 }])
  })

  it('tells an outage from a refusal', async () => {
    const url = new URL(db.url)
    url.port = '1'
    const lost = createOwnership({ ...db.connection, url: url.href, owner: 'lost', shards: 1, ttl })
    await expect(lost.claim()).rejects.toMatchObject({ name: 'StoreUnavailable', code: 'ECONNREFUSED' })
    await lost.close()
  })
})
