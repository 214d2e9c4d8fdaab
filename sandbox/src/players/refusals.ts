import type { Switches } from '../switches.ts'
import type { ViolationKind } from '../violations.ts'

/** Messages of failures, as far as the document shows them. */
export const messages: Readonly<Record<number, string>> = {
  401: 'Invalid authentication credentials.',
  404: 'Resource is not found and destroyed.',
  409: 'Resource with the same name already exists.',
  500: 'Some internal error happened. Contact the provider.',
  503: 'The service is not available.',
  504: 'Gateway timeout; query to check whether the player was created, or create another one.',
}

/** An answer of the cloud players other than success. */
export class PlayerRefusal extends Error {
  readonly status: number
  /** The player that the answer names in its header. */
  readonly resourceId: string | undefined
  /** The rules of the document that the request broke; none where it met a state of the world. */
  readonly broken: readonly ViolationKind[]

  constructor(
    refusal: {
      readonly status: number
      readonly resourceId?: string
      readonly broken?: readonly ViolationKind[]
    },
    message: string,
  ) {
    super(message)
    this.status = refusal.status
    this.resourceId = refusal.resourceId
    this.broken = refusal.broken ?? []
  }
}

export function invalid(parameter: string): PlayerRefusal {
  return new PlayerRefusal({ status: 400, broken: ['parameters'] }, `invalid parameter: ${parameter}`)
}

/** A user or account that somebody in the channel has already. */
export function taken(parameter: 'uid' | 'account'): PlayerRefusal {
  return new PlayerRefusal({ status: 400 }, `${parameter} is in use in the channel`)
}

export function unauthorized(): PlayerRefusal {
  return new PlayerRefusal({ status: 401, broken: ['authentication'] }, messages[401]!)
}

export function forbidden(): PlayerRefusal {
  return new PlayerRefusal(
    { status: 403, broken: ['authentication'] },
    'The credentials are not those of the project.',
  )
}

export function gone(id: string): PlayerRefusal {
  return new PlayerRefusal({ status: 404, resourceId: id }, messages[404]!)
}

export function sameName(existing: string): PlayerRefusal {
  return new PlayerRefusal({ status: 409, resourceId: existing }, messages[409]!)
}

export function tooFast(): PlayerRefusal {
  return new PlayerRefusal({ status: 429 }, 'Too many requests.')
}

export function overQuota({ playerQuotaStatus }: Switches): PlayerRefusal {
  return new PlayerRefusal({ status: Number(playerQuotaStatus) }, 'resources quota exceeded')
}
