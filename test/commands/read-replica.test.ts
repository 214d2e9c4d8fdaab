import { expect, it, onTestFinished } from 'vitest'
import { openParts } from '../../src/commands/wiring/parts.ts'
import { readConfig } from '../../src/config/load.ts'
import { readStatus } from '../../src/postgres/status.ts'
import type { ProcessStatus } from '../../src/telemetry/process-status.ts'
import { createStatus } from '../../src/telemetry/status.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { samples } from '../telemetry/meter-harness.ts'

/** Nobody listens there. */
const away = 'postgres://nobody:x@127.0.0.1:1/none'

/** What a daemon tells of the database, where status and gauges are read from a replica. */
async function toldWith(url: string, readUrl: string) {
  const text = `
database: { url: "${url}", readUrl: "${readUrl}" }
provider: { classroom: { url: "https://x.example" } }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]
`
  const config = await readConfig(text, { name: 'text', env: {}, folder: '/' })
  const parts = await openParts({ config, databaseUrl: url }, () => [])
  onTestFinished(async () => {
    parts.meter.close()
    await Promise.all([parts.transport.close(), parts.pool.end(), parts.readings.end()])
  })
  const { clock, log, answers } = parts
  const process: ProcessStatus = {
    ...{ owner: 'me', startedAt: new Date(clock.now()).toISOString(), isDraining: false, apps: [] },
    ...{
      acceptedLosses: [],
      providers: [],
      reading: [],
      budgets: [],
      lossAhead: [],
      databaseFullSince: null,
    },
  }
  const own = () => ({ version: '1', shards: 0, apps: [], process })
  const status = createStatus({ clock, log, own, answers, read: () => parts.ask(readStatus) })
  const [up] = samples(await parts.meter.scrape(), 'penstock_database_up')
  const { databaseAnswers } = await status()
  return [up, databaseAnswers]
}

it('a replica that is away is no database that is down, and one that answers is none that is up', async () => {
  const database = await cloneDatabase()
  onTestFinished(() => database.drop())
  const [up, down] = ['penstock_database_up 1', 'penstock_database_up 0']
  expect(await toldWith(database.url, away)).toEqual([up, true])
  expect(await toldWith(away, database.url)).toEqual([down, false])
  expect(await toldWith(database.url, database.url)).toEqual([up, true])
})
