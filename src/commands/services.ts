import type { Clock } from '../clock/clock.ts'
import type { AppConfig, Config } from '../config/config.ts'
import {
  type AppCredentials,
  type Credentials,
  createCredentials,
  rereadToken,
} from '../http/authentication.ts'
import type { ProviderSettings } from '../http/transport.ts'
import type { Family } from '../provider/operation.ts'

/** A token that is read from outside is read again at this age at the latest; it lasts a day at most. */
const TOKEN_MAX_AGE_MS = 3_600_000

/** Where the services of a configuration are, for the transport. */
export function providersOf({ provider }: Config): Readonly<Partial<Record<Family, ProviderSettings>>> {
  const { classroom, analytics, players } = provider
  return {
    classroom: settingsOf(classroom),
    ...(analytics && { analytics: settingsOf(analytics) }),
    ...(players && { players: settingsOf(players) }),
  }
}

function settingsOf(service: {
  readonly url: string
  readonly insecure: boolean
  readonly maxBodyBytes: number
}): ProviderSettings {
  return { url: service.url, insecure: service.insecure, bodyBytes: service.maxBodyBytes }
}

/** How the transport authenticates each app. Reads user IDs and REST keys now; throws SecretError. */
export async function credentialsOf({ provider, apps }: Config, clock: Clock): Promise<Credentials> {
  const { tokenHeader, uidHeader } = provider.classroom
  const each = await Promise.all(apps.map(async app => [app.id, await appCredentials(app, clock)] as const))
  return createCredentials({ apps: Object.fromEntries(each), tokenHeader, uidHeader })
}

async function appCredentials({ classroom, rest }: AppConfig, clock: Clock): Promise<AppCredentials> {
  const read = async () => {
    classroom.token.refresh()
    return classroom.token.reveal()
  }
  const uid = await classroom.uid.reveal()
  const token = rereadToken({ read, clock, maxAge: TOKEN_MAX_AGE_MS })
  if (!rest) return { classroom: { uid, token } }
  return { classroom: { uid, token }, rest: { key: await rest.key.reveal(), secret: rest.secret } }
}
