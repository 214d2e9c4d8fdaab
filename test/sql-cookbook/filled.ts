import pg from 'pg'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { askBroker } from '../support/broker.ts'
import { cloneFrom, databaseUrl, execute, type TestDatabase } from '../support/databases.ts'
import type { TestServerAddress } from '../support/postgres.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { fillSchool } from './fill.ts'
import { end, openWorld, start } from './world.ts'

const minute = 60_000

/** Whose login it is: a member of penstock_read and of nothing else. */
const reader = { name: 'penstock_test_reader', password: 'reader' } as const

export interface FilledSchool {
  /** Of a superuser. */
  readonly url: string
  /** Of one who may read what people may read. */
  readonly readerUrl: string
  readonly drop: () => Promise<void>
}

/**
 * A database of its own with both schools drained up to `end`, where its clock stands. The first file of a run to
 * ask for it fills it, in about a minute; all get copies.
 */
export async function filledSchool(): Promise<FilledSchool> {
  const { inject } = await import('vitest')
  return filledOn(await askBroker(inject('postgresBroker')))
}

/** The same on a server for tests, outside of vitest. */
export async function filledOn(server: TestServerAddress): Promise<FilledSchool> {
  const template = server.template.replace(/_template$/, '_reading')
  const database = await alone(server.url, `${template} is being filled`, async client => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template])
    if (rowCount === 0) await make(server, template)
    await client.query(makeReader)
    return cloneFrom({ url: server.url, template })
  })
  return { url: database.url, readerUrl: asReader(database.url), drop: () => database.drop() }
}

/** Under another name until it is whole, so that one that could not be filled is never taken for the filled one. */
async function make(server: TestServerAddress, template: string): Promise<void> {
  const database = await cloneFrom(server)
  try {
    await fillSchool(database)
  } catch (error) {
    await database.drop()
    throw error
  }
  const name = new URL(database.url).pathname.slice(1)
  await execute(server.url, `alter database ${name} rename to ${template}`)
}

const makeReader = `
  do $$
  begin
    create role ${reader.name} login password '${reader.password}' in role penstock_read;
  exception when duplicate_object then null;
  end
  $$`

function asReader(url: string): string {
  const address = new URL(url)
  address.username = reader.name
  address.password = reader.password
  return address.href
}

/** One process of the run after the other. */
async function alone(
  url: string,
  what: string,
  work: (client: pg.Client) => Promise<TestDatabase>,
): Promise<TestDatabase> {
  const client = new pg.Client({ connectionString: databaseUrl(url, 'postgres') })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [what])
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The world that the database was filled from, at its end: what really happened. */
export async function trueSchool(): Promise<Sandbox> {
  const clock = new VirtualClock(start)
  const { sandbox, turn } = openWorld(clock)
  turn()
  while (clock.now() < end) {
    await clock.advance(minute)
    turn()
  }
  return sandbox
}

/** A client whose times are UTC, as those of people who ask are. */
export async function connectAs(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' })
  await client.connect()
  return client
}
