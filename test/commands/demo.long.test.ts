import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { destroyEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { launch, penstock, type Running } from './penstock.ts'

/** Rows a second, rows, lag, rooms open, rooms ended; no gap, no dead letter, no violation. */
const progress = /^ +[\d,]+ +[\d,]+ +[\d.-]+ +\d+ +\d+ +0 +0 +0$/

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'penstock-demo-'))
  await chmod(dataDir, 0o755)
})

afterAll(async () => {
  await destroyEmbedded(dataDir, systemClock)
  await rm(dataDir, { recursive: true, force: true })
})

/** Whether anyone listens where an address that was printed points to. */
async function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}

async function addressOf({ line }: Running, name: string): Promise<string> {
  const found = await line(new RegExp(`^  ${name} .*://`))
  return /\w+:\/\/\S+/.exec(found)![0]
}

test('--for --json drains a school and ends with one line of JSON, nothing lost and nothing twice', async () => {
  await writeFile(join(dataDir, 'demo.log'), 'of a demo before', { mode: 0o644 })
  const { code, stdout, stderr } = await penstock(['demo', '--for', '5s', '--json', '--data-dir', dataDir])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(1)
  const summary = JSON.parse(lines[0]!) as {
    rows: Record<string, number>
    requests: number
    lag_seconds: number
  }
  expect(summary).toMatchObject({ violations: 0, lost: 0, duplicates: 0, dead_letters: 0, gaps: 0 })
  expect(Object.keys(summary)).toEqual([
    ...['rows', 'requests', 'violations', 'lost', 'duplicates', 'dead_letters', 'gaps', 'lag_seconds'],
  ])
  expect(summary.rows['classroom.room_event']).toBeGreaterThan(500)
  expect(summary.rows['classroom.quiz_submission']).toBeGreaterThan(0)
  // Those of the hour before, which are over: one search finds them all.
  expect(summary.rows['analytics.call']).toBeGreaterThan(20)
  expect(summary.requests).toBeGreaterThan(12)
  expect(summary.lag_seconds).toBeGreaterThan(0)
  expect((await stat(join(dataDir, 'demo.log'))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(dataDir, 'demo.log'), 'utf8')).toContain('"msg":"stopped"')
})

test('--only drains the services it names, and holds what they brought against the school', async () => {
  const only = ['--only', 'analytics', 'players']
  const { code, stdout } = await penstock(['demo', '--for', '3s', '--json', '--data-dir', dataDir, ...only])
  expect(code).toBe(0)
  const { rows, ...summary } = JSON.parse(stdout) as { rows: Record<string, number> }
  expect(summary).toMatchObject({ violations: 0, lost: 0, duplicates: 0, dead_letters: 0, gaps: 0 })
  expect(rows['analytics.call']).toBeGreaterThan(20)
  const ofRooms = Object.keys(rows).filter(table => table.startsWith('classroom.'))
  expect(ofRooms.filter(table => rows[table]! > 0)).toEqual([])
})

test('at another speed drains the classrooms alone, and says so once', async () => {
  const { code, stdout, stderr } = await penstock([
    ...['demo', '--for', '4s', '--speed', '30', '--data-dir', dataDir],
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.match(/Call analytics is off/g)).toHaveLength(1)
  expect(stdout).toMatch(/^classroom\.room_event +[\d,]+$/m)
  expect(stdout).toMatch(/^analytics\.call +0$/m)
  expect(stdout).toMatch(/^lost 0, duplicates 0 /m)
})

test('tells people where everything is, refuses a second one, and stops all of it at SIGINT', async () => {
  const running = launch(['demo', '--data-dir', dataDir])
  const addresses = [await addressOf(running, 'status'), await addressOf(running, 'psql')]
  await running.line(progress)

  const second = await penstock(['demo', '--data-dir', dataDir])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain(`is running here already (process ${running.process.pid} uses ${dataDir})`)

  const status = (await (await fetch(addresses[0]!)).json()) as { apps: readonly string[] }
  expect(status.apps).toEqual(['demo'])
  expect(await answers(addresses[1]!)).toBe(true)
  running.process.kill('SIGINT')
  expect(await running.ended).toBe(0)
  await running.line(/^classroom\.room_event +[\d,]+$/)
  await running.line(/^lost 0, duplicates 0 /)
  for (const address of addresses) expect(await answers(address)).toBe(false)
})

test('after kill -9 the next one takes over the Postgres that was left, and SIGTERM ends it well', async () => {
  const killed = launch(['demo', '--data-dir', dataDir])
  const orphan = await addressOf(killed, 'psql')
  killed.process.kill('SIGKILL')
  await killed.ended
  expect(await answers(orphan)).toBe(true)

  const next = launch(['demo', '--data-dir', dataDir])
  expect(await addressOf(next, 'psql')).toBe(orphan)
  await next.line(progress)
  next.process.kill('SIGTERM')
  expect(await next.ended).toBe(0)
  expect(await answers(orphan)).toBe(false)
})
