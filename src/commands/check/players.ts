import type { Config } from '../../config/config.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import { listPlayers, playerGroupOf } from '../../provider/players/index.ts'
import { playerLimits } from '../player-settings.ts'
import type { CountedCheck } from './counted.ts'

/** Asks for a list of one player, of every app that has a key. */
export function playersCheck(config: Config): CountedCheck {
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
    advice,
  }
}

function advice({ kind }: Failure): string {
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
