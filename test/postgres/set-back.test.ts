import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openStore, type TestStore } from './harness.ts'
import { all, forgetOwners, type Owners, ownersOf } from './owners.ts'

const aSecond = 1_000

let db: TestStore
let owner: Owners['owner']
let breakSession: Owners['breakSession']
beforeAll(async () => {
  db = await openStore()
  ;({ owner, breakSession } = ownersOf(db))
})
beforeEach(() => forgetOwners(db))
afterAll(() => db.close())

describe('a database that is an older one than before', () => {
  /** The session breaks, and the database has what it had so long ago, ms; what it says of its history is `mark` from then on. */
  async function goBack(ms: number, mark?: string) {
    await db.rows('update ingest.history set last_seen_at = last_seen_at - $1::interval', [
      `${ms} milliseconds`,
    ])
    if (mark !== undefined) await db.rows('update ingest.history set mark = $1', [mark])
    await breakSession('first')
    onTestFinished(async () => void (await db.rows('truncate ingest.history')))
  }
  /** Whoever asks over the broken session learns no more than that it is. */
  const claimed = ({ claim }: ReturnType<typeof owner>) => claim().catch(() => claim())
  const told = async (one: ReturnType<typeof owner>) => (await claimed(one)).setBack

  it('is told of, though all shards are still owned under the same epoch', async () => {
    const first = owner('first')
    expect(await told(first)).toBe(0)
    await first.clock.advance(aSecond)
    await db.advance(aSecond)
    expect(await told(first)).toBe(0)
    const begun = () => db.value('select count(*)::int from ingest.history', [])
    expect(await begun()).toBe(1)
    await goBack(86_400_000)
    expect(await claimed(first)).toMatchObject({ setBack: 1, fences: { length: 4 } })
    expect(await begun()).toBe(2)
    expect(await first.epochs()).toEqual(all(1))
    expect(await told(first)).toBe(1)
    await goBack(86_400_000)
    expect(await told(first)).toBe(2)
  })

  it('is told of where it knows nothing of the history that was written in', async () => {
    const first = owner('first')
    await first.claim()
    await goBack(0, 'another')
    expect(await told(first)).toBe(1)
  })

  it('is told of, once, where another history goes on: a standby that took over may lack what came last', async () => {
    const first = owner('first')
    expect(await told(first)).toBe(0)
    await db.rows(
      `insert into ingest.history (mark, first_seen_at, last_seen_at)
       select mark || '+1', ingest.clock(), ingest.clock() from ingest.history`,
    )
    await breakSession('first')
    onTestFinished(async () => void (await db.rows('truncate ingest.history')))
    expect(await claimed(first)).toMatchObject({ setBack: 1, fences: { length: 4 } })
    expect(await told(first)).toBe(1)
    expect(await told(owner('second'))).toBe(0)
  })

  it('is none where next to nothing was lost, however long it was away, nor at the start', async () => {
    const first = owner('first')
    await first.claim()
    await first.clock.advance(600 * aSecond)
    await db.advance(600 * aSecond)
    await goBack(5 * aSecond)
    expect(await told(first)).toBe(0)
    expect(await told(owner('second'))).toBe(0)
  })
})
