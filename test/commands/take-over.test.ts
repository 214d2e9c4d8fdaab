import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { engineSettings } from '../../src/commands/engine-settings.ts'
import { type Trigger, takeOver } from '../../src/commands/reload.ts'
import { readConfig } from '../../src/config/load.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

interface Said {
  readonly id: string
  readonly plan?: string
  readonly secret?: string
  readonly keyFile?: string
  readonly signing?: string
}

function read(apps: readonly Said[], more: object = {}) {
  const said = {
    provider: { analytics: { url: 'https://x.example' }, players: { url: 'https://x.example' } },
    apps: apps.map(({ id, plan = 'premium', secret = 's', keyFile, signing }) => ({
      ...{ id, plan, region: 'ap', rest: { ...(keyFile ? { keyFile } : { key: 'shared' }), secret } },
      ...(signing && { notifications: { secret: signing } }),
    })),
    ...more,
  }
  return readConfig(JSON.stringify(said), { name: 'text', env: {}, folder: '/' })
}

/** A daemon of which everything but what is taken over is left out. */
async function daemon(...apps: readonly Said[]) {
  const config = await read(apps)
  const done: unknown[] = []
  let now = { config, settings: engineSettings(config) }
  const current = {
    config: () => now.config,
    settings: () => now.settings,
    note: (config: typeof now.config, settings: typeof now.settings) => {
      now = { config, settings }
    },
  }
  const note =
    (what: string) =>
    (...args: readonly unknown[]) =>
      void done.push([what, ...args])
  const signers = apps.flatMap(({ id, signing }) =>
    signing ? [{ app: id, secret: { current: async () => signing, refresh: async () => false } }] : [],
  )
  const parts = {
    ...{ clock: new VirtualClock(), current, signers },
    credentials: { replace: (app: string, by?: object) => note('credentials')(app, by !== undefined) },
    log: { info: () => {}, warn: note('warned'), error: note('failed'), setLevel: note('level') },
    meter: { configured: note('outcome'), configInForce: note('in force'), follow: () => {} },
    engine: {
      configure: async (apps: readonly { readonly id: string }[], changed: readonly string[]) =>
        note('drained')(
          apps.map(({ id }) => id),
          changed,
        ),
    },
  }
  const take = async (on: Trigger, next: ReturnType<typeof read>, unheard?: string) => {
    const listen = async () => {
      note('listens')(signers.map(({ app }) => app))
      return unheard
    }
    await takeOver({ ...parts, listen } as never, await next, on)
    return done.splice(0)
  }
  return { take, signers, current }
}

it('an app that comes with the same plan has no other one begin anew', async () => {
  const { take } = await daemon({ id: 'a' })
  const done = await take('the file changed', read([{ id: 'a' }, { id: 'b' }]))
  expect(done.slice(0, 4)).toEqual([
    ...[
      ['credentials', 'b', true],
      ['drained', ['a', 'b'], []],
      ['outcome', 'applied'],
      ['listens', []],
    ],
  ])
  // What two apps want of one budget is told as at a start.
  expect(done[4]).toEqual(['in force', true])
  expect(JSON.stringify(done.slice(5))).toContain('would be lost')
})

it('an app whose plan allows less of a budget that is shared has those begin anew that share it', async () => {
  const { take, current } = await daemon({ id: 'a' })
  const done = await take('the file changed', read([{ id: 'a' }, { id: 'b', plan: 'standard' }]))
  expect(done).toContainEqual(['drained', ['a', 'b'], ['a']])
  const rates = current.settings().apps.map(({ limits }) => limits['call-search']!.rates)
  expect(rates[0]).toEqual(rates[1])
})

it('credentials of an app that changed are replaced, and its signature; those of others stay as they are', async () => {
  const { take, signers } = await daemon({ id: 'a', signing: 'one' }, { id: 'b', signing: 'two' })
  const [, kept] = signers
  const done = await take(
    'the file changed',
    read([
      { id: 'a', secret: 'new', signing: 'three' },
      { id: 'b', signing: 'two' },
    ]),
  )
  expect(done).toContainEqual(['drained', ['a', 'b'], ['a']])
  expect(done.filter(each => (each as unknown[])[0] === 'credentials')).toEqual([['credentials', 'a', true]])
  expect(signers).toContain(kept)
  const secrets = signers.map(async ({ app, secret }) => [app, await secret.current()])
  expect((await Promise.all(secrets)).toSorted()).toEqual([
    ['a', 'three'],
    ['b', 'two'],
  ])
})

it('a file that takes an app away holds in nothing before SIGHUP', async () => {
  const { take, current } = await daemon({ id: 'a' }, { id: 'b' })
  const next = () => read([{ id: 'b', plan: 'standard' }], { log: { level: 'debug' } })
  const before = current.config()
  const waiting = await take('the file changed', next())
  expect(waiting.map(each => (each as unknown[])[0])).toEqual(['warned', 'outcome', 'in force'])
  expect(current.config()).toBe(before)
  const done = await take('SIGHUP', next())
  expect(done).toContainEqual(['drained', ['b'], ['b']])
  expect(done).toContainEqual(['level', 'debug'])
  expect(done).toContainEqual(['credentials', 'a', false])
})

it('the first app with notifications has somebody listen for them, once its secret is known', async () => {
  const { take, signers } = await daemon({ id: 'a' })
  expect(signers).toEqual([])
  const done = await take('the file changed', read([{ id: 'a', signing: 'one' }]))
  expect(done).toContainEqual(['listens', ['a']])
  expect(done).toContainEqual(['in force', true])
})

it('what is not in force where nobody can listen is said with its reason', async () => {
  const { take } = await daemon({ id: 'a' })
  const taken = 'notifications cannot be served at 127.0.0.1:9465 (EADDRINUSE)'
  const done = await take('the file changed', read([{ id: 'a', signing: 'one' }]), taken)
  expect(done).toContainEqual(['in force', false])
  expect(done).toContainEqual(['failed', 'notifications are not taken', { reason: taken }])
})

it('an app whose key is another one by now is counted by that, though the file says the same of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-take-over-'))
  try {
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, 'one')
    const said = [{ id: 'a', keyFile }, { id: 'b' }]
    const { take, current } = await daemon(...said)
    const scopeOf = () => current.settings().apps[0]!.limits['call-search']!.scope
    const before = scopeOf()
    expect(await take('a key changed', read(said))).toContainEqual(['outcome', 'unchanged'])
    await writeFile(keyFile, 'two')
    const done = await take('a key changed', read(said))
    expect(done).toContainEqual(['credentials', 'a', true])
    expect(done).toContainEqual(['drained', ['a', 'b'], ['a']])
    expect(scopeOf()).not.toBe(before)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
