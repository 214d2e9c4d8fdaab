import type { Tour } from './tour.ts'
import {
  ages,
  changes,
  chosen,
  discreet,
  hands,
  lessons,
  narrowed,
  partly,
  wishes,
} from './tours-operators.ts'
import { commits, denied, heirs, marks, parts, pauses, relays, severed } from './tours-processes.ts'
import { budgets, calls, deadly, heavy, late, long, slices, spending, turned, whole } from './tours-ranges.ts'
import {
  crowd,
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

export const tours: Readonly<Record<string, Tour>> = {
  ...troubles,
  ...named({
    ...{ lives, numbers, silence, pages, calls, long, whole, budgets, hands, ages },
    late,
    reuse,
    midnights,
    nights,
    commits,
    denied,
    pauses,
    relays,
    severed,
    heirs,
    marks,
    parts,
    lessons,
    spending,
    wishes,
    narrowed,
    discreet,
    quiet,
    chosen,
    weeks,
    turned,
    partly,
    changes,
    heavy,
    deadly,
    slices,
    crowd,
  }),
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
