import type pg from 'pg'
import { PgBoss } from 'pg-boss'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { debit, freshGroup, granted } from './debits.ts'
import { logPage, openStore, session, type TestStore } from './harness.ts'
import { all, forgetOwners, type Owners, ownersOf } from './owners.ts'

const aSecond = 1_000
/** Whoever was silent for so long has lost its shards, by the contract of the queue. */
const silence = 10 * aSecond

let db: TestStore
let owner: Owners['owner']
let breakSession: Owners['breakSession']
beforeAll(async () => {
  db = await openStore()
  ;({ owner, breakSession } = ownersOf(db))
})
beforeEach(() => forgetOwners(db))
afterAll(() => db.close())

/** Another session holds the fence of a shard, as a commit does until it ends. */
async function holdFence(shard: number) {
  const commit = await session(db.url)
  await commit.query(`begin; select from ingest.ownership where shard = ${shard} for share`)
  return commit
}

/** A login that may do what the daemon may, and no more. */
async function plainLogin(): Promise<string> {
  const login = 'owner_of_test'
  await db.rows(`drop role if exists ${login}`)
  await db.rows(`create role ${login} login password 'word' in role penstock_runtime`)
  const url = new URL(db.url)
  url.username = login
  url.password = 'word'
  return url.href
}

/** Half of a COPY is sent, and then nothing, as by a process that is stopped, or whose machine is gone. */
function copyHalf(client: pg.Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query({
      submit: (connection: { readonly query: (text: string) => void }) =>
        connection.query('copy ingest.dead_letter (app_id) from stdin'),
      handleCopyInResponse: resolve,
      handleError: reject,
    } as unknown as pg.Submittable)
  })
}

describe('ownership', () => {
  it('is of every shard for the first, at once, and renewed without another epoch', async () => {
    const first = owner('first')
    expect(await first.epochs()).toEqual(all(1))
    await db.advance(silence - 1)
    expect(await first.epochs()).toEqual(all(1))
    await db.advance(silence - 1)
    expect(await first.epochs()).toEqual(all(1))
  })

  it('goes to the next at once, under another epoch, when the session of the first dies', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await breakSession('first')
    expect(await second.epochs()).toEqual(all(2))
  })

  it('goes to the next when the first was silent, although its session lives', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await db.advance(silence - 1)
    expect(await second.epochs()).toEqual([])
    await db.advance(2 * aSecond)
    expect(await second.epochs()).toEqual(all(2))
    expect((await first.claim()).fences).toEqual([])
  })

  it('goes to the next though the first was stopped in the middle of a COPY, which no time limit ends', async () => {
    const url = await plainLogin()
    const [first, second] = [
      owner('first', undefined, { url }),
      owner('second', undefined, { url, copyPatience: 0 }),
    ]
    await first.claim()
    const commit = await session(url)
    await commit.query('begin; select from ingest.ownership where shard = 2 for share')
    await copyHalf(commit)
    await breakSession('first')
    await expect.poll(second.epochs).toEqual(all(2))
  })

  it('waits for a commit that only takes its time', async () => {
    const [first, second] = [owner('first'), owner('second', undefined, { copyPatience: 0 })]
    await first.claim()
    const commit = await holdFence(2)
    await breakSession('first')
    const others = all(2).filter(([shard]) => shard !== 2)
    for (let n = 0; n < 3; n++) expect(await second.epochs()).toEqual(others)
    await commit.query('commit')
    expect(await second.epochs()).toEqual(all(2))
  })

  it('is taken up again on another connection when nobody took it meanwhile', async () => {
    const first = owner('first')
    await first.claim()
    await breakSession('first')
    expect(await first.epochs().catch(() => first.epochs())).toEqual(all(1))
  })

  it('leaves those alone who may not be back yet after an outage that it had a part in', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await second.claim()
    await db.advance(silence + aSecond)
    await breakSession('first')
    await breakSession('second')
    expect(await second.epochs().catch(() => second.epochs())).toEqual([])
    const kept = await first.claim().catch(() => first.claim())
    expect([...kept.fences.map(({ epoch }) => epoch), ...kept.surplus]).toEqual([1, 1, 2, 3])
    await breakSession('first')
    await second.clock.advance(silence)
    await db.advance(aSecond)
    expect(await second.epochs()).toEqual(all(2))
  })

  it('that is given back can be taken at once', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await first.release()
    expect(await second.epochs()).toEqual(all(2))
  })

  it('is of nobody who has given everything back, whose claim comes late', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await Promise.all([first.release(), first.claim()])
    expect((await first.claim()).fences).toEqual([])
    await first.close()
    expect((await first.claim()).fences).toEqual([])
    const sessions = `select count(*)::int from pg_locks where locktype = 'advisory' and classid::bigint << 32 | objid::bigint = hashtextextended('first', 0)`
    while ((await db.value(sessions, [])) !== 0) await Promise.resolve()
    expect(await second.epochs()).toEqual(all(2))
  })

  it('is of the wanted shard alone where it is borrowed, and of none where it is not to be had', async () => {
    const [first, second, daemon] = [owner('first'), owner('second'), owner('daemon')]
    expect(await first.borrow(2)).toEqual({ shard: 2, owner: 'first', epoch: 1 })
    expect(await second.borrow(2)).toBeUndefined()
    expect(await daemon.epochs()).toEqual([
      [0, 1],
      [1, 1],
      [3, 1],
    ])
    await first.release()
    expect(await daemon.epochs()).toContainEqual([2, 2])
  })

  it('goes on above the epochs of before when the queue was emptied', async () => {
    const first = owner('first')
    await first.claim()
    await first.close()
    await db.rows('update ingest.ownership set epoch = 7')
    await db.rows('truncate ingest_jobs.job')
    expect(await owner('second').epochs()).toEqual(all(8))
  })

  it('comes back where the fence says less than the queue, as after a failover', async () => {
    const first = owner('first')
    await first.claim()
    await first.release([0, 1, 2, 3])
    expect(await first.epochs()).toEqual(all(2))
    await db.rows(`update ingest.ownership set owner = 'other', epoch = 1`)
    expect(await first.epochs()).toEqual(all(2))
  })

  it('is given up where a later one was there, and taken again above it', async () => {
    const first = owner('first')
    await first.claim()
    await db.rows(`update ingest.ownership set owner = 'other', epoch = 3 where shard = 2`)
    expect(await first.epochs()).not.toContainEqual([2, 3])
    const seen: unknown[] = []
    for (let n = 0; n < 4; n++) seen.push((await first.epochs()).find(([shard]) => shard === 2)?.[1])
    expect(seen.filter(Boolean)).not.toContain(3)
    expect(seen.at(-1)).toBe(4)
  })

  it('tells an outage from a refusal', async () => {
    const url = new URL(db.url)
    url.port = '1'
    const lost = createOwnership({
      ...{ ...db.connection, url: url.href, owner: 'lost', knows: () => [1], clock: new VirtualClock() },
    })
    await expect(lost.claim()).rejects.toMatchObject({ name: 'StoreUnavailable', code: 'ECONNREFUSED' })
    await lost.close()
  })
})

describe('shards among several', () => {
  it('are shared as equally as can be, when each has given back what is too much', async () => {
    const [first, second, third] = [owner('first'), owner('second'), owner('third')]
    await first.claim()
    await second.claim()
    expect((await first.claim()).surplus).toHaveLength(2)
    expect((await first.claim()).fences).toHaveLength(2)
    expect(await second.epochs()).toEqual([])
    await first.settle()
    expect(await second.epochs()).toHaveLength(2)
    await third.claim()
    for (const each of [first, second, third, first, second, third]) await each.settle()
    const shares = await Promise.all(
      [first, second, third].map(async each => (await each.claim()).fences.length),
    )
    expect(shares.toSorted()).toEqual([1, 1, 2])
  })

  it('go back to those who stay', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await second.claim()
    await first.settle()
    expect(await second.epochs()).toHaveLength(2)
    await second.release()
    const again = await first.epochs()
    expect(again).toHaveLength(4)
    expect(again.filter(([, epoch]) => epoch === 3)).toHaveLength(2)
  })

  it('stay held, under the same epoch, until they are released', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    await second.claim()
    const { surplus } = await first.claim()
    await db.advance(silence - 1)
    expect((await first.claim()).surplus).toEqual(surplus)
    await db.advance(silence - 1)
    expect(await second.epochs()).toEqual([])
  })

  it('go to those who know their apps, and nobody else takes them meanwhile', async () => {
    const former = owner('former', [1, 1, 1, 1])
    await former.claim()
    const newer = owner('newer', [1, 2, 1, 1])
    expect(await newer.epochs()).toEqual([])
    const { surplus } = await former.claim()
    expect(surplus).toContain(1)
    await former.release(surplus)
    expect((await former.claim()).fences.map(({ shard }) => shard)).not.toContain(1)
    expect(await newer.epochs()).toContainEqual([1, 2])
  })

  it('are for those who know less again when nobody else is left', async () => {
    const [former, newer] = [owner('former', [1, 1]), owner('newer', [2, 2])]
    expect(await newer.epochs()).toHaveLength(2)
    expect(await former.epochs()).toEqual([])
    await newer.release()
    expect(await former.epochs()).toEqual([
      [0, 2],
      [1, 2],
    ])
  })
})

describe('the fence', () => {
  it('never makes a claim wait for the commits of others', async () => {
    const [first, second] = [owner('first'), owner('second')]
    await first.claim()
    const commit = await holdFence(0)
    await first.release()
    expect(await second.epochs()).toEqual(all(2).slice(1))
    await commit.query('rollback')
    expect(await second.epochs()).toEqual(all(2))
  })

  it('passes on while a request of the former owner waits behind others of its budget', async () => {
    const [first, second] = [owner('first'), owner('second')]
    const fence = (await first.claim()).fences.find(({ shard }) => shard === 0)!
    const asked = debit(freshGroup(), 5, 60, { fence })
    await granted(db.ledger, asked)
    const other = await session(db.url)
    await other.query(`begin; select from ingest.budget where limit_group = '${asked.group}' for update`)
    const taken = db.ledger.take(asked)
    const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    while ((await db.value(waiting)) === undefined) await Promise.resolve()
    await first.release()
    expect(await second.epochs()).toEqual(all(2))
    await other.query('rollback')
    expect(await taken).toEqual({ granted: 'fenced' })
  })

  it('is not in the way of renewing, nor of giving back', async () => {
    const first = owner('first')
    await first.claim()
    const commit = await holdFence(0)
    expect(await first.epochs()).toEqual(all(1))
    await first.release()
    await commit.query('rollback')
  })

  it('refuses the former owner when the next one has raised it', async () => {
    const [first, second] = [owner('first'), owner('second')]
    const fence = (await first.claim()).fences.find(({ shard }) => shard === 0)!
    await first.release()
    await second.claim()
    expect(await db.store.commit(logPage('r', 0, { fence }))).toEqual({ outcome: 'fenced' })
  })

  it('stays where somebody was held up between the queue and the fence', async () => {
    await db.rows(`insert into ingest.ownership values (0, 'second', 5)`)
    expect(await db.rows(`select * from ingest.own('first', '{0}', '{4}')`)).toEqual([
      { shard: 0, owner: 'second', epoch: '5' },
    ])
  })
})

describe('the schema of pg-boss', () => {
  it('is the one that this version of it would make', async () => {
    // Nobody has set its clock.
    const untouched = await cloneDatabase()
    const boss = new PgBoss({
      connectionString: untouched.url,
      schema: 'ingest_jobs',
      migrate: false,
      supervise: false,
    })
    boss.on('error', () => {})
    await boss.start()
    const drift = await boss.detectSchemaDrift()
    await boss.stop()
    await untouched.drop()
    expect(drift).toMatchObject({ ok: true })
  })
})
