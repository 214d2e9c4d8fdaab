import { z } from 'zod'
import { regions } from '../provider/classroom/fields.ts'
import { plans } from '../provider/limits.ts'
import { aboutOf, listOf, mapValues, section, wordOr } from '../settings/leaf.ts'
import { count, identifier, oneOf, oneOrMoreOf, text } from '../settings/values.ts'
import { layerOf, schemaAt } from '../settings/walk.ts'
import { type Streams, streams as shipped } from '../streams/index.ts'
import { limitLayer } from './limits.ts'
import { database, http, log, metrics, notifications, retention, schedule, store } from './sections.ts'
import { provider } from './services.ts'
import { givenOnce, secretCommand, secretOrFile, timeZone } from './values.ts'

const rest = section(
  {
    ...secretOrFile('key', 'the key', 'Key (user name) of the REST API.'),
    ...secretOrFile('secret', 'the secret', 'Secret (password) of the REST API.'),
  },
  { alternatives: [givenOnce('key'), givenOnce('secret')] },
)

const classroom = section(
  {
    ...secretOrFile('uid', 'the user ID', 'User ID that the token was made for.'),
    ...secretOrFile('token', 'the token', 'Token of the classroom service.'),
    tokenCommand: secretCommand()
      .optional()
      .describe(
        'Program that prints a fresh token, instead of token: a list of words, or one line split at spaces; no shell, ten seconds at most. It runs again when the token is refused.',
      ),
  },
  { alternatives: [givenOnce('uid'), givenOnce('token', 'Command')] },
)

const signing = section(
  secretOrFile(
    'secret',
    'the secret',
    'Secret with which the provider signs notifications.',
    ' It is read again when a signature is refused, once a minute at most.',
  ),
  { alternatives: [givenOnce('secret')] },
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
      timeZone: timeZone()
        .prefault('UTC')
        .describe(
          'Time zone of its days: what views say of a day or a week, and whether a day is complete, is of the days there; the moments of a cron are of its clocks. All times stay UTC.',
        ),
      userLink: text(
        'stream, off, or a user ID with {uid} in it, as in student-{uid}',
        /^(?:stream|off|[^{}\p{Cc}]{0,58}\{uid\}[^{}\p{Cc}]{0,58})$/u,
      )
        .prefault('stream')
        .describe(
          'How views find a user of a classroom in its calls, which know numbers: "stream" where the uuid of the stream is that number, or the user ID with {uid} in its place; "off" where neither is so.',
        ),
      plan: oneOf(plans).describe('Pricing plan of the project, from which its limits follow.'),
      rest: rest.optional().describe('Credentials of the REST APIs of call analytics and cloud players.'),
      classroom: classroom.optional().describe('Credentials of the classroom service.'),
      notifications: signing
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
function appsOf(streams: Streams) {
  return listOf(appOf(streams), { min: 1 })
}

/** Settings by stream; what is left out stays as it is by default, or as the whole file says for an app. */
function streamLayer(streams: Streams) {
  return section(
    mapValues(streams, ({ title, settings }) =>
      wordOr(oneOf(['off']), layerOf(settings, 'setting'))
        .optional()
        .describe(`${title}. "off" switches it off.`),
    ),
    { noun: 'stream' },
  )
}

/** The whole configuration of some streams: what may be written, what it means, and what holds when it is left out. */
export function configSchema(streams: Streams = shipped) {
  return section({
    database: database.prefault({}).describe('The Postgres that everything is written to.'),
    http: http.prefault({}).describe('The small web server for people and Prometheus.'),
    metrics: metrics.prefault({}).describe('What Prometheus is told at /metrics.'),
    notifications: notifications
      .prefault({})
      .describe(
        'Where the provider tells of players by itself; nothing listens while no app has a secret for it.',
      ),
    log: log.prefault({}).describe('Logging: one JSON object a line, on standard output.'),
    schedule: schedule.prefault({}).describe('What happens at fixed times.'),
    provider: provider.describe('The services that data is drained from.'),
    streams: streamLayer(streams)
      .prefault({})
      .describe('Which data is drained, and how often it is asked for.'),
    limits: limitLayer(streams).prefault({}).describe('How fast the provider may be asked, by limit group.'),
    retention: retention
      .prefault({})
      .describe('How long rows are kept; what is not named here is kept for ever.'),
    store: store
      .prefault({})
      .describe('What is kept of people in classrooms; raw events and dead letters are no exception.'),
    apps: appsOf(streams).describe('The projects that are drained.'),
  })
}

/** What the schema makes of a configuration that it accepts. */
export type Settings = z.output<ReturnType<typeof configSchema>>

/** What may stand at a place of the configuration instead of a text that may not; undefined where it may. */
export function allowedInstead(place: readonly (string | number)[], text: string): string | undefined {
  const schema = schemaAt(configSchema(), place)!
  return z.safeParse(schema, text).success ? undefined : aboutOf(schema).allowed
}

/* What a program writes in the place of a configuration file, derived from the schema. */

/** A text with a variable in it. */
type Variable = `${string}\${${string}`

/** How a value is written that the program reads as `O`: closed words are known, a duration is a text. */
type Scalar<O> = unknown extends O
  ? string | number | boolean
  : O extends readonly (infer Item)[]
    ? Scalar<Item>
    : [O] extends [boolean]
      ? boolean | Variable
      : [O] extends [string]
        ? string extends O
          ? string | number
          : O | Variable
        : string | number

/** What may be written where the schema takes the texts `I` and makes `O` of them. */
type Written<I, O> = I extends string
  ? Scalar<Exclude<O, undefined>>
  : I extends readonly (infer Item)[]
    ? readonly Written<Item, O extends readonly (infer Made)[] ? Made : unknown>[]
    : I extends object
      ? { readonly [K in keyof I]: Written<I[K], K extends keyof O ? O[K] : unknown> }
      : I

/** Each stream checks its own settings when the configuration is read. */
type StreamLayer = { readonly [N in keyof typeof shipped]?: 'off' | Readonly<Record<string, unknown>> }

type WithStreams<T> = Omit<T, 'streams'> & { readonly streams?: StreamLayer }

type Section = Written<z.input<ReturnType<typeof configSchema>>, Settings>

/** A configuration as an object: the keys of docs/configuration.md, with what each may be. */
export type ConfigInput = WithStreams<Omit<Section, 'apps' | 'retention'>> & {
  /** How long rows are kept, by table. */
  readonly retention?: Readonly<Record<string, string>>
  readonly apps: readonly WithStreams<Section['apps'][number]>[]
}
