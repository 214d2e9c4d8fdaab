import { expect, it } from 'vitest'
import { examineForEver, type ForEver } from './for-ever.ts'
import { examineReplayed } from './replayed.ts'

const told: ForEver = {
  rooms: new Map([['alpha algebra 1 poll', false]]),
  hours: new Map([['alpha calls 08', true]]),
  losses: new Map([['alpha calls expired', 2]]),
  days: new Set(['alpha calls expired from 2026-01-05 to 2026-01-05']),
}

it('what was lost stays lost, and what was whole stays whole', () => {
  expect(examineForEver(told, { ...told, losses: new Map([['alpha calls expired', 3]]) })).toEqual([])
  expect(examineForEver(told, { ...told, losses: new Map() })).toHaveLength(1)
  expect(examineForEver(told, { ...told, rooms: new Map([['alpha algebra 1 poll', true]]) })).toHaveLength(1)
  expect(examineForEver(told, { ...told, hours: new Map() })).toHaveLength(1)
  const further = new Set([...told.days, 'alpha calls expired from 2026-01-06 to 2027-02-20'])
  expect(examineForEver(told, { ...told, days: further })).toEqual([])
  const joined = new Set(['alpha calls expired from 2026-01-05 to 2027-02-20'])
  expect(examineForEver(told, { ...told, days: joined })).toHaveLength(1)
})

const before = new Map([
  ['classroom.chat_message', ['a', 'b']],
  ['ingest.dead_letter', ['{"id": 1, "reason": "wrong_type"}', '{"id": 2, "reason": "not_found"}']],
  ['classroom.room', ['r']],
])
const replayed = (table: string, rows: readonly string[], differences = 0) =>
  examineReplayed(before, new Map([...before, [table, rows]]), differences).map(({ kind }) => kind)

it('a replay mends all that is made of raw rows, and nothing else', () => {
  expect(replayed('classroom.room', ['looked at since'])).toEqual([])
  expect(replayed('classroom.chat_message', ['a', 'c'])).toEqual(['lost', 'duplicate'])
  expect(replayed('ingest.dead_letter', ['{"id": 2}'])).toEqual(['lost'])
  expect(replayed('ingest.dead_letter', ['{"id": 1, "occurrences": 2}', '{"id": 3}'])).toEqual([])
  expect(replayed('classroom.chat_message', ['a', 'b'], 4)).toEqual(['different'])
})
