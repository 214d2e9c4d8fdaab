import { createHmac } from 'node:crypto'
import type { Draft } from './player.ts'

/** The token with which a user, by uid or account, may enter a channel of a project that has a certificate. */
export function channelToken(certificate: string, channelName: string, user: number | string): string {
  const mark = typeof user === 'number' ? 'uid' : 'account'
  return createHmac('sha256', certificate).update(`${channelName}\n${mark}\n${user}`).digest('hex')
}

/** Without a certificate tokens are not looked at. */
export function channelTokenFits(
  { token, channelName, uid, account }: Pick<Draft, 'token' | 'channelName' | 'uid' | 'account'>,
  certificate: string | undefined,
): boolean {
  if (certificate === undefined) return true
  const users = [uid, account].filter(user => user !== undefined)
  return users.some(user => token === channelToken(certificate, channelName, user))
}
