import { describe, expect, it } from 'vitest'
import { cloneDatabase } from '../support/postgres.ts'
import { type PlayersDayResult, runPlayersDay } from './players-day.ts'
import { type PlayersMutant, type PlayersMutantName, playersMutants, wrongOf } from './players-mutants.ts'

/** A mutant may pass a seed by luck, not all of these. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8]

/** Runs without a bug, which several mutants have in common. */
const sound = new Map<string, Promise<PlayersDayResult>>()

function playSound(run: PlayersMutant['run'], seed: number): Promise<PlayersDayResult> {
  const key = JSON.stringify([run, seed])
  const known = sound.get(key) ?? runPlayersDay({ ...run, seed, cloneDatabase })
  sound.set(key, known)
  return known
}

describe('a bug planted in the watching of players is found', () => {
  it.each(Object.keys(playersMutants) as PlayersMutantName[])(
    '%s',
    async name => {
      const { title, run, plant }: PlayersMutant = playersMutants[name]
      for (const seed of seeds) {
        const found = wrongOf(await runPlayersDay({ ...run, seed, bug: plant(), cloneDatabase }))
        if (Object.keys(found).length === 0) continue
        process.stderr.write(`${name}, seed ${seed}: ${JSON.stringify(found)}\n`)
        // What is found must be the bug, not the run that was made for it.
        expect(wrongOf(await playSound(run, seed))).toEqual({})
        return
      }
      expect.unreachable(`${title}: no seed of ${seeds.join(', ')} found it`)
    },
    300_000,
  )
})
