import { expect, test } from 'vitest'
import { cutToAvailable } from '../../src/commands/backfill/available.ts'

const hour = 3_600
const now = 1_000 * hour + 1_800
/** Ten hours back, half an hour late; the daemon needs another hour. */
const cut = { availableData: 10 * hour, dataDelay: 1_800, step: hour, earliest: 992 * hour }
const hours = (from: number, to: number) => ({ from: from * hour, to: to * hour })

test('a range that can be had begins with the whole value that it begins in', () => {
  expect(cutToAvailable(hours(993.25, 995.5), cut, now)).toEqual({ range: hours(993, 995.5), outside: [] })
})

test('what expires before it can be asked for is left out, apart from what is gone and what is too young', () => {
  expect(cutToAvailable(hours(980, 1_001), cut, now)).toEqual({
    range: hours(992, 1_000),
    outside: [
      { why: 'gone', range: { from: 980 * hour, to: now - 10 * hour + 1 } },
      { why: 'leaving', range: { from: now - 10 * hour + 1, to: 992 * hour } },
      { why: 'too young', range: hours(1_000, 1_001) },
    ],
  })
})

test('nothing can be had where all that is served leaves before it can be asked for', () => {
  const slow = { ...cut, earliest: 1_002 * hour }
  expect(cutToAvailable(hours(995, 1_000), slow, now)).toEqual({
    range: undefined,
    outside: [{ why: 'leaving', range: hours(995, 1_000) }],
  })
})
