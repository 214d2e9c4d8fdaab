import type { ClientApp, Deployed, Question } from '../../client/ports.ts'
import { noAccess, whyUnreachable } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { GroupLimit } from '../../engine/settings.ts'
import {
  countedBy,
  defaultParameterNames,
  type ParameterNames,
  type SeriesParameter,
  withParameterNames,
} from '../../provider/analytics/index.ts'
import { widgetOperations, withRegion } from '../../provider/classroom/index.ts'
import type { Operation } from '../../provider/operation.ts'
import { createPlayer, deletePlayer, playerGroupOf } from '../../provider/players/index.ts'
import { analyticsLimits, classroomLimits, playerLimits } from '../app-settings.ts'

/** The apps of a configuration, as the client needs them: what each may ask, and how the deployment wants it asked. */
export function clientApps(config: Config): readonly ClientApp[] {
  return config.apps.map(app => ({
    id: app.id,
    region: app.region,
    deploy: (operation, question) => deploy(config, app, operation, question),
  }))
}

function deploy(config: Config, app: AppConfig, operation: Operation, question: Question): Deployed {
  switch (operation.family) {
    case 'classroom':
      return ofClassroom(config, app, operation, question)
    case 'analytics':
      return ofAnalytics(config, app, operation)
    case 'players':
      return ofPlayers(config, app, operation, question)
  }
}

function asItIs(name: string): string {
  return name
}

function ofClassroom(
  config: Config,
  app: AppConfig,
  operation: Operation,
  { region = app.region }: Question,
): Deployed {
  const { classroom } = config.provider
  if (!classroom || !app.classroom) return { off: whyUnreachable(config, app, 'classroom')! }
  const isWidget = widgetOperations.some(each => each === operation)
  const deployed = isWidget && classroom.widgetPath === 'with-region' ? withRegion(operation) : operation
  // What the feed hands out by hand must be missed by the series of that region.
  const limits = app.regions.length > 1 ? classroomLimits(app, region) : classroomLimits(app)
  return { operation: deployed, nameOf: asItIs, limit: limits[operation.limitGroup]! }
}

function ofAnalytics(config: Config, app: AppConfig, operation: Operation): Deployed {
  const { analytics } = config.provider
  if (!analytics || !app.rest) return { off: whyUnreachable(config, app, 'analytics')! }
  const counted = countedBy(operation, analytics.limits)
  const limit = analyticsLimits(config, app)[counted.limitGroup]
  if (!limit) return { off: noAccess(app) }
  const words: ParameterNames = hasParameterNames(operation) ? analytics : defaultParameterNames
  const nameOf = (name: string) => words.parameters[name as SeriesParameter] ?? name
  return { operation: withParameterNames(counted, words), nameOf, limit }
}

/** Only the names of insights and real-time values are open. */
function hasParameterNames({ queryParams }: Operation): boolean {
  return 'startTs' in queryParams
}

function ofPlayers(config: Config, app: AppConfig, operation: Operation, question: Question): Deployed {
  const { players } = config.provider
  if (!players || !app.rest) return { off: whyUnreachable(config, app, 'players')! }
  const { group, counter } = playerGroupOf(operation, question, players.limits)
  const limit: GroupLimit = playerLimits(config, app)[group]!
  return {
    operation: { ...operation, path: pathOf(operation, players.paths), limitGroup: group },
    nameOf: asItIs,
    limit: counter === '' ? limit : { ...limit, scope: `${limit.scope} ${counter}` },
  }
}

function pathOf({ name }: Operation, paths: Readonly<Record<'create' | 'delete' | 'list', string>>): string {
  if (name === createPlayer.name) return paths.create
  return name === deletePlayer.name ? paths.delete : paths.list
}
