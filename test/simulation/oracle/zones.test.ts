import { describe, expect, it } from 'vitest'
import { zones } from '../demands.ts'
import { clockAt, clockInSql, hoursAhead, momentOf } from './zones.ts'

const turns = zones['America/New_York']
const iso = (at: number) => new Date(at).toISOString()

describe('the clocks of a place', () => {
  it('are those of UTC where nothing is said', () => {
    expect(hoursAhead([], 5)).toBe(0)
    expect(momentOf([], 5)).toBe(5)
    expect(clockInSql([], 'x')).toBe("((x at time zone 'UTC') + (0) * interval '1 hour')")
  })

  it('show an hour twice when they are put back', () => {
    expect(iso(clockAt(turns, Date.UTC(2026, 10, 1, 5, 30)))).toBe('2026-11-01T01:30:00.000Z')
    expect(iso(clockAt(turns, Date.UTC(2026, 10, 1, 6, 30)))).toBe('2026-11-01T01:30:00.000Z')
  })

  it('make days of 23 and of 25 hours', () => {
    const long = [1, 2].map(day => momentOf(turns, Date.UTC(2026, 10, day)))
    expect(long.map(iso)).toEqual(['2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'])
    const short = [8, 9].map(day => momentOf(turns, Date.UTC(2026, 2, day)))
    expect(short.map(iso)).toEqual(['2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z'])
  })
})
