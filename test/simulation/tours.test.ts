import { describe, expect, it } from 'vitest'
import { type Switches, switchTable } from '../../sandbox/src/index.ts'
import { draw } from './draw.ts'
import { tours, worldOf } from './tours.ts'

/** Ways of answering in which no tour goes, and why. */
const left: Readonly<Partial<Record<keyof Switches, readonly string[]>>> = {
  // No daemon can be expected to read words.
  kvs: ['words'],
  // Of every other session that goes on it is so in one of them.
  openStayEnd: ['absent'],
  // What is never told again needs no more than what is.
  restatement: ['off'],
}

function drawnBy(seed: number) {
  return Object.entries(tours).map(([tour, { length, demands }]) => ({
    tour,
    ...draw(seed, length, demands),
  }))
}

describe('the tours', () => {
  it('together go each way in which the provider may answer', () => {
    const worlds = drawnBy(1)
    const names = Object.keys(switchTable) as (keyof Switches)[]
    const missing = names.flatMap(name => {
      const entry = switchTable[name]
      const played = new Set<unknown>(worlds.map(({ switches }) => switches[name]))
      const ways = 'values' in entry ? entry.values.filter(value => !played.has(value)) : []
      return ways.length > 0 ? [[name, ways]] : []
    })
    expect(Object.fromEntries(missing)).toEqual(left)
  })

  it('of one seed are worlds of their own', () => {
    const open = drawnBy(1).map(
      ({ switches }) => `${switches.personIds} ${switches.playerTimes} ${switches.successCode}`,
    )
    expect(new Set(open).size).toBeGreaterThan(4)
  })

  it('of another seed leave nothing open as it was', () => {
    const switchesOf = (seed: number) => drawnBy(seed).map(({ switches }) => JSON.stringify(switches))
    const first = new Set(switchesOf(1))
    expect(switchesOf(2).filter(each => first.has(each))).toEqual([])
  })

  it('are played by the first seeds, each once', () => {
    const names = Object.keys(tours)
    expect(names.map((_, n) => worldOf(n + 1).tour)).toEqual(names)
    expect(worldOf(names.length + 1)).toEqual({ seed: names.length + 1 })
  })
})
