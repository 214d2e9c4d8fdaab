import type pg from 'pg'
import type { Config } from '../../config/config.ts'
import { connect, connectionProblem } from '../../postgres/connect.ts'
import { migrationStates } from '../../postgres/migrate.ts'
import { connectOptions } from '../wiring/database.ts'
import type { Finding } from './finding.ts'

const oldestVersion = 15

/** Whether the database can be reached, is new enough, is migrated, and gives the daemon the rights it needs. */
export async function checkDatabase(config: Config, url: string): Promise<readonly Finding[]> {
  const login = connect({ ...connectOptions(config, url), role: '', poolSize: 1 })
  try {
    const problem = await connectionProblem(login)
    if (problem) return [failed('database', problem)]
    const version = await checkVersion(login)
    const migrations = await checkMigrations(login)
    if (migrations.result === 'failed') return [version, migrations]
    return [version, migrations, await checkRole(config, url)]
  } finally {
    await login.end()
  }
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
  if (missing.length === 0) return ok('migrations', `all ${states.length} are applied`)
  return failed('migrations', `missing: ${missing.join(', ')}; run \`penstock migrate up\``)
}

const rights = `
  select (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname in ('classroom', 'analytics', 'players', 'ingest') and c.relkind in ('r', 'p') and not c.relispartition and c.relname !~ '^migration'
             and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
                      and has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update'))) as closed,
         has_schema_privilege('ingest', 'create') or has_schema_privilege('classroom', 'create')
           or has_schema_privilege('analytics', 'create') or has_schema_privilege('players', 'create') as creates,
         current_user as role`

async function checkRole(config: Config, url: string): Promise<Finding> {
  const pool = connect({ ...connectOptions(config, url), poolSize: 1 })
  try {
    const problem = await connectionProblem(pool)
    if (problem) return failed('role', problem)
    const { rows } = await pool.query<{ closed: number; creates: boolean; role: string }>(rights)
    const { closed, creates, role } = rows[0]!
    if (closed > 0)
      return failed('role', `${role} may not write ${closed} tables; run \`penstock migrate up\``)
    if (!creates) return ok('role', `${role} may write rows and change no table`)
    return warning('role', `${role} may change tables too; database.role: penstock_runtime takes that away`)
  } finally {
    await pool.end()
  }
}

const ok = (subject: string, text: string): Finding => ({ subject, result: 'ok', text })
const warning = (subject: string, text: string): Finding => ({ subject, result: 'warning', text })
const failed = (subject: string, text: string): Finding => ({ subject, result: 'failed', text })
