import type { Plant } from './plant.ts'

/** How the simulation is called so that a run is like a plant demands it. */

/** Sizes of a world of calls; whatever else a plant demands is the position of a switch. */
const sizes: readonly string[] = ['plan', 'hours', 'calls', 'users', 'minutes', 'apps', 'kills', 'processes']

const usualCalls = { plan: 'premium', hours: '3', calls: '20', users: '4', minutes: '20' }

/** The programs to try one after the other, with their arguments. */
export function simulationsOf({ about, demands = [] }: Plant, seed: number): readonly (readonly string[])[] {
  const pairs = demands.map(demand => demand.split('=') as [string, string])
  const ofWorld = { ...usualCalls, ...Object.fromEntries(pairs.filter(([name]) => sizes.includes(name))) }
  const switches = pairs
    .filter(([name]) => !sizes.includes(name))
    .flatMap(([name, value]) => ['--switch', `${name}=${value}`])
  const classroom = ['test/simulation/main.ts', '--days', '0.02', '--seed', `${seed}`]
  const analytics = [
    'test/simulation/plan-main.ts',
    ...Object.entries(ofWorld).flatMap(([name, value]) => [`--${name}`, value]),
    ...switches,
    ...['--seed', `${seed}`],
  ]
  const players = ['test/simulation/players-main.ts', '--hours', '1', '--seed', `${seed}`]
  switch (about) {
    case 'classroom':
      return [classroom]
    case 'analytics':
      return [analytics]
    case 'players':
      return [players]
    default:
      return [classroom, analytics, players]
  }
}
