import { section } from '../../settings/leaf.ts'
import { count, duration, oneOf, text } from '../../settings/values.ts'
import { usualListen } from '../listen.ts'
import { analyticsService } from './analytics-service.ts'
import { playersService } from './players-service.ts'
import { service } from './service.ts'
import { baseUrl, cron, headerName, listen, path, retentionTime, secret, secretFile } from './values.ts'

/** `database.url` when the file does not say: a variable, else the Postgres that Penstock brings along. */
export const defaultDatabaseUrl = `\${DATABASE_URL:-embedded}`

/** Role that migrations create for the running daemon. */
const defaultRole = 'penstock_runtime'

export const database = section(
  {
    url: secret('embedded, or an address such as postgres://user:password@host:5432/name')
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
  { alternatives: [{ keys: ['url', 'urlFile'], need: 'optional' }] },
)

export const http = section({
  listen: listen()
    .prefault(usualListen)
    .describe('Where /metrics, /healthz, /readyz and /status are served. A container needs 0.0.0.0:9464.'),
})

export const notifications = section({
  listen: listen()
    .prefault('127.0.0.1:9465')
    .describe(
      'Where POST /notifications is served, apart from the endpoints. A container needs 0.0.0.0:9465.',
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

const classroomService = section({
  url: baseUrl().describe('Address of the classroom service.'),
  tokenHeader: headerName().prefault('x-svc-token').describe('Header that carries the token.'),
  uidHeader: headerName().prefault('x-svc-uid').describe('Header that carries the user ID.'),
  widgetPath: oneOf(['without-region', 'with-region'])
    .prefault('without-region')
    .describe('Whether the paths of pop-up quizzes and polls begin with the region; deployments differ.'),
  submitter: oneOf(['operator', 'fromUser'])
    .prefault('operator')
    .describe('Which field of a quiz or poll answer names the one who submitted it.'),
  sequenceScope: oneOf(['room', 'app'])
    .prefault('room')
    .describe(
      'Whether events are numbered per room, so that a missing number is a missing event, or across the app.',
    ),
  roomMemory: duration('1s', '24h')
    .prefault('45m')
    .describe(
      'How long after its last sign of life a room ID certainly still means the same room. The provider forgets a room about an hour after it ends; stay below that.',
    ),
  ...service({ bodyBytes: '8388608', tooLong: '', travels: 'tokens' }),
})

export const provider = section(
  {
    classroom: classroomService.optional().describe('The classroom service, where used.'),
    analytics: analyticsService.optional().describe('The call analytics service, where used.'),
    players: playersService.optional().describe('The cloud player service, where used.'),
    proxy: secret('the address of an HTTP proxy, as http://user:password@proxy.example.com:3128')
      .optional()
      .describe(
        'Proxy on the way to the services, by CONNECT. Without it they are asked directly, and so are addresses of this machine.',
      ),
    proxyFile: secretFile().optional().describe('File that holds the address, instead of proxy.'),
  },
  {
    alternatives: [
      { keys: ['classroom', 'analytics', 'players'], need: 'some' },
      { keys: ['proxy', 'proxyFile'], need: 'optional' },
    ],
  },
)

const kept = (table: string, fallback: string) =>
  retentionTime().prefault(fallback).describe(`How long rows of analytics.${table} are kept.`)

/** Only tables that grow without end are ever emptied. */
export const retention = section(
  {
    session_metric: kept('session_metric', '90d'),
    usage_realtime: kept('usage_realtime', '400d'),
    quality_realtime: kept('quality_realtime', '400d'),
    dead_letter: retentionTime()
      .prefault('90d')
      .describe('How long rows of ingest.dead_letter are kept after they last came.'),
    notification: retentionTime().prefault('90d').describe('How long rows of players.notification are kept.'),
    cloud_player_change: retentionTime()
      .prefault('400d')
      .describe('How long rows of players.cloud_player_change are kept.'),
  },
  { noun: 'table' },
)
