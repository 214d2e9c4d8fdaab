import type { Clock, Random } from '../../clock/clock.ts'
import { allowanceOf } from '../../config/allowance.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { Reply, Transport } from '../../engine/ports.ts'
import { createTransport } from '../../http/transport.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import { classroomCodes, type Region, roomEvents } from '../../provider/classroom/index.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import { listPlayers, playerGroupOf } from '../../provider/players/index.ts'
import { engineSettings } from '../engine-settings.ts'
import { playerLimits } from '../player-settings.ts'
import { analyticsScope, sharedRates } from '../wiring/counters.ts'
import { version } from '../wiring/installation.ts'
import { credentialsOf, providersOf } from '../wiring/services.ts'
import { type CountedCheck, checkCounted, type Finding } from './counted.ts'

/** Requests under way at once. */
const together = 4

/** Asks each service that is configured one harmless question for each app. */
export async function checkProvider(
  config: Config,
  ports: {
    readonly clock: Clock
    readonly random: Random
    /** Address of the database; undefined where it is not fit for counting requests. */
    readonly databaseUrl: string | undefined
  },
): Promise<readonly Finding[]> {
  const { clock, random } = ports
  const transport = createTransport({
    clock,
    random,
    credentials: await credentialsOf(config, clock),
    providers: providersOf(config),
    proxy: await config.provider.proxy?.reveal(),
    limits: { total: engineSettings(config).deadline },
    userAgent: `penstock/${version}`,
  })
  try {
    const classrooms = await checkClassrooms(config, transport, random)
    const calls = await checkCounted(config, analyticsCheck(config, clock), { ...ports, transport })
    const players = await checkCounted(config, playersCheck(config), { ...ports, transport })
    return [...classrooms, ...calls, ...players]
  } finally {
    await transport.close()
  }
}

/**
 * Asks for the log of a room that does not exist, once for each region of an app: the answer that there is no such room
 * proves the address and the credentials. It consumes no event, and the provider documents no limit for it.
 */
async function checkClassrooms(
  { provider, apps }: Config,
  transport: Transport,
  random: Random,
): Promise<readonly Finding[]> {
  const checkIn = async (region: Region, { id: appId, regions }: AppConfig): Promise<Finding> => {
    const request = requestLine(roomEvents, { region, appId, roomUuid: `penstock-check-${random.uuid()}` })
    const subject = regions.length > 1 ? `app ${appId} in ${region}` : `app ${appId}`
    return finding(subject, await transport.send(appId, request))
  }
  const asked = apps
    .filter(app => provider.classroom && app.classroom)
    .flatMap(app => app.regions.map(region => () => checkIn(region, app)))
  const findings: Finding[] = []
  for (let start = 0; start < asked.length; start += together) {
    findings.push(...(await Promise.all(asked.slice(start, start + together).map(check => check()))))
  }
  return findings
}

function finding(subject: string, reply: Reply): Finding {
  const accepted = { subject, result: 'ok', text: 'the classroom service accepts the credentials' } as const
  if (reply.ok || reply.failure.code === classroomCodes.noRoom) return accepted
  return { subject, result: 'failed', text: `${reply.failure.text}${advice(reply.failure)}` }
}

function advice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
      return ': look at classroom.uid and classroom.token of the app'
    case 'network':
    case 'timeout':
    case 'not_found':
    case 'redirect':
    case 'malformed':
      return ': look at provider.classroom.url'
    case 'bad_request':
      return ': look at the id and the region of the app'
    default:
      return ''
  }
}

/** The request that is asked to see whether the credentials are taken: the calls of one minute, at most one of them. */
const minute = 60

/** Searches the calls of one minute. Who has no access is told of elsewhere, and not asked. */
function analyticsCheck(config: Config, clock: Clock): CountedCheck {
  return {
    service: 'call analytics',
    apps: config.apps.filter(app => isAsked(config, app)),
    question: app => {
      const limits = allowanceOf(app, callSearch.limitGroup)!
      // In the middle of what can be asked for, so that no clock that is a little wrong matters.
      const start = Math.floor(clock.now() / 1_000 - (limits.availableData + limits.dataDelay) / 2)
      const range = { start_ts: start, end_ts: start + Math.min(minute, limits.timeFrame) - 1 }
      const request = requestLine(callSearch, { ...range, appid: app.id, page_no: 1, page_size: 1 })
      const rates = sharedRates(config, app, callSearch.limitGroup, limits.rates)
      return { request, rates, scope: analyticsScope(config, app), group: callSearch.limitGroup }
    },
    advice: analyticsAdvice,
  }
}

function isAsked({ provider }: Config, app: AppConfig): boolean {
  return Boolean(provider.analytics && app.rest && allowanceOf(app, callSearch.limitGroup))
}

function analyticsAdvice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
    case 'forbidden':
      return ': look at rest.key and rest.secret of the app'
    case 'no_access':
      return ': look at the plan of the app'
    case 'network':
    case 'timeout':
    case 'not_found':
    case 'redirect':
    case 'malformed':
      return ': look at provider.analytics.url'
    case 'bad_request':
      return ': look at the id of the app'
    default:
      return ''
  }
}

/** Asks for a list of one player, of every app that has a key. */
function playersCheck(config: Config): CountedCheck {
  const { players } = config.provider
  return {
    service: 'cloud player',
    apps: config.apps.filter(app => players && app.rest),
    question: app => {
      const { group } = playerGroupOf(listPlayers, {}, players?.limits ?? 'joint')
      const { scope, rates } = playerLimits(config, app)[group]!
      const operation = { ...listPlayers, path: players?.paths.list ?? listPlayers.path }
      return { request: requestLine(operation, { appId: app.id, pageSize: 1 }), scope, group, rates }
    },
    advice: playersAdvice,
  }
}

function playersAdvice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
    case 'forbidden':
      return ': look at rest.key and rest.secret of the app'
    case 'network':
    case 'timeout':
    case 'redirect':
    case 'malformed':
      return ': look at provider.players.url'
    case 'not_found':
      return ': look at provider.players.url and the id of the app'
    case 'bad_request':
      return ': look at the id of the app'
    default:
      return ''
  }
}
