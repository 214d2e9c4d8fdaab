import { z } from 'zod'
import { regions } from '../../provider/classroom/identifiers.ts'
import { section } from './leaf.ts'
import { limits } from './limits.ts'
import { streams } from './streams.ts'
import { identifier, oneOf, secret, secretCommand, secretFile, text } from './values.ts'

export const plans = ['starter', 'standard', 'premium', 'enterprise'] as const

const rest = section(
  {
    key: secret('the key').optional().describe('Key (user name) of the REST API.'),
    keyFile: secretFile().optional().describe('File that holds the key, instead of key.'),
    secret: secret('the secret').optional().describe('Secret (password) of the REST API.'),
    secretFile: secretFile().optional().describe('File that holds the secret, instead of secret.'),
  },
  {
    alternatives: [
      { keys: ['key', 'keyFile'], need: 'required' },
      { keys: ['secret', 'secretFile'], need: 'required' },
    ],
  },
)

const classroom = section(
  {
    uid: secret('the user ID').optional().describe('User ID that the token was made for.'),
    uidFile: secretFile().optional().describe('File that holds the user ID, instead of uid.'),
    token: secret('the token').optional().describe('Token of the classroom service.'),
    tokenFile: secretFile()
      .optional()
      .describe('File that holds the token, instead of token. It is read again when the token is refused.'),
    tokenCommand: secretCommand()
      .optional()
      .describe(
        'Program that prints a fresh token, instead of token: a list of words, or one line split at spaces; no shell, ten seconds at most. It runs again when the token is refused.',
      ),
  },
  {
    alternatives: [
      { keys: ['uid', 'uidFile'], need: 'required' },
      { keys: ['token', 'tokenFile', 'tokenCommand'], need: 'required' },
    ],
  },
)

export const app = section({
  id: text('an app ID: 1 to 64 letters, digits, "_", "." or "-"', /^[A-Za-z0-9_.-]{1,64}$/, {
    type: ['string', 'number'],
  }).describe('App ID of the project; every row in the database begins with it.'),
  region: oneOf(regions).describe(
    'Where the project lives: mainland China, Asia Pacific, Europe, North America.',
  ),
  plan: oneOf(plans).describe('Pricing plan of the project, from which its limits follow.'),
  rest: rest.optional().describe('Credentials of the REST APIs of call analytics and cloud players.'),
  classroom: classroom.describe('Credentials of the classroom service.'),
  rooms: z
    .array(identifier('a room ID'))
    .prefault([])
    .describe('Rooms that are known beforehand. Others are discovered.'),
  streams: streams
    .prefault({})
    .describe('Streams of this app, where they differ from those of the whole file.'),
  limits: limits.prefault({}).describe('Limits of this app, where they differ from those of the whole file.'),
})

export const apps = z.array(app).min(1)
