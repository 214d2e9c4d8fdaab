import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterOf } from '../../embedded-postgres/src/cluster.ts'
import { findHome } from '../../embedded-postgres/src/place.ts'
import { readPostmaster } from '../../embedded-postgres/src/postmaster.ts'
import { destroyEmbedded } from '../../embedded-postgres/src/start.ts'
import { demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { follow, type Output } from '../support/output.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'penstock-hang-up-'))
  await chmod(dataDir, 0o755)
})

afterAll(async () => {
  await destroyEmbedded(dataDir, systemClock)
  await rm(dataDir, { recursive: true, force: true })
})

interface Job extends Output {
  /** SIGHUP to all of its process group, as a terminal that is closed sends it. */
  readonly hangUp: () => void
  /** Nobody reads standard output any more. */
  readonly leave: () => void
  /** What it wrote to standard error. */
  readonly complaints: () => string
}

/** A command with a process group of its own, as a shell gives to each of its jobs. */
function job(...args: readonly string[]): Job {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const complaints: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text))
  return {
    ...follow(child),
    hangUp: () => void process.kill(-child.pid!, 'SIGHUP'),
    leave: () => void child.stdout.destroy(),
    complaints: () => complaints.join(''),
  }
}

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

test('a daemon that is hung up drains as at SIGTERM, and says why it stops', async () => {
  const daemon = job('run', '--config', await runConfig())
  await daemon.line(/"msg":"draining"/)
  daemon.hangUp()
  daemon.hangUp()
  expect(await daemon.ended).toBe(0)
  expect(await daemon.line(/"msg":"stopping/)).toContain('SIGHUP')
  await daemon.line(/"msg":"stopped"/)
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
