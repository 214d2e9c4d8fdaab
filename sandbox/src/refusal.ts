import { classroomCodes } from '../../src/provider/classroom/index.ts'
import type { ViolationKind } from './violations.ts'

/** An answer other than success. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number | undefined
  /** The rule of the document that the request broke; none where it met a state of the world. */
  readonly broken: readonly ViolationKind[]

  constructor(
    refusal: { readonly status: number; readonly code?: number; readonly broken?: ViolationKind },
    message: string,
  ) {
    super(message)
    this.status = refusal.status
    this.code = refusal.code
    this.broken = refusal.broken ? [refusal.broken] : []
  }
}

export function breaksRule(message: string): Refusal {
  return new Refusal({ status: 400, code: classroomCodes.badRequest, broken: 'parameters' }, message)
}

export function spentNextId(): Refusal {
  return new Refusal({ status: 400, code: classroomCodes.badRequest }, 'nextId is no longer valid')
}

export function noRoom(): Refusal {
  return new Refusal({ status: 404, code: classroomCodes.noRoom }, 'Classroom does not exist')
}

export function noUser(): Refusal {
  return new Refusal({ status: 404, code: classroomCodes.noUser }, 'User does not exist')
}

/** A resource that the room does not have; unlike an unknown path it breaks no rule. */
export function noResource(): Refusal {
  return new Refusal({ status: 404 }, 'Requested resource not found')
}

/** Meets a state of the world in which it cannot be done. */
export function conflict(code: number, message: string): Refusal {
  return new Refusal({ status: 409, code }, message)
}

/** A move between states that no document forbids and that this provider refuses. */
export function refusedMove(): Refusal {
  return new Refusal(
    { status: 400, code: classroomCodes.badRequest },
    'the state of the room cannot be moved back',
  )
}

export function notAuthenticated(): Refusal {
  return new Refusal({ status: 401, broken: 'authentication' }, 'Authentication failed')
}

export function notFound(): Refusal {
  return new Refusal({ status: 404, broken: 'path' }, 'Requested resource not found')
}
