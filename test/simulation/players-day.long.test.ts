import { describe, expect, it } from 'vitest'
import { cloneDatabase } from '../support/postgres.ts'
import { type PlayersDayOptions, type PlayersDayResult, runPlayersDay } from './players-day.ts'
import { wrongOf } from './players-mutants.ts'
import { type PlayersWorldName, playersWorlds } from './players-worlds.ts'

const minute = 60_000
const hour = 60 * minute
const patience = 1_800_000

function play(world: PlayersWorldName, parts: Partial<PlayersDayOptions>): Promise<PlayersDayResult> {
  return runPlayersDay({ seed: 1, length: hour, ...playersWorlds[world], ...parts, cloneDatabase })
}

/** What must have happened for a run to show anything. */
function expectTroubles({ answers, ends, notices, lists, quirks }: PlayersDayResult): void {
  for (const reason of ['deleted', 'idle-timeout', 'server-error']) expect(ends[reason]).toBeGreaterThan(0)
  for (const what of ['create 504', 'create lost', 'delete 504', 'notification 401', 'notification 503']) {
    expect(answers[what], what).toBeGreaterThan(0)
  }
  expect(notices.sent.lost).toBeGreaterThan(0)
  expect(notices.disordered).toBeGreaterThan(0)
  expect(notices.deliveries).toBeGreaterThan(notices.stored)
  for (const fault of ['status', 'reset', 'wrong-types', 'malformed', 'html']) {
    expect(Object.keys(lists).join()).toContain(`by ${fault}`)
  }
  expect(quirks.omit).toBeGreaterThan(0)
  expect(quirks.cut).toBeGreaterThan(0)
}

describe('cloud players, in virtual time', () => {
  it(
    'a day: what is stored is what the lists showed, whatever was lost, repeated, delayed or killed',
    async () => {
      const result = await play('class', { length: 24 * hour, kills: 36 })
      expect(wrongOf(result)).toEqual({})
      expectTroubles(result)
      expect(result.boots).toBeGreaterThan(30)
      expect(result.players.listed).toBeGreaterThan(2_000)
      expect(result.readings).toBeGreaterThan(5_000)
      expect(result.notices.untilListed.p50).toBeLessThan(5_000)
    },
    patience,
  )

  it(
    'thin entries erase nothing, and who hides while it is new is not gone',
    async () => {
      const result = await play('thin', { kills: 6, every: '5s', limits: 'split' })
      expect(wrongOf(result)).toEqual({})
      expect(result.quirks.flicker).toBeGreaterThan(50)
      expect(result.players.gone).toBeGreaterThan(50)
    },
    patience,
  )

  it(
    'more players than a page holds, listed by two processes that stand still at times',
    async () => {
      const result = await play('crowd', { kills: 8, processes: 2, stalls: 1 / 400 })
      expect(wrongOf(result)).toEqual({})
      expect(result.most).toBeGreaterThan(600)
      expect(result.readings).toBeGreaterThan(200)
    },
    patience,
  )

  it(
    'a quota of fifty and far more wishes than lists are allowed break no limit',
    async () => {
      const result = await play('class', {
        ...{ length: 30 * minute, every: '5s', delay: 200 },
        apps: { school: { crowd: 45, every: 5_000, life: minute } },
        switches: { ...playersWorlds.class.switches, limiter: 'fixed' },
      })
      expect(wrongOf(result)).toEqual({})
      expect(result.most).toBe(50)
      expect(result.answers['create 429']).toBeGreaterThan(0)
      expect(result.lists['429']).toBeUndefined()
    },
    patience,
  )

  it(
    'the same seed makes the same day',
    async () => {
      const run = { length: 10 * minute, kills: 2, stalls: 1 / 100 }
      const [one, other] = [await play('class', run), await play('class', run)]
      expect(other).toEqual(one)
    },
    patience,
  )
})
