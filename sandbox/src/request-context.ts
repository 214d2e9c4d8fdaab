import { identifierLimitBytes, regions } from '../../src/provider/classroom/index.ts'
import type { Operation } from '../../src/provider/operation.ts'
import { breaksRule, noRoom } from './refusal.ts'
import type { AppWorld, Room } from './world.ts'

/** What was sent with a request. */
export interface Sent {
  readonly contentType: string | undefined
  /** Empty where there was no body. */
  readonly text: string
}

/** A request that has passed authentication. */
export interface RequestContext {
  readonly world: AppWorld
  readonly now: number
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly sent: Sent
  readonly loops: boolean
}

/** An answer that has more than `data` beside its code. */
export class Beside {
  readonly fields: object
  constructor(fields: object) {
    this.fields = fields
  }
}

export interface Play {
  readonly operation: Operation
  /** Of operations that share method and path: whether this one is meant. The first that says so is played. */
  readonly isMeant?: (request: Pick<RequestContext, 'params' | 'sent'>) => boolean
  /** The `data` of the answer, or Beside. Throws Refusal. */
  readonly act: (context: RequestContext) => unknown
}

/** Throws Refusal where the region or the roomUuid breaks a rule, or there is no such room. */
export function roomOf(context: RequestContext): Room {
  checkRegion(context.params)
  const room = context.world.room(identifier(context, 'roomUuid'), context.params.region)
  if (!room) throw noRoom()
  return room
}

/** An ID of the path. Throws Refusal where it is too long. */
export function identifier({ params }: RequestContext, name: string): string {
  const { [name]: text = '' } = params
  checkLength(text, name)
  return text
}

export function checkLength(text: string, name: string): void {
  if (Buffer.byteLength(text) >= identifierLimitBytes) throw breaksRule(`${name} must be under 64 bytes`)
}

export function checkRegion({ region }: Readonly<Record<string, string>>): void {
  const known: readonly string[] = regions
  if (region !== undefined && !known.includes(region)) throw breaksRule('region must be cn, ap, eu or na')
}
