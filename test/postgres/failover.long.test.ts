import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { destroyEmbedded, type EmbeddedPostgres, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import type { Ledger } from '../../src/engine/ports.ts'
import { auditLedger } from '../../src/postgres/audit.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { readStatus, readStoreGauges, readTimelines } from '../../src/postgres/status.ts'
import { perDay, perSecond } from '../../src/provider/limits.ts'
import { defaultConnection } from '../support/connection.ts'
import { ask } from '../support/embedded.ts'
import { type Standby, startStandby } from '../support/standby.ts'
import { anyTime, debit, reach } from './debits.ts'
import { standStill, start } from './harness.ts'
import { mostArrivals } from './wire.ts'

let folder: string
let primary: EmbeddedPostgres | undefined
let standby: Standby | undefined
const dirOf = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-failover-'))
  await chmod(folder, 0o755)
  primary = await startEmbedded({ dataDir: dirOf('primary'), clock: systemClock, durability: 'test' })
  await migrateUp({ url: primary.url })
  await ask(primary.url, standStill)
  standby = await startStandby(primary, dirOf('primary'), dirOf('standby'))
})

afterAll(async () => {
  await Promise.all([primary?.stop(), standby?.stop()])
  for (const name of ['primary', 'standby']) await destroyEmbedded(dirOf(name), systemClock)
  await rm(folder, { recursive: true, force: true })
})

const second = 1_000

it('a standby tells the status, the gauges, the timelines and the audit, and until when it has seen what was written', async () => {
  await ask(
    primary!.url,
    `insert into ingest.replica values ('me', ingest.clock(), ingest.clock() + interval '1 hour', '{1}')`,
  )
  const since = Math.floor(
    Date.parse(String((await ask(primary!.url, 'select clock_timestamp()::text as at'))[0]!.at)) / second,
  )
  await ask(
    primary!.url,
    `insert into ingest.progress (app_id, stream, series) values ('school', 'room-events', 'algebra')`,
  )
  await standby!.catchUp()
  const reading = connect({ ...defaultConnection, url: standby!.url, statementTimeout: 3_000 })
  try {
    const status = await readStatus(reading)
    expect(status).toMatchObject({
      streams: [{ app: 'school', open: 1 }],
      owners: [{ owner: 'me', shards: 1 }],
    })
    expect(Date.parse(status.replicaAt!) / second).toBeGreaterThanOrEqual(since)
    expect(await readStoreGauges(reading)).toMatchObject({ gaps: [] })
    expect(await readTimelines(reading)).toHaveLength(1)
    expect(await auditLedger(reading, [], () => true)).toEqual({
      evidenceSince: null,
      groups: [],
      refusals: [],
    })
  } finally {
    await reading.end()
  }
  const itself = connect({ ...defaultConnection, url: primary!.url })
  expect((await readStatus(itself).finally(() => itself.end())).replicaAt).toBeNull()
  await ask(primary!.url, `delete from ingest.progress; delete from ingest.replica`)
})
const rates = [perSecond(3), perDay(40)]

/** Sends as much as the ledger lets through until so many have been sent or so much time has passed; answers when. */
async function send(
  url: string,
  ledger: Ledger,
  { since, most, lasts }: { readonly since: number; readonly most: number; readonly lasts: number },
): Promise<readonly number[]> {
  const sent: number[] = []
  let now = since
  while (sent.length < most && now < since + lasts) {
    const taken = await ledger.take(debit('call-search', 1, 1, { rates }))
    if (taken.granted === 'fenced') throw new Error('fenced')
    if (taken.granted) {
      sent.push(now)
      await ledger.settle(taken.grant, 'refused', anyTime)
    }
    const pause = taken.granted ? 10 : taken.wait
    await ask(url, `update ingest.test_clock set at = at + interval '${pause} ms'`)
    now += pause
  }
  return sent
}

it('after a failover to a standby that lagged behind, no limit is broken', async () => {
  if (!primary || !standby) throw new Error('both servers must run')
  const pools = [primary.url, standby.url].map(url => connect({ ...defaultConnection, url }))
  const [before, after] = pools.map(createLedger) as [Ledger, Ledger]
  try {
    const first = await send(primary.url, before, { since: 0, most: 10, lasts: 60 * second })
    await standby.catchUp()
    await standby.cutOff()
    const lost = await send(primary.url, before, { since: 10 * second, most: 20, lasts: 60 * second })
    expect([first, lost].map(({ length }) => length)).toEqual([10, 20])
    await primary.stop()
    await standby.promote()

    const failedOverAt = 30 * second
    const time = new Date(Date.parse(start) + failedOverAt).toISOString()
    await ask(standby.url, `update ingest.test_clock set at = '${time}'`)
    const atOnce = await after.take(debit('call-search', 1, 1, { rates }))
    expect(atOnce).toMatchObject({ granted: false })
    const known = await ask(
      standby.url,
      `select count(*) filter (where operation <> 'lost history')::int as known,
              count(*) filter (where operation = 'lost history')::int as assumed,
              (select count(*)::int from ingest.history) as histories from ingest.debit`,
    )
    expect(known[0]).toMatchObject({ known: 10, histories: 2 })
    expect(known[0]!.assumed).toBeGreaterThanOrEqual(lost.length)

    const then = await send(standby.url, after, {
      since: failedOverAt,
      most: 100,
      lasts: 60 * 3_600 * second,
    })
    expect(then.length).toBeGreaterThan(40)
    expect(then[0]).toBeGreaterThan(failedOverAt + reach)
    const arrivals = [...first, ...lost, ...then]
    for (const { requests, window } of rates) {
      expect(mostArrivals(arrivals, window)).toBeLessThanOrEqual(requests)
    }
  } finally {
    await Promise.all(pools.map(pool => pool.end()))
  }
})
