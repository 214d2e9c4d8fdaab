import { regions } from '../../provider/classroom/fields.ts'
import { plans } from '../../provider/limits.ts'
import { listOf, section } from '../../settings/leaf.ts'
import { count, identifier, oneOf, oneOrMoreOf, text } from '../../settings/values.ts'
import type { Streams } from '../../streams/index.ts'
import { limitLayer } from '../limits.ts'
import { streamLayer } from './streams.ts'
import { secret, secretCommand, secretFile } from './values.ts'

const rest = section(
  {
    key: secret('the key').optional().describe('Key (user name) of the REST API.'),
    keyFile: secretFile()
      .optional()
      .describe('File that holds the key, instead of key. It is read again when it is refused.'),
    secret: secret('the secret').optional().describe('Secret (password) of the REST API.'),
    secretFile: secretFile()
      .optional()
      .describe('File that holds the secret, instead of secret. It is read again when it is refused.'),
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
    uidFile: secretFile()
      .optional()
      .describe('File that holds the user ID, instead of uid. It is read again when it is refused.'),
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

const notifications = section(
  {
    secret: secret('the secret').optional().describe('Secret with which the provider signs notifications.'),
    secretFile: secretFile().optional().describe('File that holds the secret, instead of secret.'),
  },
  { alternatives: [{ keys: ['secret', 'secretFile'], need: 'required' }] },
)

const expected = section({
  callsPerDay: count(0, 10_000_000).describe('Calls that begin in a day.'),
  usersPerCall: count(1, 100_000).describe('Users of a call, servers included.'),
  callMinutes: count(1, 100_000).describe('Length of a call in minutes.'),
})

function appOf(streams: Streams) {
  const lossy = Object.values(streams).filter(({ operation }) => operation.family === 'analytics')
  return section(
    {
      id: text('an app ID: 1 to 64 letters, digits, "_", "." or "-"', /^[A-Za-z0-9_.-]{1,64}$/, {
        type: ['string', 'number'],
      }).describe('App ID of the project; every row in the database begins with it.'),
      region: oneOrMoreOf(regions).describe(
        'Where the project lives: mainland China, Asia Pacific, Europe, North America. Of several, its classrooms are drained in each, with the limits of classrooms in each; players are made, and operations by hand done, in the first unless they name another.',
      ),
      plan: oneOf(plans).describe('Pricing plan of the project, from which its limits follow.'),
      rest: rest.optional().describe('Credentials of the REST APIs of call analytics and cloud players.'),
      classroom: classroom.optional().describe('Credentials of the classroom service.'),
      notifications: notifications
        .optional()
        .describe(
          'What the provider tells of players by itself, at POST /notifications; left out, none are taken.',
        ),
      rooms: listOf(identifier('a room ID'))
        .prefault([])
        .describe('Rooms that are known beforehand. Others are discovered.'),
      streams: streamLayer(streams)
        .prefault({})
        .describe('Streams of this app, where they differ from those of the whole file.'),
      limits: limitLayer(streams)
        .prefault({})
        .describe('Limits of this app, where they differ from those of the whole file.'),
      expect: expected
        .optional()
        .describe('How many calls are expected, for `penstock forecast` and its warnings at the start.'),
      acceptLoss: listOf(oneOf(lossy.map(({ name }) => name)))
        .prefault([])
        .describe('Streams of which data may be lost: the forecast tells of it and is content.'),
    },
    { alternatives: [{ keys: ['classroom', 'rest'], need: 'some' }] },
  )
}

/** The projects that are drained. */
export function appsOf(streams: Streams) {
  return listOf(appOf(streams), { min: 1 })
}
