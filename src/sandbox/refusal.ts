import { classroomCodes } from '../provider/classroom/index.ts'

/** An answer other than success. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number | undefined
  /** Whether the request broke a rule of the document, rather than meeting a state of the world. */
  readonly isViolation: boolean

  constructor(
    refusal: { readonly status: number; readonly code?: number; readonly isViolation?: true },
    message: string,
  ) {
    super(message)
    this.status = refusal.status
    this.code = refusal.code
    this.isViolation = refusal.isViolation === true
  }
}

export function breaksRule(message: string): Refusal {
  return new Refusal({ status: 400, code: classroomCodes.badRequest, isViolation: true }, message)
}

export function spentNextId(): Refusal {
  return new Refusal({ status: 400, code: classroomCodes.badRequest }, 'nextId is no longer valid')
}

export function noRoom(): Refusal {
  return new Refusal({ status: 404, code: classroomCodes.noRoom }, 'Classroom does not exist')
}

export function notAuthenticated(): Refusal {
  return new Refusal({ status: 401, isViolation: true }, 'Authentication failed')
}

export function notFound(): Refusal {
  return new Refusal({ status: 404, isViolation: true }, 'Requested resource not found')
}
