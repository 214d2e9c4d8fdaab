import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'

/** Reads and checks a configuration without asking anything of the network. */
export async function validate({ config: path }: { readonly config: string }): Promise<void> {
  const config = await loadConfig(path, { env: process.env })
  for (const warning of config.warnings) process.stderr.write(`warning: ${warning}\n`)
  process.stdout.write(`ok: ${contents(config)}\n`)
}

/** What a configuration holds, in a few words. */
export function contents({ apps }: Config): string {
  const streams = new Set(
    apps.map(app => Object.values(app.streams).filter(stream => stream !== 'off').length),
  )
  const [few, most] = [Math.min(...streams), Math.max(...streams)]
  const appsText = apps.length === 1 ? '1 app' : `${apps.length} apps`
  const streamsText = few === most ? plural(most, 'stream') : `${few} to ${most} streams`
  return `${appsText}, ${streamsText}${apps.length === 1 ? '' : ' each'}`
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
