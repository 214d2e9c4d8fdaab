import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deal, handled } from './by-hand.ts'
import { claimsOf, completeOf, deadLettersOf, secretsStored, untrueChanges } from './claims.ts'
import { riddleApps, riddles } from './nobody.ts'
import { columnReading, drawnReading, reading } from './readings.ts'
import { refused } from './refusals.ts'
import { openStage, play, type Stage } from './stage.ts'

/** A busy machine has its time; a quiet one needs half a minute. */
const patience = 300_000

/** Another seed draws another reading: OUTSIDER_SEED=7 npx vitest run test/outsider */
const seed = Number(process.env.OUTSIDER_SEED ?? 1)

/** A quiz and a call of more than one page, in the reading in which that matters most. */
const large = {
  id: 'large',
  isLarge: true,
  reading: reading({
    ...{ pageSize: '100', tail: 'refused after the end' },
    serverUsers: 'left out after paging',
  }),
}

const readings = [
  ...Array.from({ length: 8 }, (_, n) => ({ id: `column-${n}`, reading: columnReading(n) })),
  { id: `seed-${seed}`, reading: drawnReading(seed) },
  large,
  handled,
]

describe('a provider written from the contract alone', () => {
  let stage: Stage
  let amiss: ReadonlyMap<string, readonly string[]>
  let deeds: Awaited<ReturnType<typeof deal>>

  beforeAll(async () => {
    stage = await openStage([...readings, ...riddleApps, refused])
    const played = play(stage, patience)
    deeds = await deal(stage)
    amiss = await played
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

  it('has all else stored and complete while rooms are refused', async () => {
    expect(amiss.get(refused.id)).toEqual([])
    expect(await completeOf(stage, refused.id, 'room-events')).toEqual([expect.stringContaining('math')])
  })

  it('destroys a player where it is, and is not content where it is not', () => {
    expect(deeds).toEqual({ created: 0, deletedElsewhere: expect.any(Number), deleted: 0, neverThere: 0 })
    expect(deeds.deletedElsewhere).not.toBe(0)
  })

  it('has nothing end that goes on, and nothing go on that ended', async () => {
    expect(await untrueChanges(stage)).toEqual([])
  })

  it('has its secrets kept nowhere', async () => {
    expect(await secretsStored(stage)).toEqual([])
  })

  it('is asked as it words it, inside every limit', () => {
    expect(stage.provider.meters.violations).toEqual([])
    expect(stage.provider.breaches).toEqual([])
  })
})
