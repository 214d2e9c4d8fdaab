import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { ask, spawnStarter } from '../../test/support/embedded.ts'
import { canReach } from '../src/account.ts'
import { destroyEmbedded, type EmbeddedOptions, startEmbedded } from '../src/start.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = { uid: 65_534, gid: 65_534, switched: true }
const nobodyCanRunNode =
  (await canReach(dirname(process.execPath), NOBODY)) && (await canReach(import.meta.dirname, NOBODY))

let root: string
let dataDir: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'penstock-embedded-'))
  await chmod(root, 0o755)
  dataDir = join(root, 'data')
})

afterEach(async () => {
  await destroyEmbedded(dataDir, systemClock)
  await rm(root, { recursive: true, force: true })
})

function start(options: Partial<EmbeddedOptions> = {}) {
  return startEmbedded({ dataDir, clock: systemClock, durability: 'test', ...options })
}

/** A zombie has ended; only its parent has not noticed yet. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z')
  return !/^State:\s+Z/m.test(status)
}

function cluster(): string {
  return join(dataDir, 'postgres', 'cluster')
}

describe('a fresh start', () => {
  test('makes a UTF-8 cluster in code point order that speaks on loopback alone', async () => {
    const server = await start()
    expect(server.origin).toBe('started')
    const [settings] = await ask(
      server.url,
      `SELECT current_database() AS database, datlocprovider AS provider, datlocale AS locale,
        current_setting('server_encoding') AS encoding, current_setting('listen_addresses') AS addresses,
        current_setting('unix_socket_directories') AS sockets, current_setting('TimeZone') AS zone
       FROM pg_database WHERE datname = current_database()`,
    )
    expect(settings).toEqual({
      database: 'penstock',
      provider: 'b',
      locale: 'C.UTF-8',
      encoding: 'UTF8',
      addresses: '127.0.0.1',
      sockets: '',
      zone: 'UTC',
    })
    await server.stop()
  })

  test('asks for a password by SCRAM and keeps it in a file that only its owner reads', async () => {
    const server = await start()
    const { password } = new URL(server.url)
    expect((await readFile(server.passwordFile, 'utf8')).trim()).toBe(password)
    expect((await stat(server.passwordFile)).mode & 0o777).toBe(0o600)
    const [stored] = await ask(
      server.url,
      'SELECT rolpassword AS secret FROM pg_authid WHERE rolname = current_user',
    )
    expect(stored?.secret).toMatch(/^SCRAM-SHA-256\$/)
    await expect(ask(server.url.replace(password, 'wrong'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    })
    await server.stop()
  })

  test('takes another port when the port of the last start is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const { port } = squatter.address() as AddressInfo
    await mkdir(join(dataDir, 'postgres'), { recursive: true })
    await writeFile(join(dataDir, 'postgres', 'port'), `${port}\n`)
    const server = await start()
    expect(server.port).not.toBe(port)
    await server.stop()
    squatter.close()
  })

  test('after one that was killed in the middle of initdb begins anew', async () => {
    const starter = spawnStarter(dataDir)
    const drafts = async () =>
      (await readdir(join(dataDir, 'postgres'))).filter(name => name.startsWith('cluster.new-'))
    await vi.waitUntil(async () => (await drafts().catch(() => [])).length > 1, {
      timeout: 60_000,
      interval: 2,
    })
    await starter.kill()
    const server = await start()
    expect(server.origin).toBe('started')
    expect(await ask(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await server.stop()
  })
})

describe('a start after the last process was killed', () => {
  test('adopts the Postgres that was left running', async () => {
    const starter = spawnStarter(dataDir)
    const before = await starter.report
    await starter.kill()
    const server = await start()
    expect(server).toMatchObject({ origin: 'adopted', pid: before.pid, url: before.url })
    await server.stop()
  })

  test('restarts an adopted Postgres whose durability is not the one asked for', async () => {
    const starter = spawnStarter(dataDir)
    const before = await starter.report
    await starter.kill()
    const server = await start({ durability: 'full' })
    expect(server.origin).toBe('started')
    expect(server.pid).not.toBe(before.pid)
    expect(await ask(server.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
    await server.stop()
  })

  test('recovers what was committed when Postgres was killed as well', async () => {
    const first = await start({ durability: 'full' })
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS value')
    process.kill(first.pid, 'SIGKILL')
    await first.stop()
    const server = await start({ durability: 'full' })
    expect(server.origin).toBe('started')
    expect(await ask(server.url, 'SELECT value FROM kept')).toEqual([{ value: 7 }])
    await server.stop()
  })

  test('is not misled by a postmaster.pid whose number belongs to another process', async () => {
    await (await start()).stop()
    const { uid, gid } = await stat(cluster())
    const stranger = spawn('cat', {
      stdio: ['pipe', 'ignore', 'ignore'],
      ...(isRoot ? { uid, gid, cwd: '/' } : {}),
    })
    await once(stranger, 'spawn')
    await writeFile(
      join(cluster(), 'postmaster.pid'),
      `${stranger.pid}\n${cluster()}\n1\n5432\n\n127.0.0.1\n0 0\nready\n`,
    )
    const server = await start()
    expect(server.origin).toBe('started')
    expect(await isAlive(stranger.pid ?? 0)).toBe(true)
    await server.stop()
    stranger.kill()
  })
})

describe('stopping', () => {
  test('leaves no process behind, and the data and the port stay for the next start', async () => {
    const first = await start()
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS value')
    await Promise.all([first.stop(), first.stop()])
    expect(await isAlive(first.pid)).toBe(false)
    await expect(ask(first.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const second = await start()
    expect(second.port).toBe(first.port)
    expect(await ask(second.url, 'SELECT value FROM kept')).toEqual([{ value: 7 }])
    await second.stop()
  })

  test('does not wait for clients that are still connected', async () => {
    const server = await start()
    const waiting = ask(server.url, 'SELECT pg_sleep(600)').catch((error: unknown) => error)
    const sleeping = "SELECT 1 AS one FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"
    await expect.poll(() => ask(server.url, sleeping)).toEqual([{ one: 1 }])
    await server.stop()
    expect(await isAlive(server.pid)).toBe(false)
    expect(await waiting).toMatchObject({ code: '57P01' })
  })
})

describe('two processes', () => {
  test('that start at once end with one owner, and the other one names its process id', async () => {
    const starters = [spawnStarter(dataDir), spawnStarter(dataDir)]
    const reports = await Promise.all(starters.map(starter => starter.report))
    const winner = reports.findIndex(report => report.origin === 'started')
    const loser = reports[1 - winner]
    expect(winner).not.toBe(-1)
    expect(loser?.error).toContain(`is in use by process ${starters[winner]?.process.pid}`)
    await Promise.all(starters.map(starter => starter.finish()))
  })

  test('share one Postgres when the second only joins, and the second leaves it running', async () => {
    const owner = spawnStarter(dataDir)
    const { pid } = await owner.report
    const guest = await start({ whenOwned: 'join' })
    expect(guest).toMatchObject({ origin: 'joined', pid })
    await guest.stop()
    expect(await isAlive(pid ?? 0)).toBe(true)
    await owner.finish()
    expect(await isAlive(pid ?? 0)).toBe(false)
  })

  test('that both would join and find nothing end with one of them as the owner', async () => {
    const starters = [
      spawnStarter(dataDir, { whenOwned: 'join' }),
      spawnStarter(dataDir, { whenOwned: 'join' }),
    ]
    const reports = await Promise.all(starters.map(starter => starter.report))
    expect(reports.map(report => report.origin).sort()).toEqual(['joined', 'started'])
    expect(reports[0]?.pid).toBe(reports[1]?.pid)
    await Promise.all(starters.map(starter => starter.finish()))
  })
})

describe('a data directory', () => {
  test.runIf(isRoot)(
    'that Postgres cannot reach gets its database elsewhere, found again later',
    async () => {
      await chmod(root, 0o700)
      const first = await start()
      await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS value')
      await first.stop()
      const home = (await readFile(join(dataDir, 'postgres-location'), 'utf8')).trim()
      expect(home.startsWith(root)).toBe(false)
      const second = await start()
      expect(await ask(second.url, 'SELECT value FROM kept')).toEqual([{ value: 7 }])
      await second.stop()
      await destroyEmbedded(dataDir, systemClock)
      await expect(stat(home)).rejects.toMatchObject({ code: 'ENOENT' })
    },
  )

  test('whose database elsewhere has gone is refused, not silently begun anew', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'postgres-location'), '/nowhere/at/all\n')
    await expect(start()).rejects.toThrow('lay in /nowhere/at/all, which is gone')
    await rm(join(dataDir, 'postgres-location'))
  })

  test('made by another major version of Postgres is refused', async () => {
    await (await start()).stop()
    await writeFile(join(cluster(), 'PG_VERSION'), '15\n')
    await expect(start()).rejects.toThrow('was made by Postgres 15, the one installed is 18')
  })

  test('without its password file is refused with the way out', async () => {
    const server = await start()
    await server.stop()
    await rm(server.passwordFile)
    await expect(start()).rejects.toThrow('the password of the embedded Postgres is missing')
  })

  test.runIf(isRoot && nobodyCanRunNode)(
    'of a plain user is run by that user, and by root as that user',
    async () => {
      await mkdir(dataDir)
      await chmod(root, 0o777)
      await rm(dataDir, { recursive: true })
      const starter = spawnStarter(dataDir, { uid: NOBODY.uid })
      expect(await starter.report).toMatchObject({ origin: 'started' })
      expect((await stat(cluster())).uid).toBe(NOBODY.uid)
      await starter.finish()
      const byRoot = await start()
      expect((await stat(`/proc/${byRoot.pid}`)).uid).toBe(NOBODY.uid)
      await byRoot.stop()
      const again = spawnStarter(dataDir, { uid: NOBODY.uid })
      expect(await again.report).toMatchObject({ origin: 'started' })
      await again.finish()
    },
  )
})
