import { expect, it } from 'vitest'
import { confirmedTime } from '../../src/engine/confirmed.ts'
import type { ClockOffset, Transport } from '../../src/engine/ports.ts'

const clock = { now: () => 1_000_000, monotonic: () => 0, sleep: async () => {} }
const answered = (offsets: Readonly<Record<string, ClockOffset>>) =>
  confirmedTime(clock, { clockOffset: family => offsets[family] } as Transport)

it('is not known before the first answer', () => {
  expect(answered({})).toBeUndefined()
})

it('is the earliest that any provider may mean', () => {
  const analytics = { ahead: 50, doubt: 60 }
  expect(answered({ analytics })).toBe(999_990)
  expect(answered({ analytics, players: { ahead: -3_600_000, doubt: 1 } })).toBe(1_000_000 - 3_600_001)
})
