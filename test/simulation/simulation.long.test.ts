import { describe, expect, it } from 'vitest'
import { cloneDatabase } from '../support/postgres.ts'
import { type MutantName, mutants } from './mutants.ts'
import { type RunResult, runSimulation } from './simulation.ts'
import { firstDifference } from './trace.ts'

const minutes = 60_000
/** Only a run that hangs takes so long, ms. */
const patience = 20 * minutes

/** Each plays twice: they differ in their faults, in how the app's feed behaves, its regions and muted rooms. */
const seeds = [2, 4]

/** A mutant may pass a seed by luck, not all of these. */
const mutantSeeds = [4, 3, 15]

function play(seed: number, planted: { readonly mutant?: MutantName; readonly like?: MutantName } = {}) {
  return runSimulation({ seed, length: 30 * minutes, cloneDatabase, ...planted })
}

function complaints({ breaches, findings }: RunResult): readonly string[] {
  return [...breaches, ...findings.map(({ kind, text }) => `${kind}: ${text}`)].slice(0, 5)
}

describe('two daemons through faults on a virtual clock', () => {
  it.each(seeds)(
    'lose nothing, store nothing twice and change nothing, and seed %i repeats itself',
    async seed => {
      const result = await play(seed)
      expect(complaints(result)).toEqual([])
      expect(result.healedAfter).toBeDefined()
      const again = await play(seed)
      expect(firstDifference(result.trace, again.trace)).toBeUndefined()
      expect(again.trace.hash()).toBe(result.trace.hash())
    },
    patience,
  )
})

describe('a planted bug is found', () => {
  const names = Object.keys(mutants) as MutantName[]
  it.each(names)(
    '%s',
    async mutant => {
      for (const seed of mutantSeeds) {
        const found = await play(seed, { mutant })
        if (found.passed) continue
        // What is found must be the bug, not the run that was made for it.
        expect(complaints(await play(seed, { like: mutant }))).toEqual([])
        return
      }
      expect.unreachable(`${mutants[mutant].title}: no seed of ${mutantSeeds.join(', ')} found it`)
    },
    patience,
  )
})
