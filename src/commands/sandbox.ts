import type { FaultRule, Listening, Sandbox, Switches } from '../../sandbox/src/index.ts'
import { systemClock } from '../clock/system.ts'
import type { Plan } from '../provider/limits.ts'
import { CommandError, exitUsage, untilToldToStop } from './cli/exit.ts'
import { printLines } from './cli/output.ts'
import { loadSandbox } from './wiring/installation.ts'

type SandboxModule = Awaited<ReturnType<typeof loadSandbox>>

interface SandboxCommandOptions {
  readonly port: number
  readonly seed: number
  readonly speed: number
  /** Each `name=value`. */
  readonly switch: readonly string[]
  /** Each JSON: one rule or a list of rules. */
  readonly fault: readonly string[]
  readonly profile: string
  readonly plan: Plan
  readonly notify?: string
  readonly allowPublic?: boolean
}

/** Plays the provider until SIGINT, SIGTERM or SIGHUP. */
export async function sandbox(options: SandboxCommandOptions): Promise<void> {
  const stopped = untilToldToStop()
  const module = await loadSandbox()
  const { createSandbox, demoApp, greeting, keepMoving, postTo } = module
  const { seed, speed, notify } = options
  const switches = readSwitches(module, options.switch)
  const faults = readFaults(module, options.fault)
  const profile = module.profiles[options.profile]!
  const apps = [{ ...demoApp, plan: options.plan }]
  const deliver = notify === undefined ? undefined : postTo(notify, systemClock)
  const played = createSandbox({ clock: systemClock, seed, speed, switches, faults, profile, apps, deliver })
  const listening = await open(module, played, options)
  printLines(greeting(played, listening.url, options))
  const ended = new AbortController()
  const moving = deliver && keepMoving(played, systemClock, ended.signal)
  await stopped
  ended.abort()
  await moving
  await listening.close()
  const { requests, violations } = played.status()
  printLines([`${requests} requests came, ${violations} of them broke a rule`])
}

function readSwitches(
  { parseSwitches, SwitchError }: SandboxModule,
  given: readonly string[],
): Partial<Switches> {
  try {
    const pairs = given.map(text => {
      const at = text.indexOf('=')
      if (at < 1) throw new SwitchError(`write name=value instead of ${text}`)
      return [text.slice(0, at), text.slice(at + 1)] as const
    })
    return parseSwitches(Object.fromEntries(pairs))
  } catch (error) {
    if (!(error instanceof SwitchError)) throw error
    throw new CommandError(`--switch: ${error.message}`, exitUsage, { cause: error })
  }
}

function readFaults(
  { parseFaultRules, FaultError }: SandboxModule,
  given: readonly string[],
): readonly FaultRule[] {
  try {
    return parseFaultRules(given.flatMap(text => JSON.parse(text)))
  } catch (error) {
    if (!(error instanceof FaultError || error instanceof SyntaxError)) throw error
    const what = error instanceof SyntaxError ? 'It must be JSON.' : error.message
    throw new CommandError(`--fault: ${what}`, exitUsage, { cause: error })
  }
}

async function open(
  { listen }: SandboxModule,
  played: Sandbox,
  { port, allowPublic }: SandboxCommandOptions,
): Promise<Listening> {
  try {
    return await listen(played, allowPublic ? { host: '0.0.0.0', port, allowPublic } : { port })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new CommandError(`port ${port} is taken: choose another with --port, or 0 for any free one`, 1, {
      cause: error,
    })
  }
}
