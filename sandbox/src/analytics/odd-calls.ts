import type { Call } from '../calls.ts'
import { hashOf, hashOn } from '../hash.ts'
import type { Quirks } from '../quirks.ts'
import { composedCall } from './load.ts'

const minute = 60_000
const hour = 60 * minute

/** The calls that only a strange world has. */
export function oddCalls(world: {
  readonly seed: string
  readonly quirks: Quirks
  /** When the sandbox is made, Unix milliseconds. */
  readonly origin: number
}): readonly Call[] {
  const { seed, quirks, origin } = world
  const call = (name: string, from: number, length: number, users: number) => {
    const hash = hashOf(seed, name)
    const callId = `${name}-${hash.toString(16)}-${hashOn(hash, 1).toString(16)}`
    return composedCall({ callId, cname: name, createdAt: from, destroyedAt: from + length, users, hash })
  }
  const second = Math.floor((origin - 2 * hour) / 1_000) * 1_000
  const burst = Array.from({ length: quirks.burstOfCalls }, (_, n) => {
    return call(`burst-${n}`, second + (n % 1_000), 5 * minute + n * 1_000, 2)
  })
  const { longCallHours, crowd } = quirks
  return [
    ...burst,
    ...(longCallHours > 0 ? [call('long-call', second, longCallHours * hour, 3)] : []),
    ...(crowd > 0 ? [call('crowd', origin - 90 * minute, 30 * minute, crowd)] : []),
  ]
}
