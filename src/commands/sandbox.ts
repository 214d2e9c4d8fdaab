import { systemClock } from '../clock/system.ts'
import { callSearch } from '../provider/analytics/index.ts'
import { appEvents } from '../provider/classroom/index.ts'
import type { Plan } from '../provider/limits.ts'
import { requestLine } from '../provider/operation.ts'
import { listPlayers } from '../provider/players/index.ts'
import {
  createSandbox,
  defaultSchool,
  demoApp,
  type FaultRule,
  type Listening,
  listen,
  type Profile,
  type Sandbox,
  type Switches,
} from '../sandbox/index.ts'
import { livelySchool } from './demo/setting.ts'
import { CommandError } from './exit.ts'
import { keepMoving, postTo } from './notices.ts'
import { untilToldToStop } from './signals.ts'

export const profiles: Readonly<Record<string, Profile>> = {
  school: defaultSchool,
  lively: livelySchool,
  backlog: { kind: 'backlog', rooms: 1_000, eventsPerRoom: 1_000 },
  idle: { kind: 'idle', rooms: 10_000 },
  calls: { kind: 'calls', callsPerDay: 10_000, users: 8, minutes: 40, days: 15 },
  classes: { kind: 'calls', callsPerDay: 2_500, users: 30, minutes: 40, days: 15 },
}

export interface SandboxCommandOptions {
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly switch: Partial<Switches>
  readonly fault: readonly FaultRule[]
  readonly profile: string
  readonly plan: Plan
  readonly notify?: string
  readonly allowPublic?: boolean
}

/** Plays the provider until SIGINT, SIGTERM or SIGHUP. */
export async function sandbox(options: SandboxCommandOptions): Promise<void> {
  const stopped = untilToldToStop()
  const { seed, speed, switch: switches, fault: faults, notify } = options
  const profile = profiles[options.profile]!
  const apps = [{ ...demoApp, plan: options.plan }]
  const deliver = notify === undefined ? undefined : postTo(notify, systemClock)
  const played = createSandbox({ clock: systemClock, seed, speed, switches, faults, profile, apps, deliver })
  const listening = await open(played, options)
  for (const line of greeting(played, listening.url, options)) process.stdout.write(`${line}\n`)
  const ended = new AbortController()
  const moving = deliver && keepMoving(played, systemClock, ended.signal)
  await stopped
  ended.abort()
  await moving
  await listening.close()
  const { requests, violations } = played.status()
  process.stdout.write(`${requests} requests came, ${violations} of them broke a rule\n`)
}

async function open(played: Sandbox, { port, allowPublic }: SandboxCommandOptions): Promise<Listening> {
  try {
    return await listen(played, allowPublic ? { host: '0.0.0.0', port, allowPublic } : { port })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new CommandError(`port ${port} is taken: choose another with --port, or 0 for any free one`, 1, {
      cause: error,
    })
  }
}

function greeting(
  { settings, universe }: Sandbox,
  url: string,
  { profile, notify }: SandboxCommandOptions,
): readonly string[] {
  const { tokenHeader, uidHeader, seed, speed } = settings
  const [app] = settings.apps
  if (!app?.rest) throw new Error('the played app has no credential')
  const { key, secret } = app.rest
  const { target } = requestLine(appEvents, { region: 'ap', appId: app.id })
  const end = Math.floor(universe.now() / 1_000) - 120
  const search = requestLine(callSearch, { appid: app.id, start_ts: end - 3_600, end_ts: end })
  const list = requestLine(listPlayers, { appId: app.id })
  return [
    `the sandbox plays the provider at ${url} (profile ${profile}, seed ${seed}, speed ${speed})`,
    `app ${app.id}, user ID ${app.uid}, token ${app.token}, in any region`,
    `call analytics of the plan ${app.plan}, and cloud players: key ${key}, secret ${secret}`,
    ...(notify === undefined
      ? []
      : [`notifications go to ${notify}, signed with ${app.notifications?.secret}`]),
    '',
    'try',
    `  curl -H '${uidHeader}: ${app.uid}' -H '${tokenHeader}: ${app.token}' ${url}${target}`,
    `  curl -u ${key}:${secret} '${url}${search.target}'`,
    `  curl -u ${key}:${secret} ${url}${list.target}`,
    `  curl ${url}/control/status`,
    'and what really happened',
    `  curl ${url}/control/truth`,
    `  curl ${url}/control/players`,
    '',
    'Ctrl-C ends it.',
  ]
}
