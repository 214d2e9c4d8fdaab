import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock/system.ts'
import { connect } from '../../src/postgres/connect.ts'
import { migrateUp, migrationStates } from '../../src/postgres/migrate.ts'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { whoMayNotShare } from '../../src/postgres/shard-jobs.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import { defaultConnection } from '../support/connection.ts'
import { databaseUrl, execute, type TestDatabase } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { app, event, eventRows, hour, logPage, me } from './harness.ts'

const names = [
  '0001-roles',
  '0002-ingest',
  '0003-classroom',
  '0004-analytics',
  '0005-players',
  '0006-classes-and-completeness',
  '0007-jobs',
  '0008-backlog-without-off',
  '0009-large-calls',
  '0010-users-between',
  '0011-names-of-teachers',
  '0012-kept-days',
  '0013-roles-once-told',
  '0014-unread-former-rooms',
  '0015-roles-of-writers',
  '0016-lasting-pace',
  '0017-users-of-days',
  '0018-rooms-by-name',
  '0019-classes-changed-together',
  '0020-stands',
  '0021-comments',
  '0022-days-and-what-is-unread',
  '0023-rooms-that-are-gone',
  '0024-stays-within-an-event',
  '0025-ends-that-nobody-knows',
  '0026-files-that-are-gone',
  '0027-calls-left-out',
  '0028-one-end-of-a-class',
  '0029-who-is-still-there',
  '0030-ends-told-late',
  '0031-files-of-the-log',
  '0032-told-once-and-whole',
  '0033-calls-until-an-end-was-told',
  '0034-late-by-the-log',
  '0035-shares-and-lengths',
  '0036-set-back-on-one-timeline',
  '0037-classes-one-after-another',
]
let migrated: TestDatabase
beforeAll(async () => {
  migrated = await cloneDatabase()
})
afterAll(() => migrated.drop())

const unique = (prefix: string) => `${prefix}_${systemRandom.uuid().replaceAll('-', '').slice(0, 12)}`

/** An empty database. */
async function freshDatabase(): Promise<string> {
  const name = unique('penstock_empty')
  await execute(migrated.url, `create database ${name}`)
  onTestFinished(() => execute(migrated.url, `drop database if exists ${name} with (force)`))
  return databaseUrl(migrated.url, name)
}

/** The address of the same database for a login without any right of its own. */
async function plainLogin(url: string): Promise<{ readonly login: string; readonly url: string }> {
  const login = unique('login')
  await execute(url, `create role ${login} login password 'secret'`)
  onTestFinished(async () => {
    await execute(url, `drop owned by ${login}`)
    await execute(migrated.url, `drop role ${login}`)
  })
  const address = new URL(url)
  Object.assign(address, { username: login, password: 'secret' })
  return { login, url: address.href }
}

async function statesOf(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  // Its session may still be ending when the test's database is dropped by force.
  pool.on('error', () => {})
  return migrationStates(pool).finally(() => pool.end())
}

describe('migrations', () => {
  it('are applied once: a second time there is nothing to do', async () => {
    const url = await freshDatabase()
    expect(await migrateUp({ url })).toEqual(names)
    expect(await migrateUp({ url })).toEqual([])
  })

  it('say which are missing and when the others were applied', async () => {
    const url = await freshDatabase()
    expect(await statesOf(url)).toEqual(names.map(name => ({ name, appliedAt: undefined, isLater: false })))
    await migrateUp({ url })
    const states = await statesOf(url)
    expect(states.map(({ name }) => name)).toEqual(names)
    expect(states.every(({ appliedAt }) => appliedAt && appliedAt.getTime() > Date.UTC(2024))).toBe(true)
  })

  it('say which a later release has applied', async () => {
    const url = await freshDatabase()
    await migrateUp({ url })
    await execute(url, `insert into ingest.migration values ('9001-later', 1, '2026-03-02T10:00:00Z')`)
    const states = await statesOf(url)
    expect(states.filter(({ isLater }) => isLater)).toEqual([
      { name: '9001-later', appliedAt: new Date('2026-03-02T10:00:00Z'), isLater: true },
    ])
    expect(states.map(({ name }) => name)).toEqual([...names, '9001-later'])
  })

  it('that are begun twice at once run one after the other', async () => {
    const url = await freshDatabase()
    const runs = await Promise.all([migrateUp({ url }), migrateUp({ url }), migrateUp({ url })])
    expect(runs.flat().sort()).toEqual(names)
  })

  it('that are killed in the middle leave nothing half done, and run the next time', async () => {
    const url = await freshDatabase()
    await execute(
      url,
      `create function die() returns event_trigger language plpgsql
        as 'begin
          if to_regclass(''classroom.room'') is not null then perform pg_terminate_backend(pg_backend_pid()); end if;
        end';
      create event trigger die on ddl_command_start when tag in ('CREATE VIEW') execute function die()`,
    )
    await expect(migrateUp({ url })).rejects.toThrow('migration')
    const left = await ask(
      url,
      `select nspname || '.' || relname as name from pg_class c join pg_namespace n on n.oid = relnamespace
      where nspname in ('ingest', 'classroom') and relkind in ('r', 'v') and relname not like 'migration%'`,
    )
    expect(left).toEqual([])
    await execute(url, 'drop event trigger die')
    expect(await migrateUp({ url })).toEqual(names)
  })

  it('say what is missing to one who lacks the rights', async () => {
    const { url } = await plainLogin(await freshDatabase())
    await expect(migrateUp({ url })).rejects.toThrow(
      /^migration could not start: permission denied for database .*Whoever migrates must be a superuser or .*penstock_migrate/,
    )
  })

  it('say what to prepare to one who may create schemas and no roles', async () => {
    const prepared = await freshDatabase()
    const { login, url } = await plainLogin(prepared)
    const { pathname } = new URL(prepared)
    await execute(prepared, `grant create on database ${pathname.slice(1)} to ${login}`)
    await expect(migrateUp({ url })).rejects.toThrow(
      `migration 0001-roles: the roles penstock_runtime and penstock_migrate must exist and ${login} must be a member of the second. As a superuser: create role`,
    )
  })

  it('need no more than what a superuser can prepare; nor does the daemon', async () => {
    const prepared = await freshDatabase()
    const [migrator, daemon] = [await plainLogin(prepared), await plainLogin(prepared)]
    const { pathname } = new URL(prepared)
    await execute(
      prepared,
      `grant penstock_migrate to ${migrator.login}; grant penstock_runtime to ${daemon.login};
      grant create on database ${pathname.slice(1)} to penstock_migrate`,
    )
    expect(await migrateUp({ url: migrator.url })).toEqual(names)
    expect(await migrateUp({ url: migrator.url })).toEqual([])

    const ownership = createOwnership({
      ...{ ...defaultConnection, url: daemon.url, owner: me.owner, knows: () => [1], clock: systemClock },
    })
    expect((await ownership.claim()).fences).toEqual([me])
    const pool = connect({ ...defaultConnection, url: daemon.url })
    const store = createStore(pool, {
      roomMemory: hour,
      streams: Object.values(streams),
      region: () => 'ap',
      sequenceScope: 'room',
    })
    await store.discoverRooms(me, app, ['r'])
    const page = logPage('r', 0, { rows: eventRows([event('r', 1)]) })
    expect(await store.commit(page)).toMatchObject({ outcome: 'committed' })
    expect(await whoMayNotShare(pool, '')).toBeUndefined()
    expect(await whoMayNotShare(pool, migrator.login)).toBeUndefined()
    expect(await whoMayNotShare(pool, 'penstock_read')).toBe('penstock_read')
    expect((await migrationStates(pool)).every(({ appliedAt }) => appliedAt)).toBe(true)
    await ownership.release()
    await ownership.close()
    await pool.end()
  })
})
