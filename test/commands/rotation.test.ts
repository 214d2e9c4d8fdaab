import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock/system.ts'
import {
  credentialsOf,
  databasePassword,
  openTransport,
  signersIn,
} from '../../src/commands/wiring/services.ts'
import { readConfig } from '../../src/config/load.ts'

/** A configuration whose secrets lie in files, and a clock that is moved by hand. */
async function stage() {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-rotation-'))
  const write = async (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  }
  await write({
    key: 'k1',
    secret: 's1',
    uid: 'u1',
    token: 't1',
    url: 'postgres://me:p1@db/penstock',
    sign: 'n1',
  })
  const text = `
database: { urlFile: url }
provider: { classroom: { url: "https://x.example" }, players: { url: "https://x.example" } }
apps:
  - id: a
    region: ap
    plan: premium
    classroom: { uidFile: uid, tokenFile: token }
    rest: { keyFile: key, secretFile: secret }
    notifications: { secretFile: sign }`
  let now = 0
  return {
    config: await readConfig(text, { name: 'text', env: {}, folder }),
    write,
    clock: { now: () => now, monotonic: () => now, sleep: async () => {} },
    advance: (ms: number) => {
      now += ms
    },
  }
}

const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })

describe('secrets in files that are rotated', () => {
  it('are read again when they were refused, all of them', async () => {
    const { config, clock, write } = await stage()
    const credentials = await credentialsOf(config, clock)
    expect(await credentials.headers('a', 'analytics')).toEqual(basic('k1:s1'))
    await credentials.headers('a', 'classroom')
    await write({ key: 'k2', secret: 's2', uid: 'u2', token: 't2' })
    expect(await credentials.headers('a', 'players')).toEqual(basic('k1:s1'))

    expect(await credentials.refresh('a', 'players')).toBe(true)
    expect(await credentials.headers('a', 'analytics')).toEqual(basic('k2:s2'))
    expect(await credentials.refresh('a', 'classroom')).toBe(true)
    expect(await credentials.headers('a', 'classroom')).toEqual({ 'x-svc-token': 't2', 'x-svc-uid': 'u2' })
    expect(credentials.known()).toEqual(expect.arrayContaining(['s1', 's2', 't2']))
  })

  it('tell once that there is another key, by which requests are counted', async () => {
    const { config, clock, write, advance } = await stage()
    const credentials = await credentialsOf(config, clock)
    const ask = async (files: Readonly<Record<string, string>>) => {
      await write(files)
      advance(5_000)
      await credentials.refresh('a', 'analytics')
      await credentials.headers('a', 'analytics')
      return [credentials.hasNewKey(), credentials.hasNewKey()]
    }
    await credentials.headers('a', 'analytics')
    expect(await ask({ secret: 's2' })).toEqual([false, false])
    expect(await ask({ key: 'k2' })).toEqual([true, false])
  })

  it('are not read for each refusal, but after a pause', async () => {
    const { config, clock, write, advance } = await stage()
    const credentials = await credentialsOf(config, clock)
    await credentials.headers('a', 'analytics')
    expect(await credentials.refresh('a', 'analytics')).toBe(false)
    await write({ secret: 's2' })
    expect(await credentials.refresh('a', 'analytics')).toBe(false)
    expect(await credentials.headers('a', 'analytics')).toEqual(basic('k1:s1'))
    advance(5_000)
    expect(await credentials.refresh('a', 'analytics')).toBe(true)
  })

  it('that sign notifications are read again when a signature was refused, and seldom whatever strangers send', async () => {
    const { config, clock, write, advance } = await stage()
    const [signer] = await signersIn(config, clock)
    const { secret } = signer!
    await write({ sign: 'n2' })
    expect(await secret.current()).toBe('n1')
    expect(await secret.refresh()).toBe(true)
    expect(await secret.current()).toBe('n2')
    await write({ sign: 'n3' })
    advance(59_999)
    expect(await secret.refresh()).toBe(false)
    advance(1)
    expect(await secret.refresh()).toBe(true)
    expect(config.apps[0]!.notifications!.secret.known()).toEqual(['n3', 'n2', 'n1'])
  })

  it('are told to whoever connects to the database next, and the last one while the file is away', async () => {
    const { config, clock, write, advance } = await stage()
    const password = (await databasePassword(config.database.url, clock))!
    await write({ url: 'postgres://me:p%202@db/penstock' })
    expect(await password()).toBe('p1')
    advance(5_000)
    expect(await password()).toBe('p 2')
    await write({ url: '' })
    advance(5_000)
    expect(await password()).toBe('p 2')
  })

  it('hold a percent sign that stands for itself, as the driver has it', async () => {
    const { config, clock, write } = await stage()
    await write({ url: 'postgres://me:5%40x%20%zz%@db/penstock' })
    const password = (await databasePassword(config.database.url, clock))!
    expect(await password()).toBe('5@x %zz%')
  })
})

it('a proxy takes a password with a percent sign that stands for itself', async () => {
  const text = `
provider: { classroom: { url: "https://x.example" }, proxy: "http://me:100%@127.0.0.1:1" }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]`
  const config = await readConfig(text, { name: 'text', env: {}, folder: '.' })
  const { clock, random } = { clock: systemClock, random: systemRandom }
  const credentials = await credentialsOf(config, clock)
  const transport = await openTransport(config, { clock, random, credentials })
  await transport.close()
})
