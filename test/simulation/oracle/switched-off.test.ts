import { describe, expect, it } from 'vitest'
import type { Arrival, Sandbox } from '../../../sandbox/src/index.ts'
import { examineSwitchedOff, howFarOff, isOffThroughout, wasOff } from './switched-off.ts'

const minute = 60_000
const start = Date.UTC(2026, 0, 5, 8)
const off = { app: 'one', stream: 'realtime-usage', from: start + 6 * minute, to: start + 30 * minute }

function judge(minutes: readonly number[], { switchedOff = [off], app = 'one' } = {}): readonly string[] {
  const arrivals = minutes.map(
    at => ({ app, operation: 'realtimeUsage', time: start + at * minute }) as Arrival,
  )
  const sandbox = { arrivals: { count: arrivals.length, list: () => arrivals } } as unknown as Sandbox
  const found = examineSwitchedOff({ sandbox, switchedOff, start, end: start + 60 * minute })
  return found.map(({ text }) => text)
}

describe('a stream that is switched off', () => {
  it('is asked for before and after it, and by what was under way', () => {
    expect(judge([0, 5, 6.5, 30.2, 35])).toEqual([])
  })

  it('is not asked for meanwhile', () => {
    expect(judge([5, 10, 30.2])).toEqual([expect.stringMatching(/one realtime-usage is asked for .*08:10/)])
  })

  it('is asked for when it is switched on again', () => {
    expect(judge([5, 50])).toEqual(['one realtime-usage is switched on, and nobody asks for it'])
  })

  it('from the start is never asked for', () => {
    const throughout = { ...off, from: start, to: Number.POSITIVE_INFINITY }
    expect(judge([0.5], { switchedOff: [throughout] })).toHaveLength(1)
    expect(isOffThroughout({ switchedOff: [throughout], start, end: start + 1 }, 'one', off.stream)).toBe(
      true,
    )
    expect(isOffThroughout({ switchedOff: [off], start, end: start + 1 }, 'one', off.stream)).toBe(false)
  })

  it('of one app is on for the others', () => {
    expect(judge([5, 10, 20, 30.2], { app: 'two' })).toEqual([expect.stringContaining('nobody asks for it')])
  })

  it.each([
    [5, 'not'],
    [6, 'partly'],
    [6.8, 'partly'],
    [7, 'wholly'],
    [29, 'wholly'],
    [29.9, 'partly'],
    [30.5, 'partly'],
    [31, 'not'],
  ])('is so at minute %s %s', (at, far) => {
    const from = start / 1_000 + at * 60
    expect(howFarOff({ switchedOff: [off] }, { ...off, from, to: from + 20 })).toBe(far)
  })
})

it('a stream was off of whatever lasted into that time', () => {
  const of = { app: off.app, stream: off.stream }
  expect(wasOff({ switchedOff: [off] }, of, start, start + 20 * minute)).toBe(true)
  expect(wasOff({ switchedOff: [off] }, of, start, start + 4 * minute)).toBe(false)
  expect(wasOff({ switchedOff: [off] }, { ...of, app: 'other' }, start, start + 20 * minute)).toBe(false)
})
