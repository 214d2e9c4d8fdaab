import type { Client } from '../../client/client.ts'
import { CallError } from '../../client/errors.ts'
import type { AppClient } from '../../client/types.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import { classroomCodes, type Region } from '../../provider/classroom/index.ts'
import type { FailureKind } from '../../provider/errors.ts'
import type { Family } from '../../provider/operation.ts'
import { listPlayers, playerGroupOf } from '../../provider/players/index.ts'
import { pieces } from '../../streams/parts/items.ts'
import { openConfigured } from '../wiring/client.ts'

/** What one check found. The text holds no secret. */
export interface Finding {
  /** What was looked at: the database, an app. */
  readonly subject: string
  readonly result: 'ok' | 'warning' | 'failed'
  readonly text: string
}

/** A harmless question to a service, as one app asks it. */
interface Question {
  readonly family: Family
  readonly app: string
  readonly subject: string
  /** Whose budget it takes from; absent where the service counts nothing. */
  readonly group?: string
  readonly ask: (app: AppClient) => Promise<unknown>
}

const serviceNames = { classroom: 'classroom', analytics: 'call analytics', players: 'cloud player' } as const

/** A request that must wait longer than this for its budget, ms, is not sent. */
const timeout = 5_000

/** Requests under way at once. */
const together = 4

/** Asks each service that is configured one harmless question for each app; those that count only where that can be stored. */
export async function checkProvider(config: Config, canCount: boolean): Promise<readonly Finding[]> {
  const client = await openConfigured(config, () => {})
  const findings: Finding[] = []
  try {
    for (const questions of [classrooms(config), callAnalytics(config), cloudPlayers(config)]) {
      for (const asked of pieces(questions, together)) {
        findings.push(...(await Promise.all(asked.map(question => check(client, question, canCount)))))
      }
    }
    return findings
  } finally {
    await client.close()
  }
}

async function check(client: Client, question: Question, canCount: boolean): Promise<Finding> {
  const { family, app, subject, group, ask } = question
  const service = serviceNames[family]
  if (group !== undefined && !canCount) {
    const text = `${service} was not asked: its requests are counted in the database`
    return { subject, result: 'warning', text }
  }
  try {
    await ask(client.app(app))
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const { kind, code, message } = error
    if (kind === 'budget' || kind === 'busy') {
      const text = `${service} was not asked: the budget of ${group} is spent for now, or the app changes hands`
      return { subject, result: 'warning', text }
    }
    // That there is no such room, the service says to those whom it knows.
    if (code !== classroomCodes.noRoom || family !== 'classroom')
      return { subject, result: 'failed', text: `${service}: ${message}${placeOf(family, kind)}` }
  }
  return { subject, result: 'ok', text: `the ${service} service accepts the credentials` }
}

/**
 * The log of a room that does not exist, once for each region of an app: it consumes no event, and the provider
 * documents no limit for it.
 */
function classrooms({ provider, apps }: Config): readonly Question[] {
  const questionIn = (region: Region, { id: app, regions }: AppConfig): Question => ({
    ...{ family: 'classroom', app, subject: regions.length > 1 ? `app ${app} in ${region}` : `app ${app}` },
    ask: ({ classroom }) =>
      classroom.roomEvents({ region, roomUuid: `penstock-check-${systemRandom.uuid()}` }, { timeout }),
  })
  return apps
    .filter(app => provider.classroom && app.classroom)
    .flatMap(app => app.regions.map(region => questionIn(region, app)))
}

/** The calls of one minute, at most one of them. An app without access is told of elsewhere, and not asked. */
function callAnalytics({ provider, apps }: Config): readonly Question[] {
  const group = callSearch.limitGroup
  return apps.flatMap(app => {
    const limits = allowanceOf(app, group)
    if (!provider.analytics || !app.rest || !limits) return []
    return {
      ...{ family: 'analytics' as const, app: app.id, subject: `app ${app.id}`, group },
      ask: ({ analytics }: AppClient) => {
        // In the middle of what can be asked for, so that no clock that is a little wrong matters.
        const start = Math.floor(systemClock.now() / 1_000 - (limits.availableData + limits.dataDelay) / 2)
        const range = { start_ts: start, end_ts: start + Math.min(60, limits.timeFrame) - 1 }
        return analytics.callSearch({ ...range, page_no: 1, page_size: 1 }, { timeout })
      },
    }
  })
}

/** A list of one player, of every app that has a key. */
function cloudPlayers({ provider: { players }, apps }: Config): readonly Question[] {
  if (!players) return []
  const { group } = playerGroupOf(listPlayers, {}, players.limits)
  return apps
    .filter(app => app.rest)
    .map(({ id }) => ({
      ...{ family: 'players', app: id, subject: `app ${id}`, group },
      ask: app => app.players.listPlayers({ pageSize: 1 }, { timeout }),
    }))
}

/** Why a question was not answered: what to look at. */
function placeOf(family: Family, kind: CallError['kind']): string {
  const place = places[family][kind as FailureKind]
  return place ? `: look at ${place}` : ''
}

const appId = 'the id of the app'
const allowed = 'the plan of the app, or its limits: the contract may give less'
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
    ...{ latency_limit: allowed, time_range_limit: allowed, time_length_limit: allowed },
  },
  players: {
    ...placesOfAddress('provider.players.url'),
    unauthorized: restKey,
    forbidden: restKey,
    not_found: `provider.players.url and ${appId}`,
    bad_request: appId,
  },
}

function placesOfAddress(url: string) {
  return { network: url, timeout: url, not_found: url, redirect: url, malformed: url }
}
