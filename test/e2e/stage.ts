import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock/system.ts'
import {
  type AppOptions,
  createSandbox,
  demoApp,
  type FaultRule,
  listen,
  type Oddities,
  type Sandbox,
  type SchoolProfile,
  type Switches,
} from '../../src/sandbox/index.ts'
import { compareWithTruth } from '../support/oracle/oracle.ts'
import { complaint, type Report } from '../support/oracle/report.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type DaemonProcess, startDaemonProcess } from './daemon.ts'

/** Seconds of the world in one second of the clock. */
export const speed = 60

/** Seconds of the clock for which the provider knows a room after its class: an hour of the world. */
const hour = 60
/** Where a roomUuid is to be used again while someone watches, that must come sooner. */
const short = 24

export interface StageOptions {
  readonly seed: string
  readonly switches?: Partial<Switches>
  readonly oddities?: Partial<Oddities>
  readonly faults?: readonly FaultRule[]
  readonly school?: Partial<SchoolProfile>
  readonly apps?: readonly AppOptions[]
  /** What section provider.classroom of the configuration says besides. */
  readonly provider?: Readonly<Record<string, string | number>>
}

/** A provider, a database and a daemon between them. */
export interface Stage {
  readonly sandbox: Sandbox
  readonly databaseUrl: string
  /** Starts the daemon; the former one must have ended. */
  start(): DaemonProcess
  /** Stops the world, and waits until the database tells the truth or `patience` (ms) is over. */
  settle(patience: number): Promise<Report>
  close(): Promise<void>
}

/**
 * The first lessons are under way when the daemon comes. A lesson outlasts every pause of the daemon: a room that
 * lived and ended within answers which nobody could store would be one that nobody can know of.
 */
const school: SchoolProfile = {
  kind: 'school',
  classes: 4,
  students: 6,
  lessonMinutes: 20,
  breakMinutes: 8,
  eventsPerMinute: 12,
  historyMinutes: 10,
}

export async function openStage(options: StageOptions): Promise<Stage> {
  const { seed, oddities = {}, faults = [], apps = [demoApp] } = options
  const memory = options.switches?.roomReuse === 'on' ? short : hour
  // The world begins to move when the sandbox is made, so that comes last of what takes long.
  const database = await cloneDatabase()
  const sandbox = createSandbox({
    ...{ clock: systemClock, seed, speed, apps, oddities, faults },
    profile: { ...school, ...options.school },
    switches: { feedWindowSeconds: 10 * speed, roomMemorySeconds: memory * speed, ...options.switches },
  })
  const provider = await listen(sandbox)
  const directory = await mkdtemp(join(tmpdir(), 'penstock-e2e-'))
  const config = join(directory, 'penstock.yaml')
  const classroom = { url: provider.url, roomMemory: `${memory * 0.75}s`, ...options.provider }
  await writeFile(config, configText(database.url, apps, classroom))
  const running: DaemonProcess[] = []
  return {
    sandbox,
    databaseUrl: database.url,
    start: () => {
      const daemon = startDaemonProcess(config)
      running.push(daemon)
      return daemon
    },
    settle: patience => settle(sandbox, database.url, patience),
    close: async () => {
      for (const daemon of running) await daemon.kill()
      await provider.close()
      await database.drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function settle(sandbox: Sandbox, databaseUrl: string, patience: number): Promise<Report> {
  sandbox.universe.pause()
  const deadline = systemClock.monotonic() + patience
  for (;;) {
    const report = await compareWithTruth(sandbox.truth(), sandbox.status().now, databaseUrl)
    if (complaint(report) === '' || systemClock.monotonic() > deadline) return report
    await systemClock.sleep(500)
  }
}

/** JSON is YAML too. All times fit a world that runs sixty times as fast: it forgets rooms after seconds. */
function configText(databaseUrl: string, apps: readonly AppOptions[], classroom: object): string {
  return JSON.stringify({
    database: { url: databaseUrl, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: { deadline: '2s', ...classroom } },
    streams: {
      'app-events': { every: '500ms' },
      'room-events': { activeEvery: '2s', idleEvery: '5s' },
      'popup-quiz': { activeEvery: '1s', idleEvery: '5s' },
      poll: { activeEvery: '1s', idleEvery: '5s' },
      recordings: { activeEvery: '2s', idleEvery: '5s' },
      resources: { activeEvery: '2s', idleEvery: '5s' },
    },
    limits: { classroom: { perSecond: 200, concurrency: 8 }, 'classroom-feed': { perSecond: 10 } },
    apps: apps.map(({ id, uid, token }) => ({
      id,
      region: 'ap',
      plan: 'premium',
      classroom: { uid, token },
    })),
  })
}
