import type { Tour } from './tour.ts'
import {
  ages,
  changes,
  chosen,
  discreet,
  hands,
  joined,
  lessons,
  narrowed,
  partly,
  wishes,
} from './tours-operators.ts'
import { commits, denied, heirs, marks, parts, pauses, relays, severed } from './tours-processes.ts'
import {
  budgets,
  calls,
  deadly,
  heavy,
  late,
  long,
  restored,
  slices,
  spending,
  turned,
  whole,
} from './tours-ranges.ts'
import {
  crowd,
  doubles,
  filed,
  lives,
  midnights,
  nights,
  numbers,
  pages,
  quiet,
  reuse,
  silence,
  weeks,
} from './tours-rooms.ts'
import { answers, machines, outages } from './tours-troubles.ts'

/** Every kind of trouble that a gate wants, the longest first. */
export const troubles = named({ outages, answers, machines })

/** Those that catch most of what is planted come first: who plays twenty worlds plays these. */
export const tours: Readonly<Record<string, Tour>> = named({
  ...{ lives, silence, calls, outages, late, long, ages, pages, lessons, answers },
  ...{ commits, pauses, wishes, heavy, reuse, spending, hands, relays, weeks, crowd },
  ...{ changes, marks, turned, midnights, budgets, chosen, machines, discreet, quiet, deadly },
  ...{
    slices,
    heirs,
    nights,
    parts,
    numbers,
    whole,
    narrowed,
    partly,
    denied,
    severed,
    restored,
    doubles,
    joined,
    filed,
  },
})

/** What a seed plays where neither a tour nor a length is told: each of the first ones a tour, the others what they draw. */
export function worldOf(seed: number): { readonly seed: number; readonly tour?: string } {
  const tour = Object.keys(tours)[seed - 1]
  return tour === undefined ? { seed } : { seed: 1, tour }
}

/** What a tour leaves open it draws by itself: otherwise all would go through the one world of their seed. */
function named(all: Readonly<Record<string, Tour>>): Readonly<Record<string, Tour>> {
  return Object.fromEntries(
    Object.entries(all).map(([world, { length, demands }]) => [
      world,
      { length, demands: { world, ...demands } },
    ]),
  )
}
