import type { AppOptions } from '../options.ts'
import { channelTokenFits } from './channel-token.ts'
import {
  between,
  brokenField,
  type Checks,
  channelAlphabet,
  isBoolean,
  isNumber,
  isRecord,
  isString,
  nameAlphabet,
  oneOf,
  text,
  wholeBetween,
} from './checks.ts'
import { isSalt } from './encryption.ts'
import type { Draft } from './player.ts'
import { invalid } from './refusals.ts'

const largestUid = 2 ** 32 - 1
const day = 86_400

/** Seconds: shortest, longest and usual patience with a player that does not play. */
const patience = { least: 5, most: 600, usual: 300 } as const

const encryptModes = [
  ...['aes-128-xts', 'aes-256-xts', 'aes-128-ecb', 'sm4-128-ecb', 'aes-128-gcm', 'aes-256-gcm'],
  ...['aes-128-gcm2', 'aes-256-gcm2'],
] as const

const fields: Checks = {
  streamUrl: value => text(1_024)(value) && isStreamUrl(String(value)),
  channelName: text(64, channelAlphabet),
  uid: wholeBetween(0, largestUid),
  account: text(255, channelAlphabet),
  token: isString,
  audioOptions: isRecord,
  videoOptions: isRecord,
  idleTimeout: isNumber,
  playTs: isNumber,
  name: text(64, nameAlphabet),
  encryptMode: oneOf(...encryptModes),
  encryptKey: isString,
  encryptKdfSalt: isString,
  repeatTime: value => Number.isInteger(value) && value !== 0,
  seekPosition: between(0, Number.MAX_VALUE),
  dataStreamOptions: isRecord,
}

const audioFields: Checks = { profile: wholeBetween(0, 5) }

const videoFields: Checks = {
  width: between(66, 1_920),
  height: between(66, 1_080),
  widthHeightAdaption: isBoolean,
  frameRate: between(1, 30),
  bitrate: between(1, 10_000),
  fillMode: oneOf('fit', 'fill'),
}

const dataStreamFields: Checks = { enable: isBoolean }

/**
 * Reads the body of a Create as the document has it. `now` is the time of creation, Unix seconds. Throws 400, naming
 * the field and never its value.
 */
export function readDraft(
  body: unknown,
  about: { readonly region: string; readonly app: AppOptions; readonly now: number },
): Draft {
  if (!isRecord(body)) throw invalid('body')
  const broken =
    ['streamUrl', 'channelName'].find(name => body[name] === undefined || body[name] === null) ??
    (body.account === null ? 'account' : undefined) ??
    brokenField(body, fields) ??
    brokenOption(body, 'audioOptions', audioFields) ??
    brokenOption(body, 'videoOptions', videoFields) ??
    brokenOption(body, 'dataStreamOptions', dataStreamFields) ??
    brokenEncryption(body)
  if (broken) throw invalid(broken)
  const draft = draftOf(body, about.region)
  if (draft.uid === undefined && draft.account === undefined) throw invalid('uid or account')
  const { playTs } = draft
  if (playTs !== 0 && (playTs < about.now - day || playTs > about.now + 300)) throw invalid('playTs')
  if (!channelTokenFits(draft, about.app.certificate)) throw invalid('token')
  return draft
}

/** Every field has its type by now. */
function draftOf(body: Readonly<Record<string, unknown>>, region: string): Draft {
  const textOf = (name: string) => (body[name] ?? undefined) as string | undefined
  const numberOf = (name: string) => (body[name] ?? undefined) as number | undefined
  const idleTimeout = numberOf('idleTimeout') ?? patience.usual
  return {
    region,
    streamUrl: textOf('streamUrl')!,
    channelName: textOf('channelName')!,
    uid: numberOf('uid'),
    account: textOf('account'),
    name: textOf('name'),
    token: textOf('token'),
    idleTimeout: Math.min(patience.most, Math.max(patience.least, idleTimeout)),
    playTs: numberOf('playTs') ?? 0,
    repeatTime: numberOf('repeatTime') ?? 1,
    seekPosition: numberOf('seekPosition') ?? 0,
  }
}

function brokenOption(body: Readonly<Record<string, unknown>>, name: string, checks: Checks) {
  return brokenField((body[name] ?? {}) as Readonly<Record<string, unknown>>, checks, `${name}.`)
}

/** A mode needs a key; those with gcm2 need a salt, and no other may have one. */
function brokenEncryption({ encryptMode, encryptKey, encryptKdfSalt }: Readonly<Record<string, unknown>>) {
  const isSalted = encryptMode === 'aes-128-gcm2' || encryptMode === 'aes-256-gcm2'
  const hasSalt = typeof encryptKdfSalt === 'string'
  if (encryptMode && !encryptKey) return 'encryptKey'
  if (isSalted !== hasSalt) return 'encryptKdfSalt'
  return hasSalt && !isSalt(encryptKdfSalt) ? 'encryptKdfSalt' : undefined
}

function isStreamUrl(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return ['rtmp:', 'http:', 'https:'].includes(protocol) && hostname !== ''
}
