import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Daemon, startDaemon } from '../../src/commands/run.ts'
import { readConfig } from '../../src/config/load.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { execute, type TestDatabase } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { announcements } from './announcements.ts'

const pages: Readonly<Record<string, object>> = {
  '': { list: [{ announcementId: 'a', text: 'Term begins', by: 'head' }], nextId: 'n1' },
  n1: { list: [{ announcementId: 'b', text: 'Sports day' }, { announcementId: 7 }] },
}
const asked: string[] = []
const provider = createServer((request, response) => {
  const { pathname, searchParams } = new URL(`http://x${request.url}`)
  asked.push(pathname)
  const data = pages[searchParams.get('nextId') ?? '']
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ code: 0, msg: 'Success', ts: Date.now(), data }))
})

let database: TestDatabase
let daemon: Daemon
beforeAll(async () => {
  database = await cloneDatabase()
  await execute(
    database.url,
    `set role penstock_migrate;
     create table classroom.announcement (
       app_id text not null, announcement_id text not null, text text not null, extra jsonb, primary key (app_id, announcement_id))`,
  )
  const streams = { announcements }
  await migrateUp({ url: database.url, streams: Object.values(streams) })
  await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  const text = `
database: { url: "${database.url}" }
http: { listen: 127.0.0.1:0 }
log: { level: error }
provider: { classroom: { url: "http://127.0.0.1:${port}" } }
streams: { announcements: { every: 1s } }
apps: [{ id: school, region: eu, plan: standard, classroom: { uid: u, token: t } }]`
  const config = await readConfig(text, { name: 'text', env: {}, folder: '/', streams })
  daemon = await startDaemon({ config, databaseUrl: database.url })
})
afterAll(async () => {
  await daemon?.stop()
  provider.close()
  await database.drop()
})

it('a stream of one’s own is drained by its file, its table and its place in the register alone', async () => {
  await vi.waitFor(
    async () => {
      const rows = await ask(database.url, 'select * from classroom.announcement order by 2')
      expect(rows).toEqual([
        { app_id: 'school', announcement_id: 'a', text: 'Term begins', extra: { by: 'head' } },
        { app_id: 'school', announcement_id: 'b', text: 'Sports day', extra: null },
      ])
    },
    { timeout: 120_000, interval: 100 },
  )
  expect(new Set(asked)).toEqual(new Set(['/eu/edu/apps/school/v2/announcements']))
  const letters = await ask(database.url, 'select stream, reason, detail from ingest.dead_letter')
  expect(letters).toEqual([{ stream: 'announcements', reason: 'wrong_type', detail: expect.any(String) }])
  const known = await ask(
    database.url,
    `select kind, scope, writes from ingest.stream where stream = 'announcements'`,
  )
  expect(known).toEqual([{ kind: 'snapshot', scope: 'app', writes: ['classroom.announcement'] }])
})
