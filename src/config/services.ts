import {
  analyticsLimitReadings,
  defaultParameterNames,
  type Granularity,
  granularities,
  type SeriesParameter,
  seriesParameters,
} from '../provider/analytics/index.ts'
import { credentialHeaders } from '../provider/classroom/answers.ts'
import { createPlayer, deletePlayer, listPlayers, playerLimitReadings } from '../provider/players/index.ts'
import { mapKeys, section } from '../settings/leaf.ts'
import { count, duration, flag, oneOf, text } from '../settings/values.ts'
import { baseUrl, headerName, pathOf, secret, secretFile } from './values.ts'

/** What every service of the provider has besides its address. */
function service({
  bodyBytes,
  tooLong,
  travels,
}: {
  /** Longest answer, bytes. */
  readonly bodyBytes: string
  /** What happens to a longer one. */
  readonly tooLong: string
  /** What would be seen on an open network. */
  readonly travels: 'tokens' | 'credentials'
}) {
  return {
    deadline: duration('1s', '5m')
      .prefault('30s')
      .describe(
        'A request that takes longer, in total, is given up; up to 30s also one of whose answer nothing comes for 10s.',
      ),
    maxBodyBytes: count(65_536, 268_435_456, 'bytes')
      .prefault(bodyBytes)
      .describe(`An answer longer than this is refused${tooLong}.`),
    insecure: flag()
      .prefault('false')
      .describe(
        `Allow http:// to another machine: ${travels} would travel unencrypted. Within this machine http:// is always allowed.`,
      ),
  }
}

const { parameters: names, granularities: words } = defaultParameterNames

/** What each parameter says, as people read it. */
const parameterMeanings: Readonly<Record<SeriesParameter, string>> = {
  startTs: 'the start of the time frame',
  endTs: 'the end of the time frame',
  appid: 'the App ID',
  metric: 'the metric',
  aggregateGranularity: 'the granularity',
  productType: 'the product',
  cname: 'the channel name',
  uids: 'the user IDs',
}

function parameter(name: SeriesParameter) {
  return text('the name of a parameter: letters, digits and _', /^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
    .prefault(names[name])
    .describe(`Parameter of insights and real-time metrics that carries ${parameterMeanings[name]}.`)
}

function granularityWord(granularity: Granularity) {
  return text('a word: letters, digits, "_", "." or "-"', /^[A-Za-z0-9_.-]{1,64}$/)
    .prefault(words[granularity])
    .describe(`Word of the provider for values by ${granularity}.`)
}

const analyticsService = section({
  url: baseUrl().describe('Address of the call analytics service.'),
  ...service({ bodyBytes: '16777216', tooLong: ', and less is asked for at once', travels: 'credentials' }),
  counters: oneOf(['credential', 'app'])
    .prefault('credential')
    .describe(
      'Whose requests the provider counts together: those of all apps with one REST key, or those of each app. The documents do not say; credential is the stricter reading, in which apps of different plans on one key keep the strictest rates of them together.',
    ),
  limits: oneOf(analyticsLimitReadings)
    .prefault('joint')
    .describe(
      'Whether sessions and metrics of calls, and likewise the two real-time endpoints, share a counter, which the documents leave open. joint is the stricter reading; split: each endpoint has the numbers of its table for itself. The counters that come with split begin empty.',
    ),
  parameters: section(mapKeys(seriesParameters, parameter))
    .prefault({})
    .describe('Names of the parameters of insights and real-time metrics, which the documents do not show.'),
  granularities: section(mapKeys(granularities, granularityWord))
    .prefault({})
    .describe('Words for the granularities of insights, which the documents do not show.'),
})

const playersService = section({
  url: baseUrl().describe('Address of the cloud player service.'),
  ...service({ bodyBytes: '8388608', tooLong: '', travels: 'credentials' }),
  counters: oneOf(['credential', 'app'])
    .prefault('credential')
    .describe(
      'Whose requests the provider counts together: those of all apps with one REST key, or those of each app. credential is the stricter reading, in which apps of different limits on one key keep the strictest rates of them together.',
    ),
  limits: oneOf(playerLimitReadings)
    .prefault('joint')
    .describe(
      'How the two limits of Create and of List are read. joint: the smaller holds for all of them; split: players without a name and lists without a filter have the larger one for themselves, and each channel that is asked for is counted by itself.',
    ),
  paths: section({
    create: pathOf(['appId'], ['region']).prefault(createPlayer.path).describe('Path of Create.'),
    delete: pathOf(['appId', 'id'], ['region']).prefault(deletePlayer.path).describe('Path of Delete.'),
    list: pathOf(['appId']).prefault(listPlayers.path).describe('Path of List.'),
  })
    .prefault({})
    .describe('Paths of the three operations, which the document does not show.'),
  signatureHeader: headerName()
    .prefault('x-svc-signature')
    .describe('Header of a notification that carries its HMAC-SHA1.'),
  signatureHeaderV2: headerName()
    .prefault('x-svc-signature-v2')
    .describe('Header of a notification that carries its HMAC-SHA256.'),
})

const classroomService = section({
  url: baseUrl().describe('Address of the classroom service.'),
  tokenHeader: headerName().prefault(credentialHeaders.token).describe('Header that carries the token.'),
  uidHeader: headerName().prefault(credentialHeaders.uid).describe('Header that carries the user ID.'),
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

export const proxyAddress = 'the address of an HTTP proxy, as http://user:password@proxy.example.com:3128'

export const provider = section(
  {
    classroom: classroomService.optional().describe('The classroom service, where used.'),
    analytics: analyticsService.optional().describe('The call analytics service, where used.'),
    players: playersService.optional().describe('The cloud player service, where used.'),
    proxy: secret(proxyAddress)
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
