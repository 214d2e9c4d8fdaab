import { describe, expect, it } from 'vitest'
import type { Arrival } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'
import { examineMarks } from './marks.ts'

const second = 1_000
const logs = ['roomEvents', 'popupQuiz', 'poll'] as const
const lists = ['recordings', 'resources'] as const

/**
 * What is said of a room that is marked after 100 seconds. `asked`: each of its logs then, in seconds; with that in its query.
 * `listed`: each of its lists.
 */
function judge(asked: readonly (readonly [at: number, query: string])[], destroyedAt?: number, listed = 101) {
  const all = [...asked.map(one => [...one, logs] as const), [listed, '', lists] as const]
  const arrivals = all.flatMap(([at, query, operations]) =>
    operations.map(operation => ({
      ...{ app: 'alpha', operation, time: at * second },
      target: `/eu/edu/apps/1/v2/rooms/a%20room/${operation}${query}`,
    })),
  )
  const room = { kind: 'room', app: 'alpha', roomUuid: 'a room', muted: false, destroyedAt }
  const examination = {
    sandbox: {
      arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] },
      truth: () => [room],
    },
    ...{ isEnd: true, end: 1_000 * second, marks: [{ app: 'alpha', room: 'a room', at: 100 * second }] },
  } as unknown as Examination
  return examineMarks(examination).map(({ text }) => text)
}

describe('a room that is marked', () => {
  it('is read from its beginning', () => {
    expect(judge([[101, '']])).toEqual([])
    const marked = [
      [99, ''],
      [101, '?nextId=7'],
    ] as const
    expect(judge(marked)).toHaveLength(logs.length)
    expect(judge(marked)[0]).toMatch(/^roomEvents of alpha a room was marked at .* not read again/)
  })

  it('has its lists read soon', () => {
    expect(judge([[101, '']], undefined, 300)).toEqual([
      expect.stringMatching(/^recordings of alpha a room was marked at .* not read again/),
      expect.stringMatching(/^resources of/),
    ])
  })

  it('is not where the provider forgets it before', () => {
    expect(judge([[99, '']], 200 * second)).toEqual([])
    expect(judge([[99, '']], 900 * second)).toHaveLength(logs.length)
  })
})
