import { draw } from '../draw.ts'
import { candidate } from '../gate.ts'
import { tours, worldOf } from '../tours.ts'
import type { World } from './play.ts'

const day = 86_400_000
/** So many seeds are looked at for worlds that differ. */
const looked = 150
/** What a run costs whatever its world holds, beside what `candidate` reckons. */
const start = 10

/** The tours first: each holds more than a seed does. */
export function worldsInOrder(most: number, days: number): readonly World[] {
  const made = Object.keys(tours).map((_, n) => worldOf(n + 1))
  const drawn = seedsInOrder(Math.max(0, most - made.length), days).map(seed => ({ seed }))
  return [...made, ...drawn].slice(0, most)
}

/**
 * Seeds in the order in which plants meet them: each brings more than any other of what the worlds before it lacked, for
 * what it costs. What a bug needs to be seen is a switch, a fault or a plan, seldom two of them.
 */
function seedsInOrder(most: number, days: number): readonly number[] {
  const left = new Map(Array.from({ length: looked }, (_, n) => [n + 1, world(n + 1, days)] as const))
  const held = new Set<string>()
  const seeds: number[] = []
  while (seeds.length < most && left.size > 0) {
    const [best] = [...left]
      .map(([seed, { holds, cost }]) => [seed, holds.difference(held).size / cost, cost] as const)
      .reduce((one, other) => (other[1] > one[1] || (other[1] === one[1] && other[2] < one[2]) ? other : one))
    seeds.push(best)
    for (const trait of left.get(best)!.holds) held.add(trait)
    left.delete(best)
  }
  return seeds
}

function world(seed: number, days: number): { readonly holds: ReadonlySet<string>; readonly cost: number } {
  const { switches, apps, processes } = draw(seed, days * day, {})
  const { kinds, cost } = candidate(seed, days)
  const traits = [
    ...Object.entries(switches).map(([name, value]) => `${name} ${value}`),
    ...apps.map(({ contract }) => contract),
    `${apps.length} apps`,
    `${processes} processes`,
  ]
  return { holds: kinds.union(new Set(traits)), cost: start + cost }
}
