import { describe, expect, it } from 'vitest'
import type { Plant } from './plant.ts'
import { figures, judge, nameOf, outcomeOf, type Play, type Played, rotated, unfit } from './play.ts'

function plantNamed(name: string, from: Plant['from'] = 'contract'): Plant {
  return { name, says: 'it is wrong', group: 'progress', from, file: 'src/a.ts', find: 'a', put: 'b' }
}

const well: Played = { exitCode: 0, said: 'seed 1: well\n' }
const wrong: Played = {
  exitCode: 1,
  said: 'seed 3: FAILED (2); 12 events\n  lost event 7 of room a\n  and 1 more\n',
}
const crash: Played = { exitCode: 1, said: 'TypeError: cannot read\n    at main.ts:1:1\n' }

describe('what a run shows', () => {
  it.each([
    ['a run that ends well', well, { kind: 'passed' }],
    ['a run that found something', wrong, { kind: 'found', finding: 'lost event 7 of room a' }],
    [
      'one line alone',
      { exitCode: 1, said: 'FAILED: gaps 3\n' },
      { kind: 'found', finding: 'FAILED: gaps 3' },
    ],
    ['a simulation that dies itself', crash, { kind: 'broken', why: 'exit 1: at main.ts:1:1' }],
    ['a call of another kind', { exitCode: 2, said: 'usage\n' }, { kind: 'broken', why: 'exit 2: usage' }],
    ['a run that was stopped', { exitCode: null, said: '' }, { kind: 'broken', why: 'exit null:' }],
  ] as const)('%s', (_, played, outcome) => {
    expect(outcomeOf(played)).toEqual({
      ...outcome,
      ...('why' in outcome && { why: expect.stringContaining(outcome.why) }),
    })
  })
})

const worlds = [1, 2, 3, 4, 5].map(seed => ({ seed }))

describe('the verdict on a plant', () => {
  const plant = plantNamed('a-plant')
  const never = new AbortController().signal

  function judged(play: Play, signal: AbortSignal = never) {
    return judge(plant, worlds, { play, baseline: new Map(), now: () => 0, signal })
  }

  it('is that of the first seed that finds something', async () => {
    const asked: string[] = []
    const verdict = await judged(async ({ seed }, isPlanted) => {
      asked.push(`${seed} ${isPlanted ? 'planted' : 'well'}`)
      return isPlanted && seed === 3 ? wrong : well
    })
    expect(verdict).toMatchObject({ caught: true, worlds: 3, text: 'seed 3: lost event 7 of room a' })
    expect(asked).toEqual(['1 planted', '2 planted', '3 planted', '3 well'])
  })

  it('is an escape where no seed does', async () => {
    expect(await judged(async () => well)).toMatchObject({ caught: false, worlds: 5, text: '' })
  })

  it('says why seeds told nothing, and does not count them as caught', async () => {
    const verdict = await judged(async ({ seed }) => (seed === 2 ? crash : well))
    expect(verdict).toMatchObject({
      caught: false,
      text: expect.stringContaining('seed 2 ended with exit 1'),
    })
  })

  it('passes over a seed that fails without the plant too', async () => {
    const baseline = new Map()
    const play: Play = async ({ seed }, isPlanted) => (seed === 1 || (isPlanted && seed === 2) ? wrong : well)
    const ports = { play, baseline, now: () => 0, signal: never }
    expect(await judge(plant, worlds, ports)).toMatchObject({ caught: true, worlds: 2 })
    expect(await unfit(baseline)).toEqual([expect.stringContaining('lost event 7')])
  })

  it('is none where time is up', async () => {
    const timeUp = new AbortController()
    const play: Play = async () => {
      timeUp.abort()
      return { exitCode: null, said: '' }
    }
    expect(await judged(play, timeUp.signal)).toBeUndefined()
  })

  it('asks each seed once what it shows without a plant', async () => {
    let asked = 0
    const play: Play = async (_, isPlanted) => {
      if (!isPlanted) asked += 1
      return isPlanted ? wrong : well
    }
    const ports = { play, baseline: new Map(), now: () => 0, signal: never }
    await judge(plantNamed('one'), worlds, ports)
    await judge(plantNamed('another'), worlds, ports)
    expect(asked).toBe(1)
  })
})

it.each([
  [{ seed: 3 }, 'seed 3'],
  [{ seed: 3, days: '0.6' }, 'seed 3, 0.6 days'],
  [{ seed: 3, tour: 'answers' }, 'seed 3, tour answers'],
])('names the world %j', (world, name) => {
  expect(nameOf(world)).toBe(name)
})

it('ends with one line of figures', () => {
  const plants = [plantNamed('a'), plantNamed('b', 'code'), plantNamed('c')]
  const verdict = { seconds: 1, text: '' }
  const verdicts = [
    { ...verdict, plant: 'a', caught: true, worlds: 2 },
    { ...verdict, plant: 'b', caught: false, worlds: 20 },
  ]
  expect(figures(verdicts, plants, 1.25)).toBe(
    'plants: 1 of 2 caught, from the contract 1 of 1, 3 in all, 22 worlds, 1.3 minutes',
  )
})

it('plays all plants, in an order that another commit begins elsewhere', () => {
  const plants = ['a', 'b', 'c', 'd'].map(name => plantNamed(name))
  const names = (commit: string) => rotated(plants, commit).map(({ name }) => name)
  const first = names('00000000ff')
  expect(first.toSorted()).toEqual(['a', 'b', 'c', 'd'])
  expect(names('00000001ff')).toEqual([...first.slice(1), first[0]])
})
