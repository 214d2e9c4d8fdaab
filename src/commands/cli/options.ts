import { Command, InvalidArgumentError, Option } from 'commander'
import type { AppConfig, Config } from '../../config/config.ts'
import { nearest } from '../../config/suggest.ts'
import { parseDuration } from '../../settings/values.ts'
import { CommandError, exitUsage } from './exit.ts'

/** The app that is named, or the only one there is. Throws CommandError. */
export function appOf({ apps }: Pick<Config, 'apps'>, id: string | undefined): AppConfig {
  const app = apps.find(app => app.id === (id ?? (apps.length === 1 ? app.id : undefined)))
  if (app) return app
  const ids = apps.map(({ id }) => id)
  const some = `it has ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', ...' : ''}`
  const meant = id === undefined ? undefined : nearest(id, ids)
  const wrong = id === undefined ? '--app is missing' : `the configuration has no app ${id}`
  throw new CommandError(`${wrong}; ${meant ? `did you mean ${meant}?` : some}`, exitUsage)
}

/** A command whose help ends with notes and examples. */
export class NotedCommand extends Command {
  override createCommand(name?: string): NotedCommand {
    return new NotedCommand(name)
  }

  notes(text: string): this {
    return this.addHelpText('after', text)
  }
}

/* Readers of option values for commander; each throws InvalidArgumentError saying what is allowed. */

/** Answers ms. */
export function durationOption(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('Write a duration such as 30s, 5m or 1h.')
  return ms
}

const moment = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(Z|[+-]\d\d:\d\d)?)?$/

/** A date, or a date and a time, in UTC unless it says otherwise. Answers Unix seconds. */
export function timeOption(text: string): number {
  const [, date, time = '00:00', second = ':00', zone = 'Z'] = moment.exec(text) ?? []
  const at = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${second}${zone}`)
  const isReal = !Number.isNaN(at) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(`${date}T`)
  if (isReal) return at / 1_000
  throw new InvalidArgumentError(
    'Write a date and time such as 2026-02-28, 2026-02-28T13:30Z or 2026-02-28T13:30:00+05:45; it is UTC unless it says otherwise.',
  )
}

export function speedOption(text: string): number {
  const speed = Number(text)
  if (!(speed >= 0.1 && speed <= 200)) throw new InvalidArgumentError('Write a number from 0.1 to 200.')
  return speed
}

export function seedOption(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Write a whole number of up to nine digits.')
  return Number(text)
}

export function portOption(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('Write a port from 0 to 65535.')
  return port
}

/** An address of HTTP or HTTPS. */
export function urlOption(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) {
    throw new InvalidArgumentError('Write an address such as http://127.0.0.1:9465/notifications.')
  }
  return text
}

/** What commands are given that report on a configuration: to people, or as JSON. */
export interface ReportOptions {
  readonly config: string
  readonly json?: boolean
}

export function configOption(): Option {
  return new Option('--config <file>', 'configuration file (YAML)').default('penstock.yaml')
}

/** May be given several times; `none` says what holds where it is not. */
export function repeatedOption(flags: string, description: string, none: string): Option {
  const more = (text: string, before: readonly string[]) => [...before, text]
  return new Option(flags, description).argParser(more).default([], none)
}
