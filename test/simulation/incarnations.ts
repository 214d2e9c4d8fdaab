import type { Stored } from './stored.ts'
import type { Truth } from './truth.ts'

interface InRoom {
  readonly app: string
  readonly room: string
  readonly incarnation: number
}

export interface Incarnations {
  /** The number under which a true incarnation is stored; undefined for one of which nothing is stored. */
  readonly storedOf: (place: InRoom) => number | undefined
}

/**
 * Which stored incarnation stands for which true one. A room that lived unseen has no number in the store, so
 * the two countings may differ; contents decide: a stored incarnation is the one it shares most events with.
 */
export function matchIncarnations(truth: Truth, stored: Stored): Incarnations {
  const votes = new Map<string, Map<number, number>>()
  const numbers = Map.groupBy(
    new Set([...stored.events.keys()].map(key => key.slice(0, key.lastIndexOf(' ')))),
    key => key.slice(0, key.lastIndexOf(' ')),
  )
  for (const { app, room, incarnation, sequence, cmd, data } of truth.events) {
    for (const place of numbers.get(`${app} ${room}`) ?? []) {
      const row = stored.events.get(`${place} ${sequence}`)
      if (row?.cmd !== cmd || row.data !== data) continue
      const counts = votes.get(place) ?? new Map<number, number>()
      votes.set(place, counts.set(incarnation, (counts.get(incarnation) ?? 0) + 1))
    }
  }
  const found = new Map<string, number>()
  for (const [place, counts] of votes) {
    const [best] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one))
    const [app, room, number] = place.split(' ')
    const key = `${app} ${room} ${best}`
    if (!found.has(key)) found.set(key, Number(number))
  }
  return { storedOf: ({ app, room, incarnation }) => found.get(`${app} ${room} ${incarnation}`) }
}
