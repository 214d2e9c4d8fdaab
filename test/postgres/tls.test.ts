import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { destroyEmbedded, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { connect, connectionProblem } from '../../src/postgres/connect.ts'
import { defaultConnection } from '../support/connection.ts'
import { ask } from '../support/embedded.ts'

/** What docs/postgres.md says of TLS, tried with a server that has a certificate of an authority of its own. */

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

let folder: string
let url: string
let stop: () => Promise<void>

function openssl(...words: readonly string[]): void {
  const { status, stderr } = spawnSync('openssl', words, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

/** A certificate for a name, signed by the authority. */
function certify(file: string, name: string): void {
  const ca = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-days', '2']
  openssl(
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...ca],
    ...['-keyout', `${file}.key`, '-out', `${file}.crt`],
    ...['-subj', '/CN=server', '-addext', `subjectAltName=${name}`, '-addext', 'basicConstraints=CA:FALSE'],
  )
}

async function serve(file: string): Promise<void> {
  const { uid, gid } = await stat(join(folder, 'data/postgres/cluster'))
  for (const end of ['key', 'crt']) {
    await chown(join(folder, `${file}.${end}`), uid, gid)
    await chmod(join(folder, `${file}.${end}`), 0o600)
  }
  await ask(url, `alter system set ssl_cert_file = '${join(folder, `${file}.crt`)}'`)
  await ask(url, `alter system set ssl_key_file = '${join(folder, `${file}.key`)}'`)
  await ask(url, 'alter system set ssl = on')
  await ask(url, 'select pg_reload_conf()')
}

async function attempt(query: string) {
  const pool = connect({ ...defaultConnection, role: '', url: `${url}?${query}`, poolSize: 1 })
  try {
    const problem = await connectionProblem(pool)
    if (problem) return problem
    const { rows } = await pool.query<{ ssl: boolean }>(
      'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
    )
    return rows[0]!.ssl ? 'TLS' : 'no TLS'
  } finally {
    await pool.end()
  }
}

describe.skipIf(!hasOpenssl)('TLS to Postgres', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-tls-'))
    await chmod(folder, 0o755)
    const started = await startEmbedded({ dataDir: join(folder, 'data'), clock: systemClock })
    url = started.url
    stop = started.stop
    openssl(
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=authority'],
    )
    certify('right', 'IP:127.0.0.1')
    certify('other', 'DNS:db.example.com')
  })

  afterAll(async () => {
    await stop?.()
    await destroyEmbedded(join(folder, 'data'), systemClock)
    await rm(folder, { recursive: true, force: true })
  })

  it('is not used where the address does not ask for it', async () => {
    expect(await attempt('')).toBe('no TLS')
  })

  it('of a server that offers none is refused, and the sentence says so', async () => {
    expect(await attempt('sslmode=verify-full')).toBe(
      'the database of database.url takes no TLS, which its sslmode asks for',
    )
  })

  it('verifies the server by the authority that the address names', async () => {
    await serve('right')
    const query = `sslmode=verify-full&sslrootcert=${folder}/ca.crt`
    await expect.poll(() => attempt(query)).toBe('TLS')
  })

  it('refuses a server whose authority nobody knows, and says so', async () => {
    expect(await attempt('sslmode=verify-full')).toMatch(
      /cannot be reached \((SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)\)/,
    )
    expect(await attempt('sslmode=no-verify')).toBe('TLS')
  })

  it('refuses a certificate for another name, and says so', async () => {
    await serve('other')
    const root = `sslrootcert=${folder}/ca.crt`
    await expect
      .poll(() => attempt(`sslmode=verify-full&${root}`))
      .toContain('cannot be reached (ERR_TLS_CERT_ALTNAME_INVALID)')
  })
})
