import { systemClock, systemRandom } from '../../clock/system.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import type { Reply, Transport } from '../../engine/ports.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import { classroomCodes, type Region, roomEvents } from '../../provider/classroom/index.ts'
import type { FailureKind } from '../../provider/errors.ts'
import { type Family, requestLine } from '../../provider/operation.ts'
import { listPlayers, playerGroupOf } from '../../provider/players/index.ts'
import { playerLimits } from '../app-settings.ts'
import { engineSettings } from '../engine-settings.ts'
import { analyticsScope, sharedRates } from '../wiring/counters.ts'
import { credentialsOf, openTransport } from '../wiring/services.ts'
import { CountedRequests, type Question } from './counted.ts'

/** What one check found. The text holds no secret. */
export interface Finding {
  /** What was looked at: the database, an app. */
  readonly subject: string
  readonly result: 'ok' | 'warning' | 'failed'
  readonly text: string
}

/** Requests under way at once. */
const together = 4

/**
 * Asks each service that is configured one harmless question for each app. `databaseUrl` is undefined where the
 * database is not fit for counting requests.
 */
export async function checkProvider(
  config: Config,
  databaseUrl: string | undefined,
): Promise<readonly Finding[]> {
  const credentials = await credentialsOf(config, systemClock)
  const { deadline } = engineSettings(config)
  const transport = await openTransport(config, {
    clock: systemClock,
    random: systemRandom,
    credentials,
    deadline,
  })
  const counted = databaseUrl === undefined ? undefined : new CountedRequests(config, databaseUrl, transport)
  try {
    return [
      ...(await checkClassrooms(config, transport)),
      ...(await checkCounted(callAnalytics(config), counted)),
      ...(await checkCounted(cloudPlayers(config), counted)),
    ]
  } finally {
    await counted?.close()
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
): Promise<readonly Finding[]> {
  const checkIn = async (region: Region, { id: appId, regions }: AppConfig): Promise<Finding> => {
    const roomUuid = `penstock-check-${systemRandom.uuid()}`
    const reply = await transport.send(appId, requestLine(roomEvents, { region, appId, roomUuid }))
    const subject = regions.length > 1 ? `app ${appId} in ${region}` : `app ${appId}`
    if (reply.ok || reply.failure.code === classroomCodes.noRoom) return accepted(subject, 'classroom')
    return { subject, result: 'failed', text: reason(reply.failure, 'classroom') }
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

/** A service that counts what it is asked, with a harmless question. */
interface CountedService {
  readonly family: Family
  /** As the findings name it. */
  readonly service: string
  readonly apps: readonly AppConfig[]
  readonly question: (app: AppConfig) => Question
}

/** Searches the calls of one minute, at most one of them. An app without access is told of elsewhere, and not asked. */
function callAnalytics(config: Config): CountedService {
  const group = callSearch.limitGroup
  return {
    family: 'analytics',
    service: 'call analytics',
    apps: config.apps.filter(app => config.provider.analytics && app.rest && allowanceOf(app, group)),
    question: app => {
      const limits = allowanceOf(app, group)!
      // In the middle of what can be asked for, so that no clock that is a little wrong matters.
      const start = Math.floor(systemClock.now() / 1_000 - (limits.availableData + limits.dataDelay) / 2)
      const range = { start_ts: start, end_ts: start + Math.min(60, limits.timeFrame) - 1 }
      const request = requestLine(callSearch, { ...range, appid: app.id, page_no: 1, page_size: 1 })
      const rates = sharedRates(config, app, group, limits.rates)
      return { request, rates, scope: analyticsScope(config, app), group }
    },
  }
}

/** Asks for a list of one player, of every app that has a key. */
function cloudPlayers(config: Config): CountedService {
  const { players } = config.provider
  return {
    family: 'players',
    service: 'cloud player',
    apps: config.apps.filter(app => players && app.rest),
    question: app => {
      const { group } = playerGroupOf(listPlayers, {}, players?.limits ?? 'joint')
      const { scope, rates } = playerLimits(config, app)[group]!
      const operation = { ...listPlayers, path: players?.paths.list ?? listPlayers.path }
      return { request: requestLine(operation, { appId: app.id, pageSize: 1 }), scope, group, rates }
    },
  }
}

/** Asks the question once for each app; not while the budget is spent. */
async function checkCounted(
  { family, service, apps, question }: CountedService,
  counted: CountedRequests | undefined,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const app of apps) {
    const subject = `app ${app.id}`
    const asked = question(app)
    const reply = await counted?.send(app.id, asked)
    if (reply?.ok) findings.push(accepted(subject, service))
    else if (reply)
      findings.push({ subject, result: 'failed', text: `${service}: ${reason(reply.failure, family)}` })
    else {
      const why = counted
        ? `the budget of ${asked.group} is spent for now, or the app changes hands`
        : 'its requests are counted in the database'
      findings.push({ subject, result: 'warning', text: `${service} was not asked: ${why}` })
    }
  }
  return findings
}

function accepted(subject: string, service: string): Finding {
  return { subject, result: 'ok', text: `the ${service} service accepts the credentials` }
}

type Failure = Extract<Reply, { ok: false }>['failure']

/** Why a question was not answered, and what to look at. */
function reason({ kind, text }: Failure, family: Family): string {
  const place = places[family][kind]
  return place ? `${text}: look at ${place}` : text
}

const appId = 'the id of the app'
const restKey = 'rest.key and rest.secret of the app'

/** What to look at after a failure. */
const places: Readonly<Record<Family, Readonly<Partial<Record<FailureKind, string>>>>> = {
  classroom: {
    ...placesOfAddress('provider.classroom.url'),
    unauthorized: 'classroom.uid and classroom.token of the app',
    bad_request: 'the id and the region of the app',
  },
  analytics: {
    ...placesOfAddress('provider.analytics.url'),
    ...{ unauthorized: restKey, forbidden: restKey, no_access: 'the plan of the app', bad_request: appId },
  },
  players: {
    ...placesOfAddress('provider.players.url'),
    ...{
      unauthorized: restKey,
      forbidden: restKey,
      not_found: `provider.players.url and ${appId}`,
      bad_request: appId,
    },
  },
}

function placesOfAddress(url: string) {
  return { network: url, timeout: url, not_found: url, redirect: url, malformed: url }
}
