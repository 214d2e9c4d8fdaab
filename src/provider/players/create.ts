import { z } from 'zod'
import { appId, region } from '../classroom/fields.ts'
import { written } from '../fits.ts'
import type { Operation } from '../operation.ts'
import { playerErrors } from './errors.ts'

/** Longest values, in bytes of UTF-8, as the document's table of fields has them. */
const playerBytes = { streamUrl: 1_024, channelName: 64, account: 255, name: 64 } as const

/** Largest user ID: 2^32-1. 0 lets the server choose one. */
const largestUid = 4_294_967_295

/** How far before and after its creation a player may start to play, seconds. */
const playWindow = { before: 86_400, after: 300 } as const

const channelCharacters = /^[A-Za-z0-9 !#$%&()+\-:;<=.>?@[\]^_|~,]+$/
const nameCharacters = /^[A-Za-z0-9_-]+$/
const streamSchemes = /^(?:rtmp|https?):\/\/[^\s/?#]+/i

function within(bytes: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .refine(text => Buffer.byteLength(text) <= bytes, `must not be longer than ${bytes} bytes in UTF-8`)
}

function channelText(bytes: number) {
  return within(bytes).regex(
    channelCharacters,
    'may only have a-z, A-Z, 0-9, space and ! # $ % & ( ) + - : ; < = . > ? @ [ ] ^ _ | ~ ,',
  )
}

const streamUrl = within(playerBytes.streamUrl)
  .refine(
    text => streamSchemes.test(text) && URL.canParse(text),
    'must be an address that begins with rtmp://, http:// or https://',
  )
  .describe('Address of the stream, or of a JPEG or PNG image: RTMP, HTTP or HTTPS; at most 1024 bytes')

export const channelName = channelText(playerBytes.channelName).describe(
  'Channel in which the stream plays; at most 64 bytes',
)

const account = channelText(playerBytes.account).describe(
  'User account of the player in the channel, where it has no uid; at most 255 bytes',
)

const uid = z
  .int('must be an integer')
  .min(0, 'must be 0 or more')
  .max(largestUid, `must not be above ${largestUid}`)
  .describe('User ID of the player in the channel, 0 to 4294967295; 0 lets the server choose one')

const playerName = within(playerBytes.name)
  .regex(nameCharacters, 'may only have a-z, A-Z, 0-9, - and _')
  .describe('Name of the player, unique in the project; at most 64 bytes')

const encryptModes = [
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
const saltedModes: ReadonlySet<string> = new Set(['aes-128-gcm2', 'aes-256-gcm2'])

const saltBytes = 32

/** Audio profiles by their number: the default, speech, music, stereo music, better music, better stereo music. */
const audioProfiles = [0, 1, 2, 3, 4, 5] as const

const fillModes = ['fit', 'fill'] as const

const between = (least: number, most: number, unit: string) =>
  z
    .number('must be a number')
    .min(least, `must be ${least} or more`)
    .max(most, `must not be above ${most}`)
    .describe(`${least} to ${most} ${unit}`)

const audioOptions = z.strictObject({
  profile: z
    .literal(audioProfiles, 'must be 0, 1, 2, 3, 4 or 5')
    .optional()
    .describe('Audio profile: 0 default, 1 speech, 2 music, 3 stereo, 4 and 5 the same in high quality'),
})

const videoOptions = z.strictObject({
  width: between(66, 1_920, 'px').optional(),
  height: between(66, 1_080, 'px').optional(),
  widthHeightAdaption: z.boolean().optional().describe('Whether the output follows the shape of the source'),
  frameRate: between(1, 30, 'frames a second; 15 unless told').optional(),
  bitrate: between(1, 10_000, 'Kbps').optional(),
  fillMode: z
    .enum(fillModes, { error: 'must be fit or fill' })
    .optional()
    .describe('fit shows all of the picture, fill fills the frame; fit unless told'),
})

const salt = z
  .string()
  .refine(isSalt, `must be ${saltBytes} bytes, as they are or in base64, and not all 0`)
  .describe(`Salt of ${saltBytes} bytes, as they are or in base64; for the modes with gcm2, which need it`)

/** What a player is created with: the document's table of fields, and the rules between them. */
const NewPlayer = z
  .strictObject({
    streamUrl,
    channelName,
    uid: uid.optional(),
    account: account.optional(),
    token: z
      .string()
      .min(1, 'must not be empty')
      .optional()
      .describe('Token for the channel, where the project has a certificate; made for the uid or account'),
    audioOptions: audioOptions.optional().describe('Audio is transcoded where this is given and not empty'),
    videoOptions: videoOptions.optional().describe('Video is transcoded where this is given and not empty'),
    idleTimeout: z
      .number()
      .optional()
      .describe('Seconds without playing until it is destroyed: 5 to 600, outside moved to the nearer; 300'),
    playTs: z
      .int('must be an integer')
      .min(0, 'must be 0 or more')
      .optional()
      .describe(
        'Unix seconds at which it starts to play, from a day before now to 300 s after; 0 is at once',
      ),
    name: playerName.optional(),
    encryptMode: z
      .enum(encryptModes, { error: `must be one of ${encryptModes.join(', ')}` })
      .optional()
      .describe('Built-in encryption; needs encryptKey'),
    encryptKey: z
      .string()
      .min(1, 'must not be empty')
      .optional()
      .describe('Key of any length, best 32 bytes'),
    encryptKdfSalt: salt.optional(),
    repeatTime: z
      .int('must be an integer')
      .refine(times => times !== 0, 'must not be 0')
      .optional()
      .describe('How often a file is played; -1 is again and again; 1 unless told'),
    seekPosition: z
      .number()
      .min(0, 'must be 0 or more')
      .optional()
      .describe('Where a file starts to play, seconds from its beginning; less than its length'),
    dataStreamOptions: z
      .strictObject({ enable: z.boolean().optional().describe('Whether SEI data is injected') })
      .optional()
      .describe('Of files only: whether SEI data is injected as a data stream'),
  })
  .superRefine((player, { addIssue }) => {
    const complain = (path: string, message: string) => addIssue({ code: 'custom', path: [path], message })
    if (player.uid === undefined && player.account === undefined) {
      complain('uid', 'is missing; give uid or account')
    }
    const { encryptMode, encryptKey, encryptKdfSalt } = player
    if (encryptMode !== undefined && encryptKey === undefined) {
      complain('encryptKey', 'is missing; without it nothing is encrypted')
    }
    const isSalted = encryptMode !== undefined && saltedModes.has(encryptMode)
    if (isSalted && encryptKdfSalt === undefined)
      complain('encryptKdfSalt', `is missing; ${encryptMode} needs it`)
    if (!isSalted && encryptKdfSalt !== undefined) {
      complain('encryptKdfSalt', 'is only for aes-128-gcm2 and aes-256-gcm2')
    }
  })

/** Fields of a new player whose values must never be seen. */
export const secretPlayerFields: ReadonlySet<string> = new Set(['token', 'encryptKey', 'encryptKdfSalt'])

export const id = z.string().min(1)
export const user = z.union([z.number(), z.bigint(), z.string()])

/** A player as Create answers it; unknown fields pass. */
const CreatedPlayer = z.looseObject({
  id,
  uid: user.nullish(),
  account: z.string().nullish(),
  /** Unix seconds. */
  createTs: written(z.number()).nullish(),
  status: z.string().nullish(),
})

export const CreateAnswer = z.looseObject({
  player: CreatedPlayer,
  /** Names the fields that the player carries, with commas between. */
  fields: z.string().nullish(),
})
export type CreateAnswer = z.infer<typeof CreateAnswer>

export const createPlayer = {
  name: 'createPlayer',
  family: 'players',
  summary: 'Plays a media stream in a channel, as a user of its own',
  method: 'POST',
  path: '/{region}/v1/projects/{appId}/cloud-player/players',
  pathParams: { region, appId },
  queryParams: {
    streamIp: z
      .ipv4('must be an IPv4 address')
      .optional()
      .describe(
        'Address of the server where the stream originates, for streams that only some regions reach',
      ),
  },
  body: NewPlayer,
  answer: CreateAnswer,
  errors: playerErrors,
  limitGroup: 'players-create',
} as const satisfies Operation

/** What is wrong with a time to start, seen from `now` (Unix seconds); undefined when it is well. 0 is at once. */
export function playTsProblem(playTs: number | undefined, now: number): string | undefined {
  if (playTs === undefined || playTs === 0) return undefined
  const { before, after } = playWindow
  if (playTs < now - before) return `is more than ${before} s ago`
  return playTs > now + after ? `is more than ${after} s ahead` : undefined
}

/** Written as it is or in base64. */
function isSalt(text: string): boolean {
  const plain = Buffer.from(text)
  if (plain.length === saltBytes) return !/^[\0]*$|^0*$/.test(text)
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === saltBytes && bytes.toString('base64') === text && bytes.some(byte => byte !== 0)
}
