import { describe, expect, it } from 'vitest'
import { examineConversions } from './conversions.ts'

const minute = 60_000
const begin = Date.UTC(2026, 0, 5, 8)

interface Told {
  /** When the list was read, minutes from the begin. */
  readonly read: readonly number[]
  /** When the document had come so far, and no event told of it: minutes, per cent. */
  readonly steps: readonly (readonly [at: number, percentage: number])[]
  readonly end?: number
}

/** What is said of a document that was told to be there, unconverted, in the first minute. */
function judge({ read, steps, end = 60 }: Told) {
  const document = (at: number, convertedPercentage: number) => ({
    ...{ resourceUuid: 'file', updateTime: begin + at * minute },
    taskProgress: { convertedPercentage },
  })
  const told = { cmd: 1003, at: begin + minute, data: { action: 1, resources: [document(1, 0)] } }
  const arrivals = read.map(at => ({
    ...{ app: 'alpha', operation: 'resources', status: 200, time: begin + at * minute },
    target: '/eu/edu/apps/alpha/v1/rooms/algebra%231/resources',
  }))
  const sandbox = { arrivals: { list: () => arrivals, count: arrivals.length } }
  const room = { app: 'alpha', roomUuid: 'algebra#1', openedAt: begin, muted: false, events: [told] }
  const found = examineConversions(
    {
      ...{ sandbox, isUnbroken: true, faults: [], resourcesEvery: 0.4 * minute, end: begin + end * minute },
    } as unknown as Parameters<typeof examineConversions>[0],
    [{ ...room, steps: steps.map(step => document(...step)) }] as unknown as Parameters<
      typeof examineConversions
    >[1],
  )
  return found.map(({ text }) => text)
}

const left = [expect.stringContaining('nobody looked')]

describe('the oracle of conversions', () => {
  it('wants a list that told of a conversion to be read again soon after each step', () => {
    expect(
      judge({
        read: [2, 3, 5, 7],
        steps: [
          [2.5, 30],
          [4, 60],
          [6, 100],
        ],
      }),
    ).toEqual([])
    expect(judge({ read: [2], steps: [[2.5, 30]] })).toEqual(left)
    expect(
      judge({
        read: [2, 3, 12],
        steps: [
          [2.5, 30],
          [4, 60],
        ],
      }),
    ).toEqual(left)
  })

  it('wants nothing of what no list has told, nor of what was over or has just come', () => {
    expect(judge({ read: [], steps: [[2.5, 30]] })).toEqual([])
    expect(judge({ read: [2, 3], steps: [[2.5, 100]] })).toEqual([])
    expect(judge({ read: [2], steps: [[2.5, 30]], end: 6 })).toEqual([])
  })
})
