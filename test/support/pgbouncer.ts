import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock/system.ts'

/** Debian's package pgbouncer; where it must be there, its absence is a failure. */
export const hasPgbouncer =
  spawnSync('pgbouncer', ['--version']).status === 0 || process.env.REQUIRE_PGBOUNCER !== undefined

export interface Pgbouncer {
  /** Address of the same database through the pooler. */
  readonly url: string
  /** Has it connect anew. */
  readonly reconnect: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A user other than root, as whom pgbouncer runs: it refuses root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A pgbouncer in transaction mode before the database at `url`, with so many sessions; `settings` are its own besides. */
export async function startPgbouncer(
  url: string,
  { sessions = 2, settings = [] }: { readonly sessions?: number; readonly settings?: readonly string[] } = {},
): Promise<Pgbouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-pgbouncer-'))
  await chmod(folder, 0o755)
  const through = new URL(url)
  const { hostname, port, username, password } = through
  const listen = await freePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port}`,
    '[pgbouncer]',
    ...[`listen_addr = 127.0.0.1`, `listen_port = ${listen}`, 'unix_socket_dir =', 'auth_type = trust'],
    ...[`auth_file = ${join(folder, 'users')}`, 'pool_mode = transaction', `default_pool_size = ${sessions}`],
    ...[`admin_users = ${username}`, `logfile = ${join(folder, 'log')}`, ...settings],
  ]
  await writeFile(join(folder, 'conf'), `${lines.join('\n')}\n`)
  await writeFile(join(folder, 'users'), `"${username}" "${decodeURIComponent(password)}"\n`)
  for (const name of ['conf', 'users']) await chmod(join(folder, name), 0o644)
  await writeFile(join(folder, 'log'), '')
  await chmod(join(folder, 'log'), 0o666)
  const child = spawn('pgbouncer', ['-q', join(folder, 'conf')], { stdio: 'ignore', ...nobody })
  const ended = once(child, 'exit')
  through.port = String(listen)
  while (!(await answers(listen))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended by itself; see ${folder}/log`)
    await systemClock.sleep(20)
  }
  const console = new URL(through)
  console.pathname = '/pgbouncer'
  return {
    url: through.href,
    reconnect: async () => {
      const { default: pg } = await import('pg')
      const client = new pg.Client({ connectionString: console.href })
      await client.connect()
      await client.query('RECONNECT').finally(() => client.end())
    },
    stop: async () => {
      child.kill('SIGINT')
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const is = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return is
}
