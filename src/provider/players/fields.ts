import { z } from 'zod'

/** Longest values, in bytes of UTF-8, as the document's table of fields has them. */
const playerBytes = { streamUrl: 1_024, channelName: 64, account: 255, name: 64 } as const

/** Largest user ID: 2^32-1. 0 lets the server choose one. */
const largestUid = 4_294_967_295

/** How far before and after its creation a player may start to play, seconds. */
export const playWindow = { before: 86_400, after: 300 } as const

/** A new player may be missing from a list for this long, seconds. */
export const blindSeconds = 10

const channelCharacters = /^[A-Za-z0-9 !#$%&()+\-:;<=.>?@[\]^_|~,]+$/
const nameCharacters = /^[A-Za-z0-9_-]+$/
const streamSchemes = /^(?:rtmp|https?):\/\/[^\s/?#]+/i

function within(bytes: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .refine(text => Buffer.byteLength(text) <= bytes, `must not be longer than ${bytes} bytes in UTF-8`)
}

export const streamUrl = within(playerBytes.streamUrl)
  .refine(
    text => streamSchemes.test(text) && URL.canParse(text),
    'must be an address that begins with rtmp://, http:// or https://',
  )
  .describe('Address of the stream, or of a JPEG or PNG image: RTMP, HTTP or HTTPS; at most 1024 bytes')

export const channelName = within(playerBytes.channelName)
  .regex(
    channelCharacters,
    'may only have a-z, A-Z, 0-9, space and ! # $ % & ( ) + - : ; < = . > ? @ [ ] ^ _ | ~ ,',
  )
  .describe('Channel in which the stream plays; at most 64 bytes')

export const account = within(playerBytes.account)
  .regex(
    channelCharacters,
    'may only have a-z, A-Z, 0-9, space and ! # $ % & ( ) + - : ; < = . > ? @ [ ] ^ _ | ~ ,',
  )
  .describe('User account of the player in the channel, where it has no uid; at most 255 bytes')

export const uid = z
  .int('must be an integer')
  .min(0, 'must be 0 or more')
  .max(largestUid, `must not be above ${largestUid}`)
  .describe('User ID of the player in the channel, 0 to 4294967295; 0 lets the server choose one')

export const playerName = within(playerBytes.name)
  .regex(nameCharacters, 'may only have a-z, A-Z, 0-9, - and _')
  .describe('Name of the player, unique in the project; at most 64 bytes')

export const encryptModes = [
  'aes-128-xts',
  'aes-256-xts',
  'aes-128-ecb',
  'sm4-128-ecb',
  'aes-128-gcm',
  'aes-256-gcm',
  'aes-128-gcm2',
  'aes-256-gcm2',
] as const

/** Modes that need a salt, and alone may have one. */
export const saltedModes: ReadonlySet<string> = new Set(['aes-128-gcm2', 'aes-256-gcm2'])

/** Bytes of a salt. */
export const saltBytes = 32

/** Audio profiles by their number: the default, speech, music, stereo music, better music, better stereo music. */
export const audioProfiles = [0, 1, 2, 3, 4, 5] as const

export const fillModes = ['fit', 'fill'] as const

export const playerStatuses = ['idle', 'connecting', 'running', 'failed'] as const
export type PlayerStatus = (typeof playerStatuses)[number]
