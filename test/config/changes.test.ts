import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { changesBetween } from '../../src/config/changes.ts'
import { readConfig } from '../../src/config/load.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-changes-'))
  for (const name of ['token', 'other']) await writeFile(join(folder, name), name)
})

const app = (id: string, more: object = {}) => ({
  ...{ id, region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } },
  ...more,
})
const plain = { provider: { classroom: { url: 'https://x.example' } }, apps: [app('a'), app('b')] }

async function changes(after: object, before: object = plain) {
  const read = (said: object) => readConfig(JSON.stringify(said), { name: 'text', env: {}, folder })
  return changesBetween(await read(before), await read(after))
}

const nothing = { added: [], removed: [], changed: [], restart: [] }

it('a configuration that says the same, in whatever order, has no changes', async () => {
  expect(await changes(plain)).toEqual(nothing)
  const { provider, apps } = plain
  const same = { apps: apps.toReversed(), streams: { poll: { activeEvery: '15s' } }, provider }
  expect(await changes(same)).toEqual(nothing)
})

it('apps come, go and change', async () => {
  const after = { ...plain, apps: [app('b', { plan: 'starter' }), app('c')] }
  expect(await changes(after)).toEqual({ ...nothing, added: ['c'], removed: ['a'], changed: ['b'] })
})

it('what the file says of streams or limits changes the apps that it holds for', async () => {
  const apps = [app('a', { streams: { poll: 'off' } }), app('b')]
  const before = { ...plain, apps }
  const streams = { poll: { activeEvery: '20s' } }
  expect(await changes({ ...before, streams }, before)).toEqual({ ...nothing, changed: ['b'] })
  const cron = { poll: { cron: '*/30 * * * *' } }
  const earlier = { poll: { cron: '*/20 * * * *' } }
  expect(await changes({ ...before, streams: cron }, { ...before, streams: earlier })).toMatchObject({
    changed: ['b'],
  })
  const limits = { classroom: { perSecond: 9 } }
  expect(await changes({ ...before, limits }, before)).toEqual({ ...nothing, changed: ['a', 'b'] })
})

it.each([
  ['another text', { token: 't' }, { token: 't2' }, true],
  ['another file', { tokenFile: 'token' }, { tokenFile: 'other' }, true],
  ['a file instead of its text', { token: 'token' }, { tokenFile: 'token' }, true],
  ['the same file', { tokenFile: 'token' }, { tokenFile: './token' }, false],
  ['another program', { tokenCommand: 'make token' }, { tokenCommand: 'make tokens' }, true],
  ['the same program', { tokenCommand: 'make token' }, { tokenCommand: ['make', 'token'] }, false],
])('a secret that is %s', async (_, before, after, isChanged) => {
  const of = (secret: object) => ({ ...plain, apps: [app('a', { classroom: { uid: 'u', ...secret } })] })
  expect((await changes(of(after), of(before))).changed).toEqual(isChanged ? ['a'] : [])
})

it('names the keys that need a restart, and no value', async () => {
  const after = {
    ...plain,
    database: { url: 'postgres://me:secret@db/penstock', poolSize: 9 },
    http: { listen: '0.0.0.0:9464' },
    log: { level: 'debug' },
    schedule: { housekeeping: '0 * * * *' },
    provider: { classroom: { url: 'https://y.example' }, players: { url: 'https://x.example' } },
    retention: { samples: '30d' },
    store: { chat: 'off' },
  }
  expect(await changes(after)).toEqual({
    ...nothing,
    restart: [
      ...['database.poolSize', 'database.url', 'http.listen', 'provider.classroom.url', 'provider.players'],
      ...['retention', 'schedule.housekeeping', 'store.chat'],
    ],
  })
})
