import type { AppOptions } from '../options.ts'
import { forbidden, unauthorized } from './refusals.ts'

export type AppWithKey = AppOptions & Required<Pick<AppOptions, 'rest'>>

/** The app of the path. Throws 401 where the basic authentication fails, 403 where it is not that of the app. */
export function identify(
  apps: readonly AppOptions[],
  { authorization, appId }: { readonly authorization: string | undefined; readonly appId: string },
): AppWithKey {
  const [scheme = '', encoded = ''] = (authorization ?? '').split(' ')
  if (scheme.toLowerCase() !== 'basic') throw unauthorized()
  const given = Buffer.from(encoded, 'base64').toString()
  const theirs = apps.filter((app): app is AppWithKey => {
    return app.rest !== undefined && given === `${app.rest.key}:${app.rest.secret}`
  })
  if (theirs.length === 0) throw unauthorized()
  const app = theirs.find(({ id }) => id === appId)
  if (!app) throw forbidden()
  return app
}
