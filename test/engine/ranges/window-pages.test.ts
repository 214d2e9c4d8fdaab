import { describe, expect, it } from 'vitest'
import { second } from '../harness.ts'
import { day, makeHarness, nowOf } from './window-harness.ts'

type Served = NonNullable<Parameters<typeof makeHarness>[0]>

/** The first window of a start, read to its end. */
async function readFirst(serve: Served) {
  const harness = makeHarness(serve)
  await harness.source.begin()
  const { requests } = await harness.source.find()
  const run = requests[0]!.run()
  await harness.clock.advance(30 * second)
  await run
  return harness
}

describe('a window that holds more than is listed', () => {
  it('is halved until every part is listed whole', async () => {
    const harness = makeHarness(({ from, to }) => ({ items: [], hasMore: to - from > 3_600 }))
    await harness.source.begin()
    await harness.work()
    const { covered, lost } = harness.progress()
    expect(covered).toHaveLength(1)
    expect(lost).toEqual([])
    const read = harness.asked.filter(({ from, to }) => to - from <= 3_600)
    expect(harness.asked.length).toBeLessThan(read.length * 1.6)
  })

  it('of one second becomes a gap, and the rest is read', async () => {
    let crowded = 0
    const harness = makeHarness(({ from, to }) => ({ items: [], hasMore: from <= crowded && crowded < to }))
    crowded = nowOf(harness) - 2 * day
    await harness.source.begin()
    await harness.work()
    expect(harness.store.gaps).toEqual([
      { stream: 'calls', series: '', reason: 'overflow', from: crowded, to: crowded + 1 },
    ])
    const { covered } = harness.progress()
    expect(covered).toHaveLength(2)
    expect(covered[0]!.to).toBe(crowded)
  })

  it('is paged through while its pages are full', async () => {
    const harness = makeHarness(({ page, to }) => ({
      items: page < 4 ? Array(3).fill(to - page) : [to],
      hasMore: page < 4,
    }))
    await harness.source.begin()
    const found = await harness.source.find()
    const run = found.requests[0]!.run()
    await harness.clock.advance(second)
    await run
    expect(harness.asked.map(({ page }) => page)).toEqual([1, 2, 3, 4])
    expect(harness.store.windowCommits.map(({ covers }) => covers.length)).toEqual([0, 0, 0, 1])
  })
})

describe('a window of many pages', () => {
  it('comes to its end, in smaller ones, where pages fail now and then', async () => {
    let asked = 0
    // Calls one a minute, three on a page.
    const harness = makeHarness(({ from, to, page }) => {
      asked += 1
      if (asked % 50 === 0) return 'server_error'
      const newest = Math.floor((to - 1) / 60) * 60 - (page - 1) * 180
      const [items, hasMore] = [[0, 60, 120].map(ago => newest - ago), newest - 180 >= from]
      return { items: items.filter(at => at >= from), hasMore }
    })
    const began = nowOf(harness)
    await harness.source.begin()
    for (let n = 0; n < 40; n++) {
      await harness.work()
      await harness.clock.advance(300 * second)
    }
    const { covered } = harness.progress()
    expect(covered).toHaveLength(1)
    // What is oldest may expire while smaller ones are tried.
    expect(covered[0]!.from).toBeLessThan(began - 3 * day + 1_200)
    // Three days have 1,440 pages, and the last hour is read again each time.
    const past = harness.asked.filter(({ to }) => to < nowOf(harness) - 6 * 3_600)
    expect(past.length).toBeLessThan(1_440 * 1.5)
  })
})

it('a page that says that not all is listed, before one that lists nothing new, leaves less to be asked for', async () => {
  const harness = await readFirst(({ page, to }) => ({
    ...{ items: page === 1 ? [to - 1, to - 2, to - 3] : [], hasMore: page === 1 },
  }))
  expect(harness.asked.map(({ page }) => page)).toEqual([1, 2])
  expect(harness.progress().covered).toEqual([])
  const rest = await readFirst(({ page, to }) => ({
    ...{ items: page === 1 ? [to - 1, to - 2, to - 3] : [to - 4], hasMore: page === 1 },
  }))
  expect(rest.progress().covered).toHaveLength(1)
})

describe('an answer that counts more than it lists', () => {
  const read = async (serve: Served) => {
    const harness = await readFirst(serve)
    const { covered } = harness.progress()
    const pages = harness.asked.map(({ page }) => page)
    return {
      pages,
      isCovered: covered.length > 0,
      letters: harness.store.windowCommits.flatMap(({ rejects }) => rejects),
    }
  }

  it('is followed by the next page, and is complete when that has the rest', async () => {
    const rest = await read(({ page, from }) => ({ items: [from + 9 - page], total: 2 }))
    expect(rest).toEqual({ pages: [1, 2], isCovered: true, letters: [] })
  })

  it('is complete where it lists as many, one of them twice', async () => {
    const twice = await read(({ page, from }) => ({
      items: page === 1 ? [from + 9, from + 9] : [],
      total: 2,
    }))
    expect(twice).toEqual({ pages: [1], isCovered: true, letters: [] })
  })

  it('leaves its range open where no page has the rest, and says what it counted', async () => {
    const lacking = await read(({ page, from }) => ({ items: page === 1 ? [from + 9] : [], total: 3 }))
    // The same whatever the range, so that a range that is read again and again makes one letter.
    const item = { total_size: 3, listed: 1 }
    expect(lacking).toEqual({
      ...{ pages: [1, 2], isCovered: false },
      letters: [{ reason: 'out_of_range', detail: 'total_size: counts more than is listed', item }],
    })
    const again = await read(({ from }) => ({ items: [from + 9], total: 3 }))
    expect(again).toMatchObject({ pages: [1, 2], isCovered: false, letters: [{ item: { listed: 1 } }] })
  })

  it('is complete where the rest began before the range, or where each page counts its own', async () => {
    const before = await read(({ from }) => ({ items: [from + 9, from - 5], total: 7 }))
    expect(before).toMatchObject({ pages: [1], isCovered: true, letters: [] })
    const own = await read(({ page, from }) => ({
      ...{ items: page === 1 ? [from + 9, from + 8, from + 7] : [from + 6], hasMore: page === 1 },
      total: page === 1 ? 3 : 1,
    }))
    expect(own).toMatchObject({ pages: [1, 2], isCovered: true, letters: [] })
  })
})

describe('a provider that answers every page with the same', () => {
  const pages = async (hasMore: boolean, moves = 0) => {
    const harness = await readFirst(({ page, to }) => {
      const newest = to - 1 - page * moves
      return { items: page > 4 ? [] : [newest, newest - 1, newest - 2], hasMore: hasMore && page < 5 }
    })
    return { asked: harness.asked.map(({ page }) => page), covered: harness.progress().covered }
  }

  it('is asked for two of them, and for less where it says that more is left out', async () => {
    const { asked, covered } = await pages(true)
    expect(asked).toEqual([1, 2])
    expect(covered).toEqual([])
  })

  it('is asked on while a page has one that the page before lacked', async () => {
    expect((await pages(true, 1)).asked).toEqual([1, 2, 3, 4, 5])
  })
})
