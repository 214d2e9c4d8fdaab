import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import type { PageItems, Task, TaskResult } from '../../src/engine/context.ts'
import { poll } from '../../src/engine/poll-page.ts'
import { type CommitResult, LARGE_ANSWER, RefusedRows } from '../../src/engine/ports.ts'
import { requestLine } from '../../src/provider/operation.ts'
import type { RowSet } from '../../src/tables/index.ts'
import { feed } from './fake-streams.ts'
import { appOf, createHarness, fence, settingsOf } from './harness.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const text = JSON.stringify([{ n: 1 }, { n: 2 }, { n: 3 }])
const committed: CommitResult = {
  outcome: 'committed',
  version: 1,
  stored: {},
  diverged: 0,
  deadLetters: {},
}

const rowsOf = (items: readonly unknown[]) =>
  ({ 'analytics.call': items.flatMap(item => (item ? [{ ...item }] : [])) }) as unknown as RowSet

/** Polls one page of three items from an answer of so many bytes. */
function pollOnce(
  size: number,
  commit: (rows: RowSet) => Promise<CommitResult>,
  taken = (_: RowSet) => true,
  more: Partial<Task<PageItems, TaskResult>> = {},
) {
  const app = appOf('a1', [])
  const timing = { receivedAt: 0, elapsed: 0 }
  const watched: { parsed?: WeakRef<object>; rejects?: TaskResult['rejects'] } = {}
  let released = 0
  const task: Task<PageItems, TaskResult> = {
    stream: 'call-metrics',
    plan: () => ({
      request: requestLine(feed.operation, { region: 'ap', appId: 'a1' }),
      series: 'r',
      life: 1,
    }),
    parse: ({ body }) => ({ items: body as unknown[] }),
    toRows: ({ items }) => {
      watched.parsed ??= new WeakRef(items[0] as object)
      return { rows: rowsOf(items), rejects: [] }
    },
    commit: async (_, { rows, rejects }) => {
      watched.rejects = rejects
      return commit(rows)
    },
    dryRun: async (_, { rows }) => taken(rows),
    ...more,
  }
  const context = {
    ...createHarness([]),
    ...({ app, settings: settingsOf([app]), fence, purpose: 'live', clock: systemClock } as const),
    signal: new AbortController().signal,
    admission: {
      discard: async () => {},
      heldFor: () => 0,
      triesIn: () => undefined,
      send: async () => {
        const answer = { body: JSON.parse(text), answeredAt: undefined, size }
        const again = async () => JSON.parse(text) as unknown
        const reply = { ok: true, answer: { ...answer, again }, timing } as const
        return { outcome: 'replied', reply, grant: undefined, release: () => released++ } as const
      },
    },
  }
  return { watched, result: poll(context, task), released: () => released }
}

it.each([
  ['a large answer', LARGE_ANSWER],
  ['a small one', 100],
])('of %s only the refused item is set aside, and its room is free afterwards', async (_, size) => {
  const stored: RowSet[] = []
  const hasBad = (rows: RowSet) => JSON.stringify(rows).includes('"n":2')
  const commit = async (rows: RowSet) => {
    if (hasBad(rows)) throw new RefusedRows('22003')
    stored.push(rows)
    return committed
  }
  const { watched, result, released } = pollOnce(size, commit, rows => !hasBad(rows))
  expect(await result).toMatchObject({ outcome: 'read', stored: committed })
  expect(stored).toEqual([rowsOf([{ n: 1 }, { n: 3 }])])
  expect(watched.rejects).toMatchObject([{ reason: 'store_refused', item: { n: 2 } }])
  expect(released()).toBe(1)
})

it('what a page tells by what is stored alone is told without the refused item, what stands for it included', async () => {
  const hasBad = (rows: RowSet) => JSON.stringify(rows).includes('"n":2')
  const commit = async (rows: RowSet) => {
    if (hasBad(rows)) throw new RefusedRows('22003')
    return committed
  }
  const { result } = pollOnce(100, commit, rows => !hasBad(rows), {
    toRows: ({ items }) => ({
      rows: rowsOf(items),
      rejects: [],
      ignored: items.length,
      work: items as never,
    }),
    standIn: () => ({ instead: true }),
    toldByStored: ({ work }) => ({ work: work!, ignored: 7 }),
  })
  expect(await result).toMatchObject({
    pageResult: { ignored: 7, work: [{ n: 1 }, { instead: true }, { n: 3 }] },
  })
})

it('of items that are refused together alone, the later one is set aside', async () => {
  const stored: RowSet[] = []
  const hasBoth = (rows: RowSet) => JSON.stringify(rows).match(/"n":[13]/g)?.length === 2
  const commit = async (rows: RowSet) => {
    if (hasBoth(rows)) throw new RefusedRows('22003')
    stored.push(rows)
    return committed
  }
  const { watched, result } = pollOnce(100, commit, rows => !hasBoth(rows))
  expect(await result).toMatchObject({ outcome: 'read', stored: committed })
  expect(stored).toEqual([rowsOf([{ n: 1 }, { n: 2 }])])
  expect(watched.rejects).toMatchObject([{ reason: 'store_refused', item: { n: 3 } }])
})

it('nothing that was parsed of a large answer is held while its rows are stored', async () => {
  let isHeld: boolean | undefined
  const { watched, result } = pollOnce(LARGE_ANSWER, async () => {
    await systemClock.sleep(1)
    collect()
    isHeld = watched.parsed!.deref() !== undefined
    return committed
  })
  expect(await result).toMatchObject({ outcome: 'read' })
  expect(isHeld).toBe(false)
})
