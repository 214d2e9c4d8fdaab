import { connect } from '../../postgres/connect.ts'
import { migrateUp } from '../../postgres/migrate.ts'

const name = 'demo'

/** Makes a migrated database anew on the server at `url`, dropping the one of an earlier demo. Answers its address. */
export async function freshDatabase(url: string): Promise<string> {
  const pool = connect({ url, poolSize: 1, statementTimeout: 60_000, lockTimeout: 30_000, role: '' })
  try {
    await pool.query(`drop database if exists ${name} with (force)`)
    await pool.query(`create database ${name}`)
  } finally {
    await pool.end()
  }
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  await migrateUp({ url: fresh.href })
  return fresh.href
}
