import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterOf } from '../../embedded-postgres/src/cluster.ts'
import { findHome } from '../../embedded-postgres/src/place.ts'
import { readPostmaster } from '../../embedded-postgres/src/postmaster.ts'
import { destroyEmbedded } from '../../embedded-postgres/src/start.ts'
import { demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { followStreams } from '../support/output.ts'
import { job, program } from './job.ts'

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'penstock-hang-up-'))
  await chmod(dataDir, 0o755)
})

afterAll(async () => {
  await destroyEmbedded(dataDir, systemClock)
  await rm(dataDir, { recursive: true, force: true })
})

async function postgres(): Promise<string> {
  const home = await findHome(dataDir)
  return home === undefined ? 'none' : (await readPostmaster(clusterOf(home))).state
}

async function runConfig(): Promise<string> {
  const path = join(dataDir, 'penstock.yaml')
  const { id, uid, token } = demoApp
  const settings = {
    database: { url: 'embedded', dataDir },
    http: { listen: '127.0.0.1:0' },
    log: { level: 'debug' },
    provider: { classroom: { url: 'http://127.0.0.1:9' } },
    apps: [{ id, region: 'ap', plan: 'premium', classroom: { uid, token } }],
  }
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
  return path
}

/** util-linux has `script`, which gives a command a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript)(
  'a daemon whose terminal is closed drains as at SIGTERM, and says why it stops',
  async () => {
    const command = `exec '${process.execPath}' '${program}' run --config '${await runConfig()}' >&3 2>&3`
    const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
      env: { PATH: process.env.PATH },
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    })
    const output = terminal.stdio[3] as Readable
    const daemon = followStreams([output], once(output, 'close'))
    await daemon.line(/"msg":"draining"/)
    terminal.kill('SIGKILL')
    expect(await daemon.line(/"msg":"stopping/)).toContain('SIGHUP')
    await daemon.line(/"msg":"stopped"/)
    await daemon.ended
    expect(await postgres()).toBe('none')
  },
)

test('a daemon without a terminal that is hung up reads its configuration again, and goes on', async () => {
  const daemon = job('run', '--config', await runConfig())
  await daemon.line(/"msg":"draining"/)
  daemon.hangUp()
  expect(await daemon.line(/says what it said/)).toContain('SIGHUP')
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toBe(0)
  expect([daemon.complaints(), await postgres()]).toEqual(['', 'none'])
})

test('a daemon whose log nobody reads any more drains and ends as failed, for whoever starts it anew', async () => {
  const daemon = job('run', '--config', await runConfig())
  await daemon.line(/"msg":"draining"/)
  daemon.leave()
  expect(await daemon.ended).toBe(1)
  expect([daemon.complaints(), await postgres()]).toEqual(['', 'none'])
})

test('a demo whose reader has seen enough ends whole', async () => {
  const demo = job('demo', '--data-dir', dataDir)
  await demo.line(/^starting Postgres/)
  demo.leave()
  expect(await demo.ended).toBe(1)
  expect([demo.complaints(), await postgres()]).toEqual(['', 'none'])
})

test('a demo whose terminal is closed ends whole', async () => {
  const demo = job('demo', '--data-dir', dataDir)
  await demo.line(/rows\/s/)
  demo.hangUp()
  await demo.line(/hung up/)
  demo.leave()
  expect(await demo.ended).not.toBeNull()
  expect([demo.complaints(), await postgres()]).toEqual(['', 'none'])
})
