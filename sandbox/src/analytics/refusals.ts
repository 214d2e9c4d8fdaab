import { type LimitMessage, limitCode } from '../../../src/provider/analytics/index.ts'
import type { Switches } from '../switches.ts'
import type { ViolationKind } from '../violations.ts'

/** An answer of the call analytics other than success. */
export class AnalyticsRefusal extends Error {
  readonly status: number
  readonly code: number
  readonly broken: readonly ViolationKind[]

  constructor(
    refusal: { readonly status: number; readonly code: number; readonly broken?: readonly ViolationKind[] },
    message: string,
  ) {
    super(message)
    this.status = refusal.status
    this.code = refusal.code
    this.broken = refusal.broken ?? []
  }
}

export function invalid(parameter: string): AnalyticsRefusal {
  return new AnalyticsRefusal(
    { status: 400, code: 400, broken: ['parameters'] },
    `invalid parameters: ${parameter}`,
  )
}

/** The part of a call that a deployment does not serve; a state of that deployment and no rule. */
export function notTheWholeCall(): AnalyticsRefusal {
  return new AnalyticsRefusal(
    { status: 400, code: 400 },
    'invalid parameters: not the time frame of the call',
  )
}

/** A page of sessions that a deployment does not serve, behind others that it does. */
export function noSuchPage(): AnalyticsRefusal {
  return new AnalyticsRefusal({ status: 400, code: 400 }, 'invalid parameters: page_no')
}

export function unauthorized(): AnalyticsRefusal {
  return new AnalyticsRefusal({ status: 401, code: 401, broken: ['authentication'] }, 'Unauthorized')
}

export function forbidden(): AnalyticsRefusal {
  return new AnalyticsRefusal(
    { status: 403, code: 403, broken: ['authentication'] },
    'Wrong authorization information',
  )
}

export function wrongApi(): AnalyticsRefusal {
  return new AnalyticsRefusal({ status: 404, code: 404, broken: ['path'] }, 'Wrong API invoked')
}

/**
 * What lies beyond a limit, as the endpoint of the deployment puts it. The document promises code 300 for the
 * call search alone.
 */
export function beyondLimit(
  message: LimitMessage,
  operation: string,
  { limitStatus, limitsOutsideSearch }: Switches,
): AnalyticsRefusal {
  if (operation === 'callSearch' || limitsOutsideSearch === '300') {
    return new AnalyticsRefusal({ status: Number(limitStatus), code: limitCode }, message)
  }
  if (message.startsWith('you have no auth'))
    return new AnalyticsRefusal({ status: 403, code: 403 }, 'Forbidden')
  return new AnalyticsRefusal({ status: 429, code: 429 }, 'Too Many Requests')
}
