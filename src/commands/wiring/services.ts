import type { Clock } from '../../clock/clock.ts'
import { type AppConfig, type Config, decoded } from '../../config/config.ts'
import type { Secret } from '../../config/secret.ts'
import {
  type AppCredentials,
  type Credentials,
  createCredentials,
  rereadToken,
  type TokenSource,
} from '../../http/authentication.ts'
import type { AppSigner } from '../../http/notifications.ts'
import { HttpTransport, type ProviderSettings, type TransportOptions } from '../../http/transport.ts'
import { type Family, families } from '../../provider/operation.ts'
import { version } from './installation.ts'

/** What is read from outside is read again at this age at the latest; a token lasts a day at most. */
const MAX_AGE_MS = 3_600_000

/** Whoever connects to the database reads its password again at this age: the file is small and connections are few. */
const PASSWORD_MAX_AGE_MS = 5_000

/** How requests leave for the services of a configuration. The caller closes it. */
export async function openTransport(
  config: Config,
  options: Pick<TransportOptions, 'clock' | 'random' | 'agent' | 'credentials' | 'onUnframed'>,
) {
  const proxy = await config.provider.proxy?.reveal()
  return new HttpTransport({
    ...options,
    providers: providersOf(config),
    proxy: proxy && escapedAddress(proxy),
    userAgent: `penstock/${version}`,
  })
}

/** Whoever reads it takes each percent sign for an escape. */
function escapedAddress(address: string): string {
  const url = new URL(address)
  url.username = encodeURIComponent(decoded(url.username))
  url.password = encodeURIComponent(decoded(url.password))
  return url.href
}

function providersOf({ provider }: Config): Readonly<Partial<Record<Family, ProviderSettings>>> {
  const configured = families.flatMap(family => {
    const service = provider[family]
    if (!service) return []
    const { url, maxBodyBytes, deadline } = service
    return [[family, { url, bodyBytes: maxBodyBytes, deadline }] as const]
  })
  return Object.fromEntries(configured)
}

/** How the transport authenticates each app. Reads all but tokens now; throws SecretError. */
export async function credentialsOf({ provider, apps }: Config, clock: Clock): Promise<Credentials> {
  const each = await Promise.all(apps.map(async app => [app.id, await appCredentials(app, clock)] as const))
  return createCredentials({ ...provider.classroom, apps: Object.fromEntries(each) })
}

/** How one app is authenticated. Reads all but its token now; throws SecretError. */
export async function appCredentials({ classroom, rest }: AppConfig, clock: Clock): Promise<AppCredentials> {
  const person = classroom && { uid: sourceOf(classroom.uid, clock), token: sourceOf(classroom.token, clock) }
  await person?.uid.current()
  const pair = rest && { key: sourceOf(rest.key, clock), secret: sourceOf(rest.secret, clock) }
  await pair?.key.current()
  return { ...(person && { classroom: person }), ...(pair && { rest: pair }) }
}

/** Strangers can send what nobody signed, and to read a secret may mean to run a program: that often at most, ms. */
const NOTIFICATION_PAUSE_MS = 60_000

/** Secrets with which notifications of the apps are signed. Reads them now; throws SecretError. */
export async function signersIn({ apps }: Pick<Config, 'apps'>, clock: Clock): Promise<AppSigner[]> {
  const signers = apps.flatMap(({ id, notifications }) =>
    notifications ? [{ app: id, secret: sourceOf(notifications.secret, clock, NOTIFICATION_PAUSE_MS) }] : [],
  )
  await Promise.all(signers.map(({ secret }) => secret.current()))
  return signers
}

function sourceOf(secret: Secret, clock: Clock, pause?: number): TokenSource {
  const read = async () => {
    secret.refresh()
    return secret.reveal()
  }
  return rereadToken({ read, clock, maxAge: MAX_AGE_MS, ...(pause !== undefined && { pause }) })
}

/**
 * The password of a database's address for a connection that is made now: it may have been changed. Undefined where the
 * address holds none.
 */
export async function databasePassword(
  url: Secret,
  clock: Clock,
): Promise<(() => Promise<string>) | undefined> {
  const read = async () => {
    url.refresh()
    return URL.parse(await url.reveal())?.password ?? ''
  }
  if ((await read()) === '') return undefined
  const source = rereadToken({ read, clock, maxAge: PASSWORD_MAX_AGE_MS })
  await source.current()
  return async () => decoded(await source.current())
}
