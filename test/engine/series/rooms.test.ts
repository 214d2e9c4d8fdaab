import { expect, it } from 'vitest'
import { afterChanges, later } from '../../../src/engine/series/rooms.ts'

const ended = { incarnation: 1, sequence: 50, endedAt: 5 }

it.each([
  ['another end of the same class', { sequence: 55, endedAt: 8 }, 5],
  ['an end that was told before', { sequence: 40, endedAt: 4 }, 5],
  ['an end after a new start', { sequence: 70, started: 60, endedAt: 9 }, 9],
  ['all since the only start once more', { sequence: 50, started: 1, endedAt: 6 }, 6],
  ['a new start', { sequence: 60, started: 60, endedAt: undefined }, undefined],
  ['a former start', { sequence: 1, started: 1, endedAt: undefined }, 5],
])('of a class that ended is told %s', (_, told, endedAt) => {
  expect(afterChanges(ended, told).endedAt).toBe(endedAt)
})

it.each([
  ['as much, the database is right', { sequence: 50, endedAt: 4 }, 4],
  ['as much but not when, what was told is right', { sequence: 50, endedAt: undefined }, 5],
  ['less, what was told is right', { sequence: 40, endedAt: undefined }, 5],
  ['more, it is right', { sequence: 60, endedAt: undefined }, undefined],
  ['of another room, it is right', { incarnation: 2, sequence: 3, endedAt: undefined }, undefined],
])('where the database knows %s', (_, stored, endedAt) => {
  expect(later(ended, { incarnation: 1, ...stored }).endedAt).toBe(endedAt)
})
