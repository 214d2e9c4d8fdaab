import { describe, expect, it } from 'vitest'
import { Cron } from '../../src/settings/cron.ts'

const hour = 3_600_000
const day = 24 * hour

/** The first moments after one of them, as the UTC clock shows them. */
function moments(expression: string, timeZone: string, after: string, count: number): readonly string[] {
  const cron = new Cron(expression, timeZone)
  const found = [Date.parse(after)]
  while (found.length <= count) found.push(cron.next(found.at(-1)!))
  return found.slice(1).map(at => new Date(at).toISOString().slice(0, 16))
}

describe('a cron expression', () => {
  it.each([
    ['0 4 * * *', '2026-01-05T04:00', ['2026-01-06T04:00', '2026-01-07T04:00']],
    ['0 4 * * *', '2026-01-05T03:59:59.999', ['2026-01-05T04:00']],
    ['*/20 9 * * *', '2026-01-05T08:00', ['2026-01-05T09:00', '2026-01-05T09:20', '2026-01-05T09:40']],
    ['30 6 * * 1', '2026-01-05T06:30', ['2026-01-12T06:30']],
    ['0 0 31 * *', '2026-01-31T00:00', ['2026-03-31T00:00']],
    ['0 0 29 2 *', '2026-01-01T00:00', ['2028-02-29T00:00']],
    ['5,50 23,0 * * *', '2026-01-05T00:10', ['2026-01-05T00:50', '2026-01-05T23:05', '2026-01-05T23:50']],
  ])('%s in UTC, after %s', (expression, after, expected) => {
    expect(moments(expression, 'UTC', `${after}Z`, expected.length)).toEqual(expected)
  })

  it.each([
    ['0 4 * * *', 'Asia/Kathmandu', '2026-01-05T00:00', ['2026-01-05T22:15', '2026-01-06T22:15']],
    ['0 4 * * 1', 'Pacific/Auckland', '2026-01-01T00:00', ['2026-01-04T15:00', '2026-01-11T15:00']],
    ['0 4 * * *', 'Europe/Berlin', '2026-03-28T00:00', ['2026-03-28T03:00', '2026-03-29T02:00']],
  ])('%s in %s is read by its clocks, after %s', (expression, zone, after, expected) => {
    expect(moments(expression, zone, `${after}Z`, expected.length)).toEqual(expected)
  })

  it('has a moment that the clocks skip as much later', () => {
    expect(moments('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2)).toEqual([
      ...['2026-03-29T01:30', '2026-03-30T00:30'],
    ])
  })

  it('has moments of an hour that comes twice both times', () => {
    expect(moments('*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 5)).toEqual([
      ...['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-26T01:00'],
    ])
  })

  it.each([
    ['* * * * *', 60_000],
    ['*/5 * * * *', 300_000],
    ['0,10 * * * *', 50 * 60_000],
    ['0 4 * * *', day],
    ['0 4,16 * * *', 12 * hour],
    ['0 4,10 * * *', 18 * hour],
    ['0 4 * * 1-5', 3 * day],
    ['0 4 * * 1', 7 * day],
    ['0 0 1 * *', 31 * day],
    ['0 0 31 * *', 61 * day],
  ])('%s leaves a pause of %d ms at most', (expression, pause) => {
    expect(new Cron(expression).longestPause).toBe(pause)
  })

  it.each([
    ['0 4 * * *', 25 * hour],
    ['*/5 * * * *', 300_000],
  ])('%s leaves a pause that the clocks may lengthen where they change', (expression, pause) => {
    expect(new Cron(expression, 'Europe/Berlin').longestPause).toBe(pause)
  })

  it('is never longer without a moment than it says, through a year of changing clocks', () => {
    for (const expression of ['30 2 * * *', '15 0,1,4 * * *']) {
      for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe']) {
        const cron = new Cron(expression, zone)
        for (let at = Date.UTC(2026, 0, 1), next = 0; at < Date.UTC(2027, 0, 1); at = next) {
          next = cron.next(at)
          expect(next - at).toBeGreaterThan(0)
          expect(next - at).toBeLessThanOrEqual(cron.longestPause)
        }
      }
    }
  })

  it('is another one in another zone, and written as itself', () => {
    const cron = new Cron('0 4 * * *')
    expect(cron.in('UTC')).toBe(cron)
    expect(JSON.stringify(cron.in('Asia/Tokyo'))).toBe('{"expression":"0 4 * * *","timeZone":"Asia/Tokyo"}')
    expect(`${cron}`).toBe('0 4 * * *')
  })
})
