import { expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineRepairedFeeds } from './repaired-feeds.ts'

const minute = 60_000

/** What is said of a gap up to the tenth minute that was closed in the twentieth; times are minutes. */
async function judge(told: {
  readonly served: number
  readonly status?: number
  readonly seen?: number
  readonly destroyed?: number
}) {
  const { served, status = 200, seen = 5, destroyed } = told
  const arrival = {
    ...{ app: 'alpha', operation: 'roomEvents', target: '/eu/edu/apps/alpha/v2/rooms/a%20b/sequences' },
    ...{ time: served * minute, status },
  }
  const life = { kind: 'room', app: 'alpha', roomUuid: 'a b', openedAt: 0 }
  const examination = {
    sandbox: {
      arrivals: { count: 1, list: () => [arrival] },
      truth: () => [destroyed === undefined ? life : { ...life, destroyedAt: destroyed * minute }],
    },
    rows: async (asked: string) =>
      asked.includes('ingest.gap')
        ? [{ app: 'alpha', to: 10 * minute, closed: 20 * minute }]
        : [{ app: 'alpha', room: 'a b', seen: seen * minute, left: null }],
  } as unknown as Examination
  return (await examineRepairedFeeds(examination)).map(({ text }) => text)
}

const amiss = [
  expect.stringMatching(/^alpha feed: repaired up to .*10:00.*the log of a b was not served since$/),
]

it('is well where the log of each room that was known was served in between', async () => {
  expect(await judge({ served: 15 })).toEqual([])
  expect(await judge({ served: 8 })).toEqual(amiss)
  expect(await judge({ served: 21 })).toEqual(amiss)
  expect(await judge({ served: 15, status: 403 })).toEqual(amiss)
})

it('does not wait for rooms that were met later, or are gone', async () => {
  expect(await judge({ served: 8, seen: 11 })).toEqual([])
  expect(await judge({ served: 8, destroyed: 18 })).toEqual([])
})
