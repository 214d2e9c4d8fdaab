import type pg from 'pg'
import { expect, it } from 'vitest'
import { keepHouse } from '../../src/postgres/housekeeping.ts'

const day = 86_400_000
const retention = {
  ...{ session_series: 30 * day, usage_realtime: 30 * day, quality_realtime: 30 * day },
  ...{ classroom: 30 * day, calls: 30 * day, dead_letter: day, notification: day, cloud_player_change: day },
}

/** A housekeeping in a database in which each statement leaves more to do; answers what was asked after the n-th, when it was to stop. */
async function stoppedAfter(n: number) {
  const stopping = new AbortController()
  const asked: string[] = []
  const query = async (what: string | { readonly text: string }) => {
    asked.push(typeof what === 'string' ? what : what.text)
    if (asked.length === n) stopping.abort()
    return {
      rows: [{ at: new Date(), made: 'part', gone: Number.MAX_SAFE_INTEGER, taken: true, forgotten: '0' }],
    }
  }
  const connect = async () => {
    let isEnded = false
    const ask = async (what: string) => {
      if (isEnded) throw new Error('the session was ended')
      return query(what)
    }
    const end = async () => {
      isEnded = true
    }
    return { query: ask, end, release: () => {}, once: () => {}, on: () => {} }
  }
  await keepHouse({ query, connect } as unknown as pg.Pool, retention, Date.now(), stopping.signal)
  return { all: asked, after: asked.slice(n) }
}

it('the housekeeping begins nothing more once it is told to stop, whatever it is about', async () => {
  const { all } = await stoppedAfter(Number.POSITIVE_INFINITY)
  const firsts = [...new Set(all)].map(text => all.indexOf(text))
  expect(firsts.length).toBeGreaterThan(25)
  // The sessions of the last ones are of large calls, each of which may take an hour.
  const places = new Set([...firsts, ...[...Array(12).keys()].map(n => all.length - 1 - n)])
  for (const place of places) {
    const { after } = await stoppedAfter(place + 1)
    // What a transaction of one statement has begun it ends.
    expect(after.length, all[place]).toBeLessThanOrEqual(all[place]!.startsWith('begin') ? 3 : 2)
    expect(after.filter(text => /make_partition|summarize/.test(text))).toEqual([])
  }
})
