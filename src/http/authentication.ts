import type { Clock } from '../clock/clock.ts'
import { credentialHeaders } from '../provider/classroom/answers.ts'
import type { Family } from '../provider/operation.ts'

/** A secret that may be changed while the daemon runs. */
export type TokenSource = ReturnType<typeof rereadToken>

export type Credentials = ReturnType<typeof createCredentials>

export interface AppCredentials {
  readonly classroom?: { readonly uid: TokenSource; readonly token: TokenSource }
  /** Basic authentication of the analytics and the players API. */
  readonly rest?: { readonly key: TokenSource; readonly secret: TokenSource }
}

interface CredentialOptions {
  readonly apps: Readonly<Record<string, AppCredentials>>
  /** Names differ between deployments of the classroom service. */
  readonly tokenHeader?: string
  readonly uidHeader?: string
}

/** Credentials that are missing or cannot be sent. The text never holds a value. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
}

/** Several rotations of every app stay filtered; older tokens have long expired (they last a day at most). */
const rememberedSecrets = 4_096

/** Credentials of all apps: token and uid headers for classrooms, basic authentication for the other two. */
export function createCredentials(options: CredentialOptions) {
  const { tokenHeader = credentialHeaders.token, uidHeader = credentialHeaders.uid } = options
  const apps = new Map(Object.entries(options.apps))
  const keys = new Map<string, string>()
  let isRekeyed = false
  const known = new Set<string>()
  const remember = (secret: string) => {
    known.delete(secret)
    known.add(secret)
    if (known.size > rememberedSecrets) known.delete(known.values().next().value!)
    return secret
  }
  return {
    /** Headers that authenticate a request. Throws CredentialError. */
    async headers(app: string, family: Family): Promise<Readonly<Record<string, string>>> {
      if (family !== 'classroom') {
        const rest = apps.get(app)?.rest
        if (!rest) throw new CredentialError('the app has no key and secret')
        const secret = remember(await rest.secret.current())
        const key = await rest.key.current()
        isRekeyed ||= keys.has(app) && keys.get(app) !== key
        keys.set(app, key)
        const pair = remember(`${key}:${secret}`)
        return { authorization: `Basic ${remember(Buffer.from(pair).toString('base64'))}` }
      }
      const classroom = apps.get(app)?.classroom
      if (!classroom) throw new CredentialError('the app has no classroom token')
      const token = remember(await classroom.token.current())
      const uid = await classroom.uid.current()
      return { [tokenHeader]: headerValue('token', token), [uidHeader]: headerValue('uid', uid) }
    },
    /** After a 401: reads again what can be read again; true when it changed. */
    async refresh(app: string, family: Family): Promise<boolean> {
      const { classroom, rest } = apps.get(app) ?? {}
      const sources = Object.values((family === 'classroom' ? classroom : rest) ?? {})
      return (await Promise.all(sources.map(source => source.refresh()))).includes(true)
    },
    /** Whether an app sends another key since this was asked last: by its key the provider may count what it sends. */
    hasNewKey: (): boolean => {
      const told = isRekeyed
      isRekeyed = false
      return told
    },
    /** Takes other ones for an app from now on; none where they are left out. */
    replace: (app: string, by: AppCredentials | undefined) => {
      keys.delete(app)
      if (by) apps.set(app, by)
      else apps.delete(app)
    },
    /** Every secret revealed so far that may still show up somewhere, for the filter of the log. */
    known: (): readonly string[] => [...known],
  }
}

interface RereadOptions {
  /** Reads the token, for example from a file or a command. */
  readonly read: () => Promise<string>
  readonly clock: Clock
  /** Age in ms after which the token is read again although nobody complained. */
  readonly maxAge: number
  /** Refusals, and readings that fail, cause one reading in so long, ms. */
  readonly pause?: number
}

/** Refusals and failures follow each other, and to read a secret may mean to run a program: they cause one reading in so long, ms. */
const REFUSAL_PAUSE_MS = 5_000

/**
 * A token that is read again when it has grown old or was refused. Many who ask at once cause one reading.
 * When a scheduled reading fails, the token at hand serves on: it may still be good.
 */
export function rereadToken(options: RereadOptions) {
  const { read, clock, maxAge, pause = REFUSAL_PAUSE_MS } = options
  let held: { readonly token: string; readonly readAt: number } | undefined
  let reading: Promise<string> | undefined
  let refusedAt = Number.NEGATIVE_INFINITY
  let failedAt = Number.NEGATIVE_INFINITY
  const reread = () => {
    reading ??= read()
      .then(text => {
        const token = text.trim()
        if (token === '') throw new CredentialError('the token that was read is empty')
        held = { token, readAt: clock.monotonic() }
        return token
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  return {
    async current(): Promise<string> {
      if (!held) return reread()
      const { token, readAt } = held
      const now = clock.monotonic()
      if (now - readAt < maxAge || now - failedAt < pause) return token
      return reread().catch(() => {
        failedAt = clock.monotonic()
        return token
      })
    },
    /** Reads it again where it was refused; true when it is another one than before. */
    async refresh(): Promise<boolean> {
      if (clock.monotonic() - refusedAt < pause) return false
      refusedAt = clock.monotonic()
      const before = held?.token
      return (await reread()) !== before
    },
  }
}

/** Anything but printable ASCII could end a header early or be written as another character than was meant. */
function headerValue(name: string, value: string): string {
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw new CredentialError(`the ${name} holds a character that a header cannot carry, or is empty`)
  }
  return value
}
