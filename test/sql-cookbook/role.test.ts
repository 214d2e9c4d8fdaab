import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { execute } from '../support/databases.ts'

let folder: string
let server: { readonly url: string; readonly stop: () => Promise<void> }

/** A server of its own: roles are those of all databases of a server. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-roles-'))
  server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'test' })
})

afterAll(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('the role penstock_read', () => {
  it('is asked for by the migration of one who may not make it, in words that a superuser can run', async () => {
    const { pathname } = new URL(server.url)
    await execute(
      server.url,
      `create role penstock_runtime nologin; create role penstock_migrate nologin;
       create role mover login password 'm' in role penstock_migrate;
       grant create on database ${pathname.slice(1)} to penstock_migrate`,
    )
    const url = Object.assign(new URL(server.url), { username: 'mover', password: 'm' }).href
    const error = await migrateUp({ url }).catch((failure: unknown) => failure as Error)
    const [, words = ''] = /As a superuser: (.*;)/.exec(String(error)) ?? []
    expect(String(error)).toContain('migration 0001-roles: the role penstock_read must exist')
    await execute(server.url, words)
    expect(await migrateUp({ url })).toContain('0001-roles')
  })
})
