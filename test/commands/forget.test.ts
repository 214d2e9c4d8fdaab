import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { app } from '../postgres/harness.ts'
import { lesson, openReplayHarness, type ReplayHarness } from '../postgres/replay-harness.ts'
import { penstock } from './penstock.ts'

let harness: ReplayHarness
let folder: string
let config: string

beforeAll(async () => {
  harness = await openReplayHarness()
  await harness.read('room-events', 'r1', { items: lesson('r1') })
  folder = await mkdtemp(join(tmpdir(), 'penstock-forget-'))
  config = join(folder, 'penstock.json')
  const content = {
    database: { url: harness.db.url },
    provider: {
      classroom: { url: 'http://127.0.0.1:9' },
      analytics: { url: 'http://127.0.0.1:9' },
    },
    apps: [
      {
        ...{ id: app, region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } },
        rest: { key: 'k', secret: 's' },
        streams: { 'realtime-quality': { channels: ['r1'], uids: ['1204'] } },
      },
    ],
  }
  await writeFile(config, JSON.stringify(content), { mode: 0o600 })
})
afterAll(async () => {
  await harness.close()
  await rm(folder, { recursive: true })
})

const forget = (...words: readonly string[]) =>
  penstock(['forget', '--config', config, '--app', app, ...words])
const left = () =>
  harness.db.value(
    `select count(*)::int from classroom.attendance where user_uuid = 'ann' or user_name = 'ANN'`,
  )

it('lists, forgets, and tells once more that nothing is left, without a name', async () => {
  const listed = await forget('--user', 'ann')
  expect(listed).toMatchObject({ code: 0, stderr: '' })
  expect(listed.stdout).toMatch(/classroom\.attendance +2\n/)
  expect(listed.stdout).toContain('nothing was changed; --write masks these rows')
  expect(await left()).toBe(2)

  const done = await forget('--user', 'ann', '--write')
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toContain('rows are masked now')
  expect(await left()).toBe(0)

  const again = await forget('--user', 'ann', '--json')
  expect(JSON.parse(again.stdout)).toEqual({ ok: true, written: false, isForgotten: true, rows: {} })
  for (const { stdout } of [listed, done, again]) expect(stdout).not.toContain('ann')
})

it.each([
  [[], 'give one of --user, --uid and --room'],
  [['--user', 'ann', '--room', 'r1'], 'give one of --user, --uid and --room'],
  [['--uid', '0'], 'is nobody in particular'],
])('a wrong choice ends with 2: %j', async (words, said) => {
  const ended = await forget(...words)
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(said)
})

it('does not forget a user whom the configuration asks for', async () => {
  const ended = await forget('--uid', '1204', '--write')
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('take the ID out of realtime-quality.uids first')
})
