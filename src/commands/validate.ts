import { offTexts, streamsOn } from '../config/availability.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { countOf } from '../telemetry/wording.ts'
import { printLines } from './cli/output.ts'
import { liveTexts } from './forecast/outlook.ts'
import { mixedPlans } from './wiring/counters.ts'

/** Reads and checks a configuration without asking anything of the network. */
export async function validate({ config: path }: { readonly config: string }): Promise<void> {
  const config = await loadConfig(path, { env: process.env })
  for (const warning of config.warnings) process.stderr.write(`warning: ${warning}\n`)
  const notes = [...offTexts(config), ...mixedPlans(config), ...liveTexts(config)]
  printLines([`ok: ${contents(config)}`, ...notes.map(text => `note: ${text}`)])
}

/** What a configuration holds, in a few words. */
export function contents(config: Config): string {
  const { apps } = config
  const streams = new Set(apps.map(app => streamsOn(config, app).length))
  const [few, most] = [Math.min(...streams), Math.max(...streams)]
  const streamsText = few === most ? countOf(most, 'stream') : `${few} to ${most} streams`
  return `${countOf(apps.length, 'app')}, ${streamsText}${apps.length === 1 ? '' : ' each'}`
}
