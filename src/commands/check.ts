import type pg from 'pg'
import { systemClock } from '../clock/system.ts'
import { offTexts } from '../config/availability.ts'
import type { Config } from '../config/config.ts'
import { loadConfig, placed } from '../config/load.ts'
import {
  type AddressKey,
  type ConnectOptions,
  connectionProblem,
  findSessionProblem,
  readOnlyProblem,
} from '../postgres/connect.ts'
import { migrationStates } from '../postgres/migrate.ts'
import { checkProvider, type Finding } from './check/provider.ts'
import { CommandError } from './cli/exit.ts'
import type { ReportOptions } from './cli/options.ts'
import { printLines, textTable } from './cli/output.ts'
import { contents } from './validate.ts'
import { briefly, connectionsOf, connectOptions, openDatabase, withPool } from './wiring/database.ts'

/** Tries the database and the credentials of every app, and changes no data. Throws when anything fails. */
export async function check(options: ReportOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const database = await openDatabase(config, 'join')
  try {
    const stored = await checkDatabase(config, database.url)
    const canCount = stored.every(({ result }) => result !== 'failed')
    const zones = canCount ? await unknownZones(config, database.url) : []
    const unknown = await placed(options.config, zones, process.env)
    const findings: readonly Finding[] = [
      { subject: 'configuration', result: 'ok', text: contents(config) },
      ...config.warnings.map(text => ({ subject: 'configuration', result: 'warning', text }) as const),
      ...offTexts(config).map(text => ({ subject: 'configuration', result: 'ok', text }) as const),
      ...stored,
      ...unknown.map(text => failed('configuration', text)),
      ...(await checkProvider(config, canCount)),
    ]
    tell(findings, options.json ? 'json' : 'text')
  } finally {
    await database.stop()
  }
}

function tell(findings: readonly Finding[], format: 'json' | 'text'): void {
  const failed = findings.filter(({ result }) => result === 'failed').length
  if (format === 'json') {
    printLines([JSON.stringify({ ok: failed === 0, checks: findings })])
  } else {
    const rows = findings.map(({ subject, result, text }) => [subject, result, text])
    printLines(textTable(['what', 'result', 'why'], rows))
  }
  if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed`)
}

const oldestVersion = 15

/** Whether the database can be reached, is new enough, is migrated, and gives the daemon the rights it needs. */
async function checkDatabase(config: Config, url: string): Promise<readonly Finding[]> {
  const options = { ...connectOptions(config, url), role: '', poolSize: 1 }
  return await withPool(options, async login => {
    const problem = await problemOf(login, options, config.database.directUrl && 'database.directUrl')
    if (problem) return [failed('database', problem)]
    const version = await checkVersion(login)
    const migrations = await checkMigrations(login)
    if (migrations.result === 'failed') return [version, migrations]
    return [version, migrations, await checkRole(config, url), ...(await checkOtherWays(config, url))]
  })
}

async function checkOtherWays(config: Config, url: string): Promise<readonly Finding[]> {
  const { directUrl, readUrl } = config.database
  const { pooled, reading } = await connectionsOf(config, url, systemClock)
  const found: Finding[] = []
  for (const [subject, options, key] of [
    ...(directUrl ? [['pooler', pooled, 'database.url'] as const] : []),
    ...(readUrl ? [['replica', reading, 'database.readUrl'] as const] : []),
  ]) {
    const problem = await withPool({ ...options, poolSize: 1 }, pool => problemOf(pool, options, key))
    found.push(problem ? failed(subject, problem) : ok(subject, `${key} answers`))
  }
  return found
}

async function problemOf(pool: pg.Pool, options: ConnectOptions, key: AddressKey = 'database.url') {
  const reads = key === 'database.readUrl'
  return (
    (await connectionProblem(pool, key)) ??
    (reads ? undefined : await readOnlyProblem(pool, key)) ??
    (await findSessionProblem(pool, options, key))
  )
}

async function checkVersion(pool: pg.Pool): Promise<Finding> {
  const { rows } = await pool.query<{ number: number }>(
    `select current_setting('server_version_num')::int as number`,
  )
  const version = Math.floor(rows[0]!.number / 10_000)
  if (version >= oldestVersion) return ok('database', `Postgres ${version} answers`)
  return failed('database', `Postgres ${version} is too old: ${oldestVersion} or newer is needed`)
}

async function checkMigrations(pool: pg.Pool): Promise<Finding> {
  const states = await migrationStates(pool)
  const missing = states.filter(({ appliedAt }) => !appliedAt).map(({ name }) => name)
  const later = states.filter(({ isLater }) => isLater).length
  const others = later > 0 ? `, and ${later} of a later release` : ''
  if (missing.length === 0) return ok('migrations', `all ${states.length - later} are applied${others}`)
  return failed('migrations', `missing: ${briefly(missing)}; run \`penstock migrate up\``)
}

const rights = `
  select (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname in ('classroom', 'analytics', 'players', 'ingest') and c.relkind in ('r', 'p') and not c.relispartition and c.relname !~ '^migration'
             and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
                      and has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update'))) as closed,
         has_schema_privilege('ingest', 'create') or has_schema_privilege('classroom', 'create')
           or has_schema_privilege('analytics', 'create') or has_schema_privilege('players', 'create') as creates,
         current_user as role`

function checkRole(config: Config, url: string): Promise<Finding> {
  return withPool({ ...connectOptions(config, url), poolSize: 1 }, async pool => {
    const problem = await connectionProblem(pool)
    if (problem) return failed('role', problem)
    const { rows } = await pool.query<{ closed: number; creates: boolean; role: string }>(rights)
    const { closed, creates, role } = rows[0]!
    if (closed > 0)
      return failed('role', `${role} may not write ${closed} tables: grant penstock_runtime to ${role}`)
    if (!creates) return ok('role', `${role} may write rows and change no table`)
    return warning('role', `${role} may change tables too; database.role: penstock_runtime takes that away`)
  })
}

/** Names that Node knows and this Postgres does not, where the configuration has them. */
async function unknownZones(config: Config, url: string) {
  return await withPool({ ...connectOptions(config, url), poolSize: 1 }, async pool => {
    const { rows } = await pool.query<{ zone: string }>(
      'select z.zone from unnest($1::text[]) z(zone) where not ingest.knows_zone(z.zone)',
      [[...new Set(config.apps.map(({ timeZone }) => timeZone))]],
    )
    const unknown = new Set(rows.map(({ zone }) => zone))
    const text =
      'this Postgres does not know the time zone, so days would be those of UTC: update its time zone data, or name an older zone'
    return config.apps.flatMap(({ timeZone }, i) =>
      unknown.has(timeZone) ? [{ path: ['apps', i, 'timeZone'], text }] : [],
    )
  })
}

const ok = (subject: string, text: string): Finding => ({ subject, result: 'ok', text })
const warning = (subject: string, text: string): Finding => ({ subject, result: 'warning', text })
const failed = (subject: string, text: string): Finding => ({ subject, result: 'failed', text })
