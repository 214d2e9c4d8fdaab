import type { Config } from '../../config/config.ts'
import type { Log, NotificationStore, Store } from '../../engine/ports.ts'
import type { Signer } from '../../http/notifications.ts'
import { createNotificationHandler, noticeOutcomes } from '../../http/notifications.ts'
import { cloudPlayers } from '../../streams/players/cloud-players.ts'
import type { PrometheusMeter } from '../../telemetry/metrics.ts'
import { type Notifications, turnedAway } from '../../telemetry/notifications.ts'

/** Everything that may become of a notification, for its metric. */
export const allNoticeOutcomes = [...noticeOutcomes, ...turnedAway] as const

/** Secrets with which notifications of the apps are signed. Reads them now; throws SecretError. */
export async function signersIn({ apps }: Config): Promise<readonly Signer[]> {
  const each = apps.map(async ({ id, notifications }) =>
    notifications ? [{ app: id, secret: await notifications.secret.reveal() }] : [],
  )
  return (await Promise.all(each)).flat()
}

export interface NotificationParts {
  readonly config: Config
  readonly signers: readonly Signer[]
  readonly notifications: NotificationStore
  readonly store: Pick<Store, 'deadLetter'>
  /** Makes the list of an app's players due. */
  readonly want: (app: string) => void
  readonly meter: Pick<PrometheusMeter, 'notification' | 'deadLetters'>
  readonly log: Log
}

/** What answers POST /notifications; undefined where no app has a secret for them. */
export function notificationsOf(parts: NotificationParts): Notifications | undefined {
  const { config, signers, notifications, store, want, meter, log } = parts
  const { players } = config.provider
  if (!players || signers.length === 0) return undefined
  const { signatureHeader: sha1, signatureHeaderV2: sha256 } = players
  const take = createNotificationHandler({
    ...{ signers, notifications, store, want, meter, log, stream: cloudPlayers.name },
    headers: { sha1, sha256 },
  })
  return { take, turnAway: why => meter.notification(undefined, why) }
}
