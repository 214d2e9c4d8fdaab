import { createPlayer, deletePlayer, listPlayers, playerLimitReadings } from '../../provider/players/index.ts'
import { section } from '../../settings/leaf.ts'
import { oneOf } from '../../settings/values.ts'
import { service } from './service.ts'
import { baseUrl, headerName, pathOf } from './values.ts'

export const playersService = section({
  url: baseUrl().describe('Address of the cloud player service.'),
  ...service({ bodyBytes: '8388608', tooLong: '', travels: 'credentials' }),
  counters: oneOf(['credential', 'app'])
    .prefault('credential')
    .describe(
      'Whose requests the provider counts together: those of all apps with one REST key, or those of each app. credential is the stricter reading.',
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
