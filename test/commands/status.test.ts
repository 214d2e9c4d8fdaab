import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { frame } from '../../src/commands/status.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { situations } from '../telemetry/page/situations.ts'
import { penstock } from './penstock.ts'

test('a frame of status --watch begins with the verdict, whole, and fits the terminal', () => {
  const lines = frame(situations.losing.status, { columns: 60, rows: 20 })
  expect(lines.slice(0, 3).join('').replaceAll(/ +/g, ' ')).toContain(
    'LOSING Data was lost within the last 24 hours: 3 ranges of realtime-usage (not read in time)',
  )
  expect(lines.length).toBeLessThan(20)
  expect(lines.filter(line => line.length > 60)).toEqual([])
})

test('a frame of status --watch shows budgets as bars, with their pace', () => {
  const lines = frame(situations.healthy.status, { columns: 100, rows: 50 })
  expect(lines).toContain('call-details     ############........  62 %  1.4 times an even pace')
  expect(lines.join()).not.toContain('\u001b')
})

test('status --check takes no offence at what is taken out or switched off, nor at what is asked once a day', async () => {
  const database = await cloneDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'penstock-status-'))
  onTestFinished(async () => {
    await rm(folder, { recursive: true, force: true })
    await database.drop()
  })
  const path = join(folder, 'penstock.yaml')
  const check = async (...apps: readonly string[]) => {
    const named = apps.map(id => `{ id: ${id}, region: ap, plan: premium, rest: { key: k, secret: s } }`)
    const text = `{ database: { url: "${database.url}" }, provider: { analytics: { url: "https://a.example.com" } },
      http: { listen: "127.0.0.1:1" }, streams: { calls: { cron: "0 4 * * *" } }, apps: [${named}] }`
    await writeFile(path, text, { mode: 0o600 })
    return await penstock(['status', '--config', path, '--check'])
  }
  await execute(
    database.url,
    `insert into ingest.ownership values (0, 'me', 1);
     insert into ingest.replica (owner, since, seen_at, knows) values ('me', ingest.clock(), ingest.clock() + interval '1 minute', '{1}');
     insert into ingest.progress (app_id, stream, series, backlog_from, updated_at)
     values ('daily', 'calls', '', ingest.clock(), ingest.clock() - interval '8 hours'),
            ('gone', 'realtime-usage', '', ingest.clock(), ingest.clock() - interval '8 hours')`,
  )
  expect(await check('daily')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^WELL /) })
  // No service of players is configured, so nobody lists them any more.
  await execute(
    database.url,
    `insert into ingest.progress (app_id, stream, series, updated_at) values ('daily', 'cloud-players', '', ingest.clock() - interval '2 days')`,
  )
  expect(await check('daily')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^WELL /) })
  expect(await check('daily', 'gone')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^BEHIND +Nothing of realtime-usage of app gone was stored for 8 h/),
  })
})
