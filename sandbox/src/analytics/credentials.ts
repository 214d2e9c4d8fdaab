import type { AppOptions } from '../options.ts'
import { forbidden, invalid, unauthorized } from './refusals.ts'

export type AppWithCredential = AppOptions & Required<Pick<AppOptions, 'rest'>>

/**
 * The app that a request is about. Throws code 401 where the basic authentication fails, 400 without an app ID,
 * and 403 where the app belongs to another credential.
 */
export function identify(
  apps: readonly AppOptions[],
  {
    authorization,
    appid,
  }: { readonly authorization: string | undefined; readonly appid: string | undefined },
): AppWithCredential {
  const [, encoded = ''] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? []
  const credential = Buffer.from(encoded, 'base64').toString()
  const theirs = apps
    .filter((app): app is AppWithCredential => app.rest !== undefined)
    .filter(({ rest }) => `${rest.key}:${rest.secret}` === credential)
  if (theirs.length === 0) throw unauthorized()
  if (appid === undefined) throw invalid('appid')
  const app = theirs.find(({ id }) => id === appid)
  if (!app) throw forbidden()
  return app
}
