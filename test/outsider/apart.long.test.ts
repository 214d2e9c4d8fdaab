import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reading } from './readings.ts'
import type { Family } from './routes.ts'
import { openStage, play, type Stage } from './stage.ts'

const patience = 300_000

const choices: readonly (readonly Family[])[] = [['analytics'], ['players'], ['analytics', 'players']]

/** Whoever uses one of the three services configures that one. */
describe.concurrent.each(choices.map(families => ({ families, name: families.join(' and ') })))(
  '$name alone',
  ({ families }) => {
    let stage: Stage
    let amiss: ReadonlyMap<string, readonly string[]>

    beforeAll(async () => {
      stage = await openStage([{ id: 'apart', reading: reading() }], families)
      amiss = await play(stage, patience)
    }, patience + 100_000)

    afterAll(() => stage.close())

    it('is stored whole and called complete', () => {
      expect(amiss.get('apart')).toEqual([])
    })

    it('is asked inside every limit, and nothing else is', () => {
      expect(stage.provider.meters.violations).toEqual([])
      expect(stage.provider.breaches).toEqual([])
      expect(stage.daemon.lines.filter(({ level }) => level === 'error')).toEqual([])
    })
  },
)
