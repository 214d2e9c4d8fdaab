import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf, deadLettersOf } from './claims.ts'
import { riddleApps, riddles } from './nobody.ts'
import { columnReading, drawnReading } from './readings.ts'
import { openStage, play, type Stage } from './stage.ts'

/** A busy machine has its time; a quiet one needs half a minute. */
const patience = 120_000

/** Another seed draws another reading: OUTSIDER_SEED=7 npx vitest run test/outsider */
const seed = Number(process.env.OUTSIDER_SEED ?? 1)

const readings = [
  ...Array.from({ length: 8 }, (_, n) => ({ id: `column-${n}`, reading: columnReading(n) })),
  { id: `seed-${seed}`, reading: drawnReading(seed) },
]

describe('a provider written from the contract alone', () => {
  let stage: Stage
  let amiss: ReadonlyMap<string, readonly string[]>

  beforeAll(async () => {
    stage = await openStage([...readings, ...riddleApps])
    amiss = await play(stage, patience)
  }, patience + 100_000)

  afterAll(() => stage.close())

  it.each(readings)('is stored whole and called complete, read as $id', ({ id }) => {
    expect(amiss.get(id)).toEqual([])
  })

  describe.each(riddles)('an answer that nobody can read, $name', riddle => {
    it('is a dead letter', async () => {
      expect(await deadLettersOf(stage, riddle)).toBeGreaterThan(0)
    })

    if (!riddle.isOfItems) {
      it('is never called complete', async () => {
        expect(await claimsOf(stage, riddle)).toEqual([])
      })
    }
  })

  it.each(riddleApps)('has all else stored, for $id', ({ id }) => {
    expect(amiss.get(id)).toEqual([])
  })

  it('is asked as it words it, inside every limit', () => {
    expect(stage.provider.meters.violations).toEqual([])
    expect(stage.provider.breaches).toEqual([])
  })
})
