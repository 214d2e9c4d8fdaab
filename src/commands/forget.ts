import type { AppConfig } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { Forgetting, type Found, type Person } from '../postgres/forget.ts'
import type { Identity } from '../postgres/mask.ts'
import { streams } from '../streams/index.ts'
import { isOfUsers, type Stream } from '../streams/stream.ts'
import { countText } from '../telemetry/wording.ts'
import { CommandError, exitUsage } from './cli/exit.ts'
import { appOf, type ReportOptions } from './cli/options.ts'
import { printLines, textTable } from './cli/output.ts'
import { withDatabase } from './wiring/database.ts'

interface ForgetOptions extends ReportOptions {
  readonly app: string
  readonly user?: string
  readonly uid?: string
  readonly room?: string
  readonly write?: boolean
}

/** Large tables are read from one end to the other, ms. */
const patience = 3_600_000

/** Commits end within their own time limits, ms. */
const lockPatience = 120_000

/** Lists the rows that tell of a person, and on wish masks them there and wherever they come again. */
export async function forget(options: ForgetOptions): Promise<void> {
  const person = personOf(options)
  const config = await loadConfig(options.config, { env: process.env })
  const app = appOf(config, person.app)
  const asking =
    person.kind === 'uid' && Object.values(streams).find(stream => asksOf(app, stream, person.id))
  if (asking)
    throw new CommandError(
      `the configuration asks for this user: take the ID out of ${asking.name}.uids first`,
    )
  const use = { isPrepared: true, statementTimeout: patience, lockTimeout: lockPatience }
  await withDatabase(config, use, async pool => {
    const forgetting = new Forgetting(pool, config.store, Object.values(streams))
    const { isForgotten, found } = await forgetting.look(person)
    const rows = options.write ? await forgetting.forget(person) : found
    const done = { written: options.write === true, isForgotten: isForgotten || options.write === true }
    if (options.json) printLines([JSON.stringify({ ok: true, ...done, rows })])
    else printLines(linesOf(person.kind, rows, done))
  })
}

/** Whether the values of this user are asked for by name. */
function asksOf({ streams: settings }: AppConfig, stream: Stream, uid: string): boolean {
  const own = settings[stream.name] ?? 'off'
  return isOfUsers(stream) && own !== 'off' && (own as unknown as { uids: string[] }).uids.includes(uid)
}

function personOf({ app, user, uid, room }: ForgetOptions): Person {
  const given = Object.entries({ user, uid, room }).filter(([, id]) => id !== undefined)
  if (given.length !== 1) throw new CommandError('give one of --user, --uid and --room', exitUsage)
  const [kind, id] = given[0] as [Identity, string]
  if (id === '' || (kind === 'uid' && id === '0'))
    throw new CommandError(`--${kind} ${id || '""'} is nobody in particular`, exitUsage)
  return { app, kind, id }
}

const whom: Readonly<Record<Identity, string>> = {
  user: 'this user',
  uid: 'this user of calls',
  room: 'those who were in this room',
}

/** Never names the person: what is printed may be kept. */
function linesOf(
  kind: Identity,
  rows: Found,
  { written, isForgotten }: { readonly written: boolean; readonly isForgotten: boolean },
): readonly string[] {
  const total = Object.values(rows).reduce((sum, each) => sum + each, 0)
  const table = textTable(['table', 'rows'], Object.entries(rows))
  const told = total === 0 ? [`nothing that is stored tells of ${whom[kind]}`] : table
  if (written) {
    const before = total === 0 ? told : [...told, '', `${countText(total)} rows are masked now`]
    return [...before, `what comes later of ${whom[kind]} is masked before it is written`]
  }
  const after = isForgotten
    ? 'forgotten before: what comes is masked'
    : 'nothing was changed; --write masks these rows, for ever, and whatever comes later'
  return [...told, '', after]
}
