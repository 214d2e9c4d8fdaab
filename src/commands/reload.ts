import { stat } from 'node:fs/promises'
import type { Clock } from '../clock/clock.ts'
import { type Changes, changesBetween } from '../config/changes.ts'
import type { AppConfig, Config } from '../config/config.ts'
import { ConfigError } from '../config/problem.ts'
import { SecretError } from '../config/secret.ts'
import type { AppSettings, EngineSettings } from '../engine/settings.ts'
import type { Engine } from '../engine/supervisor.ts'
import { createWakeup } from '../engine/waiting.ts'
import { engineSettings } from './engine-settings.ts'
import { forecastWarnings } from './forecast.ts'
import type { Parts } from './wiring/parts.ts'
import { appCredentials, signersIn } from './wiring/services.ts'

/** The file is looked at this often, ms; one that is being written may change again until the next look. */
const LOOK_EVERY_MS = 2_000

/** A file as it was when somebody looked: it was changed where another one comes next. */
export type Sighting = string

/** Follows links, as a mounted ConfigMap is exchanged by one. */
export async function sightingOf(path: string): Promise<Sighting> {
  return stat(path).then(
    ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
    () => 'missing',
  )
}

export interface Reloading {
  readonly path: string
  /** The file as it was before it was read for the first time. */
  readonly seen: Sighting
  readonly clock: Clock
  /** Reads the file. Throws ConfigError. */
  readonly read: () => Promise<Config>
  /** Takes over what it says. Throws SecretError, and nothing has changed then. */
  readonly takeOver: (next: Config, on: Trigger) => Promise<void>
  readonly refused: (why: object) => void
  /** Whether some app has another key since this was asked last, of which the file need not say anything. */
  readonly hasNewKey: () => boolean
  readonly signal: AbortSignal
}

/** Why the file is read again. */
export type Trigger = 'SIGHUP' | 'the file changed' | 'a key changed'

/** Has the configuration read again when the file changes, and when someone asks for it. */
export function followFile(options: Reloading): { readonly ask: () => void } {
  const { path, clock, hasNewKey, signal } = options
  const wakeup = createWakeup(clock)
  let seen = options.seen
  let settling: Sighting | undefined
  let isAsked = false

  async function why(): Promise<Trigger | undefined> {
    const now = await sightingOf(path)
    const isSettled = now === settling
    settling = now
    const isChanged = now !== seen && isSettled
    if (!isAsked && !isChanged) return now === seen && hasNewKey() ? 'a key changed' : undefined
    seen = now
    const trigger = isAsked ? 'SIGHUP' : 'the file changed'
    isAsked = false
    return trigger
  }

  async function follow(): Promise<void> {
    signal.addEventListener('abort', wakeup.notify, { once: true })
    while (!signal.aborted) {
      const trigger = await why()
      if (trigger) await reload(options, trigger)
      if (!isAsked) await wakeup.wait(LOOK_EVERY_MS)
    }
  }

  void follow()
  return {
    ask: () => {
      isAsked = true
      wakeup.notify()
    },
  }
}

async function reload({ read, takeOver, refused, signal }: Reloading, trigger: Trigger): Promise<void> {
  try {
    const next = await read()
    // To read it may take as long as its programs do; who was told to stop meanwhile takes over nothing more.
    if (signal.aborted) return
    await takeOver(next, trigger)
  } catch (error) {
    const isTold = error instanceof ConfigError || error instanceof SecretError
    refused(isTold ? { problems: error.message.split('\n') } : { error })
  }
}

type Reloadable = Parts & {
  readonly engine: Engine
  /** Takes notifications where an app has a secret for them by now; answers why not. */
  readonly listen: () => Promise<string | undefined>
}

/**
 * Takes over what a configuration says of apps, and how much is logged. Apps that it does not touch go on as they are.
 * What else it says waits for a restart, and so does all of it where it takes apps away and nobody asked.
 */
export async function takeOver(parts: Reloadable, next: Config, on: Trigger): Promise<void> {
  const { current, log, meter, listen } = parts
  const before = current.config()
  const wanted = { ...before, apps: next.apps, log: next.log, warnings: next.warnings }
  const settings = { ...engineSettings(wanted), renewEvery: current.settings().renewEvery }
  const { added, removed, restart, ...said } = changesBetween(before, next)
  const changed = [...new Set([...said.changed, ...rekeyed(current.settings(), settings)])]
  if (removed.length > 0 && on !== 'SIGHUP') {
    log.warn('the changed configuration takes apps away and waits for SIGHUP: nothing of it holds yet', {
      removed,
    })
    meter.configured('waiting')
    return meter.configInForce(false)
  }
  const isSame =
    [added, removed, changed].every(apps => apps.length === 0) && before.log.level === next.log.level
  if (!isSame) await change(parts, wanted, settings, { added, removed, changed })
  meter.configured(isSame ? 'unchanged' : 'applied')
  const unheard = await listen()
  meter.configInForce(restart.length === 0 && unheard === undefined)
  if (unheard) log.error('notifications are not taken', { reason: unheard })
  const apps = { added, removed, changed }
  if (!isSame) log.info('the configuration was read again', { on, ...apps })
  else if (restart.length === 0) log.info('the configuration was read again and says what it said', { on })
  if (restart.length > 0)
    log.warn('these keys of the configuration take effect with a restart', { keys: restart })
  const known = new Set([...before.warnings, ...forecastWarnings(before)])
  for (const warning of [...next.warnings, ...forecastWarnings(current.config())])
    if (!known.has(warning)) log.warn(warning)
}

/** Apps that both have and that draw on other counters, as those of which a file has another key by now. */
function rekeyed(before: EngineSettings, after: EngineSettings): readonly string[] {
  const scopesOf = ({ limits }: AppSettings) =>
    Object.values(limits)
      .map(({ scope }) => scope)
      .join(' ')
  const known = new Map(before.apps.map(app => [app.id, scopesOf(app)]))
  return after.apps.filter(app => (known.get(app.id) ?? scopesOf(app)) !== scopesOf(app)).map(idOf)
}

async function change(
  parts: Reloadable,
  next: Config,
  settings: EngineSettings,
  { added, removed, changed }: Pick<Changes, 'added' | 'removed' | 'changed'>,
): Promise<void> {
  const { clock, current, credentials, signers, log, meter, engine } = parts
  const touched = new Set([...added, ...changed])
  const apps = next.apps.filter(({ id }) => touched.has(id))
  // All that can fail comes before anything is changed.
  const fresh = await Promise.all(apps.map(async app => [app.id, await appCredentials(app, clock)] as const))
  const signing = await signersIn({ apps }, clock)
  const before = new Map(current.settings().apps.map(app => [app.id, JSON.stringify(app)]))
  // Budgets that are shared may have changed for an app of which the file says what it said.
  const shared = settings.apps.filter(({ id }) => !touched.has(id) && before.has(id))
  const others = shared.filter(app => before.get(app.id) !== JSON.stringify(app)).map(({ id }) => id)

  const { level } = current.config().log
  current.note(next, settings)
  if (next.log.level !== level) log.setLevel(next.log.level)
  for (const [app, by] of fresh) credentials.replace(app, by)
  const gone = new Set([...touched, ...removed])
  signers.splice(0, signers.length, ...signers.filter(({ app }) => !gone.has(app)), ...signing)
  const ended = engine.configure(settings.apps, [...changed, ...others])
  meter.follow(next.apps.map(idOf), [])
  void ended.then(() => {
    const still = new Set(current.config().apps.map(idOf))
    const left = removed.filter(app => !still.has(app))
    for (const app of left) credentials.replace(app, undefined)
    meter.follow([...still], left)
  })
}

function idOf({ id }: Pick<AppConfig, 'id'>): string {
  return id
}
