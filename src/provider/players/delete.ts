import { z } from 'zod'
import { appId, region } from '../classroom/fields.ts'
import { emptyAnswer, type Operation } from '../operation.ts'
import { playerErrors } from './errors.ts'

/** A player that is gone already is answered with 404, and so is one of another region, which runs on. */
export const deletePlayer = {
  name: 'deletePlayer',
  family: 'players',
  summary: 'Destroys a player',
  method: 'DELETE',
  path: '/{region}/v1/projects/{appId}/cloud-player/players/{id}',
  pathParams: {
    region,
    appId,
    id: z.string().min(1, 'must not be empty').describe('ID of the player'),
  },
  queryParams: {},
  answer: emptyAnswer,
  errors: playerErrors,
  limitGroup: 'players-delete',
} as const satisfies Operation
