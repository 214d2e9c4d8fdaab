import { expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineSettledFeeds } from './settled-feeds.ts'

const minute = 60_000

/** What is said of a gap up to the tenth minute, known in the ninth, where the log of a room was asked for then; times are minutes. */
async function judge(told: {
  readonly asked: number
  readonly status?: number
  readonly left?: number
  readonly diedAt?: number
  readonly stillFor?: number
  readonly spellAt?: number
  readonly isPrompt?: boolean
}) {
  const { asked, status = 200, left, diedAt, stillFor = 0, spellAt, isPrompt = true } = told
  const arrival = {
    ...{ app: 'alpha', operation: 'roomEvents', target: '/eu/edu/apps/alpha/v2/rooms/a%20b/sequences' },
    ...{ time: asked * minute, status },
  }
  const examination = {
    sandbox: { arrivals: { count: 1, list: () => [arrival] } },
    rows: async (text: string) =>
      text.includes('ingest.gap')
        ? [{ app: 'alpha', seen: 9 * minute, to: 10 * minute }]
        : [{ app: 'alpha', room: 'a b', seen: 5 * minute, left: left === undefined ? null : left * minute }],
    askers: [
      {
        ...{ name: 'a', arrived: [], ...(diedAt !== undefined && { diedAt: diedAt * minute }) },
        stoodStill: [{ from: 11 * minute, to: (11 + stillFor) * minute }],
      },
    ],
    faults: spellAt === undefined ? [] : [{ from: spellAt * minute, to: (spellAt + 1) * minute, rules: [] }],
    ...{ start: 0, end: 60 * minute, isPrompt },
  } as unknown as Examination
  return (await examineSettledFeeds(examination)).map(({ text }) => text)
}

const alone = [expect.stringMatching(/^alpha feed: .*until .*10:00.*the log of a b is left alone$/)]

it('wants the log of each room that is followed asked for once the answer can no longer arrive', async () => {
  expect(await judge({ asked: 12 })).toEqual([])
  expect(await judge({ asked: 12, status: 404 })).toEqual([])
  expect(await judge({ asked: 9.9 })).toEqual(alone)
  expect(await judge({ asked: 13 })).toEqual(alone)
  expect(await judge({ asked: 13, isPrompt: false })).toEqual([])
  expect(await judge({ asked: 14, isPrompt: false })).toEqual(alone)
  expect(await judge({ asked: 13, left: 12 })).toEqual([])
})

it('gives whoever stood still more time, and says nothing where processes died or the provider was away', async () => {
  expect(await judge({ asked: 13, stillFor: 0.3 })).toEqual([])
  expect(await judge({ asked: 14, stillFor: 0.3 })).toEqual(alone)
  expect(await judge({ asked: 14, diedAt: 11 })).toEqual([])
  expect(await judge({ asked: 14, spellAt: 9.5 })).toEqual([])
})
