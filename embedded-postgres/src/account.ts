import { readFile, realpath, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'

/** The user that Postgres runs as; `switched` when that is not the user who starts it. */
export interface Account {
  readonly uid: number
  readonly gid: number
  readonly switched: boolean
}

const SERVICE_USERS = ['postgres', 'nobody']

/**
 * Postgres refuses to run as root, so root runs it as the owner of the existing `cluster`, else as postgres or
 * nobody. Everyone else runs it as themselves. Throws `account` where there is no such user.
 */
export async function chooseAccount(cluster: string | undefined): Promise<Account> {
  const owner = cluster === undefined ? undefined : await stat(cluster).catch(() => undefined)
  if (process.getuid?.() !== 0) return ownAccount(cluster, owner?.uid)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, switched: true }
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const users = new Map(passwd.split('\n').map(line => [line.split(':')[0], line.split(':')]))
  for (const name of SERVICE_USERS) {
    const [, , uid, gid] = users.get(name) ?? []
    if (uid && gid && uid !== '0') return { uid: Number(uid), gid: Number(gid), switched: true }
  }
  throw new EmbeddedPostgresError(
    'account',
    'Postgres does not run as root and /etc/passwd has neither a user "postgres" nor "nobody" to run it as: ' +
      'start Penstock as a plain user, or set database.url to an existing Postgres',
  )
}

function ownAccount(cluster: string | undefined, owner: number | undefined): Account {
  const { uid, gid } = whoAmI()
  if (owner === undefined || owner === uid) return { uid, gid, switched: false }
  throw new EmbeddedPostgresError(
    'account',
    `the database in ${cluster} belongs to user id ${owner}, not to ${uid}: start Penstock as that user or as root, ` +
      'or give another database.dataDir',
  )
}

function whoAmI(): { readonly uid: number; readonly gid: number } {
  try {
    return userInfo()
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'account',
      `user id ${process.getuid?.()} has no name in /etc/passwd, without which Postgres cannot make a database: ` +
        'start Penstock as a named user, or set database.url to an existing Postgres',
      { cause },
    )
  }
}

/** The spawn options that make a child run as the account. */
export function runAs(account: Account): { readonly uid?: number; readonly gid?: number } {
  return account.switched ? { uid: account.uid, gid: account.gid } : {}
}

/** True when the account may pass through every directory from the root down to `directory` itself. */
export async function canReach(directory: string, account: Account): Promise<boolean> {
  if (!account.switched) return true
  let at = await realpath(directory)
  for (;;) {
    const { uid, gid, mode } = await stat(at)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    const parent = dirname(at)
    if (parent === at) return true
    at = parent
  }
}
