import { cron } from '../settings/cron.ts'
import { section } from '../settings/leaf.ts'
import { count, duration, oneOf, text } from '../settings/values.ts'
import { usualListen } from './listen.ts'
import { listen, path, retentionTime, secret, secretFile } from './values.ts'

/** `database.url` when the file does not say: a variable, else the Postgres that Penstock brings along. */
export const defaultDatabaseUrl = `\${DATABASE_URL:-embedded}`

/** What the database's address may be. */
export const databaseAddress = 'embedded, or an address such as postgres://user:password@host:5432/name'

/** What the address of another way to the same database may be. */
export const directAddress = 'an address such as postgres://user:password@host:5432/name'

/** Role that migrations create for the running daemon. */
const defaultRole = 'penstock_runtime'

export const database = section(
  {
    url: secret(databaseAddress)
      .optional()
      .describe(
        'Where the rows go: "embedded" starts a Postgres of its own, anything else is the address of yours.',
      )
      .meta({ default: defaultDatabaseUrl }),
    urlFile: secretFile()
      .optional()
      .describe(
        'File that holds the address, instead of url. The password in it is read again for new connections.',
      ),
    directUrl: secret(directAddress)
      .optional()
      .describe(
        'Address of Postgres itself, where url is that of a pooler in transaction mode: ownership, migrations and commands go there. The login role then needs settings of its own.',
      ),
    directUrlFile: secretFile().optional().describe('File that holds that address, instead of directUrl.'),
    readUrl: secret(directAddress)
      .optional()
      .describe(
        'Address of a read replica, from which /status, the page, the gauges of /metrics and the commands status and audit read.',
      ),
    readUrlFile: secretFile().optional().describe('File that holds that address, instead of readUrl.'),
    dataDir: path()
      .prefault('.penstock')
      .describe('Folder of the embedded Postgres, seen from where Penstock is started.'),
    poolSize: count(2, 100)
      .prefault('8')
      .describe(
        'Connections to Postgres at most, beside one that owns the apps and one that reads for /status and /metrics.',
      ),
    statementTimeout: duration('100ms', '10m')
      .prefault('30s')
      .describe('A statement that takes longer is cancelled and tried again later.'),
    lockTimeout: duration('10ms', '10m')
      .prefault('5s')
      .describe('A statement that waits longer for a lock is cancelled and tried again later.'),
    role: text('a role name, or "" for none', /^(?:[A-Za-z_][A-Za-z0-9_$-]{0,62})?$/)
      .prefault(defaultRole)
      .describe(
        'Role that Penstock takes on after connecting, so that it can write rows but change no table. "" for none.',
      ),
  },
  {
    alternatives: ['url', 'directUrl', 'readUrl'].map(
      key => ({ keys: [key, `${key}File`], need: 'optional' }) as const,
    ),
  },
)

export const http = section({
  listen: listen()
    .prefault(usualListen)
    .describe('Where /metrics, /healthz, /readyz and /status are served. A container needs 0.0.0.0:9464.'),
  accessFile: path()
    .optional()
    .describe(
      'File with the one user who may see the page, /status and /metrics, as `penstock password` prints it; left out, everyone may. Probes and notifications ask for none.',
    ),
})

export const notifications = section({
  listen: listen()
    .prefault('127.0.0.1:9465')
    .describe(
      'Where POST /notifications is served, apart from the endpoints. A container needs 0.0.0.0:9465.',
    ),
})

export const metrics = section({
  perApp: count(0, 2_000)
    .prefault('200')
    .describe(
      'How many apps have series of their own, the first of the list; twenty more come by them when they are in trouble. The rest are told together as "others": sums, and of lag, expiry and quality the worst. It is fixed until a restart.',
    ),
})

const logLevels = ['debug', 'info', 'warn', 'error'] as const

export const log = section({
  level: oneOf(logLevels).prefault('info').describe('Least level that is logged.'),
})

export const schedule = section({
  housekeeping: cron()
    .prefault('*/5 * * * *')
    .describe('When counts are refreshed and old bookkeeping is removed, as a cron expression in UTC.'),
})

const onOrOff = ['on', 'off'] as const

export const store = section({
  chat: oneOf(onOrOff)
    .prefault('on')
    .describe('The text of chat messages. Off, it is never written: who wrote and when stays.'),
  names: oneOf(onOrOff)
    .prefault('on')
    .describe('Names of people, of classrooms and of calls. Off, they are never written: IDs stay.'),
})

export const retention = section({
  classroom: retentionTime()
    .prefault('400d')
    .describe(
      'What happened in classrooms, raw events and chat included, after the last sign of life of the room. The room itself stays.',
    ),
  calls: retentionTime()
    .prefault('400d')
    .describe('Who was in a call, and how well they heard and saw. The call itself stays.'),
  samples: retentionTime()
    .prefault('90d')
    .describe('Every single value that was measured in calls (analytics.session_series).'),
  realtime: retentionTime()
    .prefault('400d')
    .describe('Values of 20 seconds (analytics.usage_realtime, analytics.quality_realtime).'),
  players: retentionTime().prefault('400d').describe('How the status of cloud players changed.'),
  notifications: retentionTime().prefault('90d').describe('What the provider told of players by itself.'),
  deadLetters: retentionTime()
    .prefault('90d')
    .describe('Bytes that could not be used, after they last came (ingest.dead_letter).'),
})
