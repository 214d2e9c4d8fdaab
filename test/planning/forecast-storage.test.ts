import { describe, expect, it } from 'vitest'
import { forecastStorage } from '../../src/planning/forecast-storage.ts'

const calls = { perDay: 10, users: 40, minutes: 30, measured: 5, metrics: 26 }
const storedOf = (...facts: Parameters<typeof forecastStorage>) =>
  new Map(forecastStorage(...facts).map(({ table, ...stored }) => [table, stored]))

describe('what call analytics stores', () => {
  it('is a row for each call and stay, and for what is measured its series and summaries', () => {
    const stored = storedOf({ calls, values: {}, keptDays: { session_series: 90 } })
    const rows = [...stored].map(([table, { rowsPerDay }]) => [table, rowsPerDay])
    expect(Object.fromEntries(rows)).toEqual({
      ...{ call: 10, call_session: 400, call_summary: 10 },
      ...{ session_summary: 200, session_digest: 200, call_minute: 150, session_series: 200 * 26 },
    })
    const { bytesPerDay, bytesKept, keptDays } = stored.get('session_series')!
    // 900 values of each series, at two bytes and a little.
    expect(bytesPerDay / (200 * 26 * 900)).toBeGreaterThan(2)
    expect(bytesPerDay / (200 * 26 * 900)).toBeLessThan(4)
    expect([keptDays, bytesKept]).toEqual([90, bytesPerDay * 90])
    expect(stored.get('session_digest')).toMatchObject({ keptDays: null, bytesKept: null })
  })

  it('is no series and no summary of stays where nothing is measured', () => {
    const stored = storedOf({ calls: { ...calls, measured: 0, metrics: 0 }, values: {}, keptDays: {} })
    expect([...stored.keys()]).toEqual(['call', 'call_session', 'call_summary'])
  })

  it('is a row a value of real time and insights', () => {
    const stored = storedOf({ values: { usage_realtime: 8_640 }, keptDays: { usage_realtime: 400 } })
    expect([...stored.keys()]).toEqual(['usage_realtime'])
    expect(stored.get('usage_realtime')).toMatchObject({ rowsPerDay: 8_640, keptDays: 400 })
  })
})
