import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** Whether whoever asks may see page, status and metrics, by the header `authorization`. */
export type Access = (authorization: string | undefined) => Promise<boolean>

const shape = /^([^:\s]{1,64}):scrypt:([0-9a-f]{32}):([0-9a-f]{64})$/

function hashed(password: string, salt: Buffer): Promise<Buffer> {
  return promisify<string, Buffer, number, Buffer>(scrypt)(password, salt, 32)
}

/** The line of a file that lets one user in. */
export async function accessLine(user: string, password: string): Promise<string> {
  const salt = randomBytes(16)
  return `${user}:scrypt:${salt.toString('hex')}:${(await hashed(password, salt)).toString('hex')}`
}

/** Reads such a line; undefined where it is none. */
export function readAccess(line: string): Access | undefined {
  const [, user, salt, hash] = shape.exec(line.trim()) ?? []
  if (user === undefined || salt === undefined || hash === undefined) return undefined
  // Hashing is slow on purpose: what was let in once is known by a digest, and others wait for their turn.
  let known: string | undefined
  let last: Promise<unknown> = Promise.resolve()
  const isRight = async (authorization: string) => {
    const [, encoded] = /^basic ([A-Za-z0-9+/=]+)$/i.exec(authorization) ?? []
    const [, name, password] =
      /^([^:]*):([\s\S]*)$/.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
    if (name !== user || password === undefined) return false
    return timingSafeEqual(await hashed(password, Buffer.from(salt, 'hex')), Buffer.from(hash, 'hex'))
  }
  return async authorization => {
    if (authorization === undefined) return false
    const digest = createHash('sha256').update(authorization).digest('hex')
    if (digest === known) return true
    const turn = last.then(() => isRight(authorization))
    last = turn.catch(() => {})
    const isAllowed = await turn
    if (isAllowed) known = digest
    return isAllowed
  }
}
