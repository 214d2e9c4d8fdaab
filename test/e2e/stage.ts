import {
  type AppOptions,
  createSandbox,
  demoApp,
  type FaultRule,
  type Quirks,
  type Sandbox,
  type SchoolProfile,
  type Switches,
} from '../../sandbox/src/index.ts'
import type { Clock } from '../../src/clock/clock.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'
import { compareWithTruth } from '../support/oracle/oracle.ts'
import { complaint, type Report } from '../support/oracle/report.ts'
import { askedClock } from './asked-clock.ts'
import type { DaemonProcess } from './daemon.ts'
import { openSetting } from './setting.ts'

/** Seconds of the world in one second of the clock. */
const speed = 60

/** Seconds of the clock for which the provider knows a room after its class: an hour of the world. */
const hour = 60
/** Where a roomUuid is to be used again while someone watches, that must come sooner. */
const short = 36

export interface StageOptions {
  readonly seed: string
  readonly switches?: Partial<Switches>
  readonly quirks?: Partial<Quirks>
  readonly faults?: readonly FaultRule[]
  readonly school?: Partial<SchoolProfile>
  readonly apps?: readonly AppOptions[]
  /** Section database of the configuration. */
  readonly database?: (url: string) => object
  /** What section provider.classroom of the configuration says besides. */
  readonly provider?: Readonly<Record<string, string | number>>
  /** The provider's time goes on as far as it is asked, and the database's while a daemon drains. */
  readonly time?: 'asked' | 'real'
}

/** A provider, a database and a daemon between them. */
export interface Stage {
  readonly sandbox: Sandbox
  readonly databaseUrl: string
  /** Starts the daemon; the former one must have ended. */
  start(): DaemonProcess
  /** Starts the daemon and lets it drain for so many ms of the provider's clock. */
  live(ms: number): Promise<DaemonProcess>
  /** Stops the world, and waits until the database tells the truth or `patience` (ms, likewise) is over. */
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
  const { seed, quirks = {}, faults = [], apps = [demoApp], time = 'real' } = options
  const { database = (url: string) => ({ url, poolSize: 4 }) } = options
  const memory = options.switches?.roomReuse === 'on' ? short : hour
  const asked = time === 'asked' ? askedClock() : undefined
  const clock = asked?.clock ?? systemClock
  const { sandbox, databaseUrl, start, close } = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock, seed, speed, apps, quirks: quirks, faults },
        profile: { ...school, ...options.school },
        switches: { feedWindowSeconds: 10 * speed, roomMemorySeconds: memory * speed, ...options.switches },
      }),
    serve: sandbox => (asked ? telling(sandbox, asked.answered) : sandbox),
    configOf: ({ databaseUrl, providerUrl }) => {
      const provider = { url: providerUrl, roomMemory: `${memory * 0.75}s`, ...options.provider }
      return configOf(
        database(databaseUrl),
        apps,
        provider,
        options.switches?.regions === 'two' ? ['ap', 'eu'] : 'ap',
      )
    },
  })
  if (asked) await ask(databaseUrl, clockThatStops)
  return {
    ...{ sandbox, databaseUrl, start, close },
    async live(ms) {
      // The provider's clock never goes on while the database's stands: no start may make a room older than is known.
      asked?.hold()
      if (asked) await ask(databaseUrl, stop)
      const daemon = start()
      await daemon.ready
      if (asked) await ask(databaseUrl, goOn)
      asked?.release()
      await (asked?.pass ?? clock.sleep)(ms)
      return daemon
    },
    settle: patience => settle(sandbox, databaseUrl, { clock, patience }),
  }
}

function telling(sandbox: Sandbox, answered: () => void): Sandbox {
  const fetch: Sandbox['fetch'] = async (request, hangUp) => {
    const answer = await sandbox.fetch(request, hangUp)
    answered()
    return answer
  }
  return { ...sandbox, fetch }
}

/** What the daemon believes the provider to remember is counted by the database's clock: no start may use it up. */
const clockThatStops = `
  create table public.clock as select null::timestamptz as stopped_at, interval '0' as stood;
  grant select on public.clock to public;
  create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
    as 'select coalesce(stopped_at, clock_timestamp()) - stood from public.clock'`
const stop = 'update public.clock set stopped_at = coalesce(stopped_at, clock_timestamp())'
const goOn = 'update public.clock set stood = stood + (clock_timestamp() - stopped_at), stopped_at = null'

async function settle(
  sandbox: Sandbox,
  databaseUrl: string,
  { clock, patience }: { readonly clock: Clock; readonly patience: number },
): Promise<Report> {
  sandbox.universe.pause()
  const deadline = clock.monotonic() + patience
  for (;;) {
    const report = await compareWithTruth(sandbox.truth(), sandbox.status().now, databaseUrl)
    if (complaint(report) === '' || clock.monotonic() > deadline) return report
    await systemClock.sleep(500)
  }
}

/** All times fit a world that runs sixty times as fast: it forgets rooms after seconds. */
function configOf(
  database: object,
  apps: readonly AppOptions[],
  classroom: object,
  region: string | readonly string[],
): object {
  return {
    database,
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: { deadline: '2s', ...classroom } },
    streams: {
      'app-events': { every: '500ms', idleEvery: '2s' },
      'room-events': { activeEvery: '2s', idleEvery: '5s' },
      'popup-quiz': { activeEvery: '1s', idleEvery: '5s' },
      poll: { activeEvery: '1s', idleEvery: '5s' },
      recordings: { activeEvery: '2s', idleEvery: '5s' },
      resources: { activeEvery: '2s', idleEvery: '5s' },
    },
    limits: { classroom: { perSecond: 200, concurrency: 8 }, 'classroom-feed': { perSecond: 10 } },
    apps: apps.map(({ id, uid, token }) => ({
      id,
      region,
      plan: 'premium',
      classroom: { uid, token },
    })),
  }
}
