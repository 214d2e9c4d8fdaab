import { seededRandom } from '../../src/clock/seeded.ts'
import { type Switches, switchTable } from '../../src/sandbox/index.ts'

/** What the document of the call analytics leaves open and every daemon must be right in, however it is set up. */
const open = [
  ...(['callSearch', 'limitStatus', 'limitsOutsideSearch', 'successCode', 'emptyLists', 'kvs'] as const),
  ...(['counters', 'countersPer', 'day', 'limiter', 'realtimeEnd', 'realtimeUid'] as const),
]

/** A form that no daemon can be expected to read. */
const unreadable = 'words'

/** One of the providers that the document allows. */
export function drawProvider(seed: number): Partial<Switches> {
  const random = seededRandom(`${seed}/provider`)
  return Object.fromEntries(
    open.map(name => {
      const values = switchTable[name].values.filter(value => value !== unreadable)
      return [name, values[Math.floor(random.next() * values.length)]]
    }),
  )
}
