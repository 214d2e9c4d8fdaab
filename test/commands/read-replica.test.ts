import { expect, it, onTestFinished } from 'vitest'
import { openParts } from '../../src/commands/wiring/parts.ts'
import { readConfig } from '../../src/config/load.ts'
import { cloneDatabase } from '../support/postgres.ts'

/** Nobody listens there. */
const away = 'postgres://nobody:x@127.0.0.1:1/none'

/** What a daemon tells Prometheus of the database, where status and gauges are read from a replica. */
async function scrapeWith(url: string, readUrl: string): Promise<string> {
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
  return await parts.meter.scrape()
}

it('a replica that is away is no database that is down, and one that answers is none that is up', async () => {
  const database = await cloneDatabase()
  onTestFinished(() => database.drop())
  expect(await scrapeWith(database.url, away)).toContain('penstock_database_up 1')
  expect(await scrapeWith(away, database.url)).toContain('penstock_database_up 0')
  expect(await scrapeWith(database.url, database.url)).toContain('penstock_database_up 1')
})
