import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createStatus, statusPage } from '../../src/telemetry/status.ts'
import { handClock } from './hand-clock.ts'

function setUp(read: () => Promise<object>) {
  const clock = handClock()
  const warnings: object[] = []
  const quiet = () => {}
  const log = {
    ...{ debug: quiet, info: quiet, error: quiet },
    warn: (_: string, fields = {}) => void warnings.push(fields),
  }
  return { clock, warnings, status: createStatus({ clock, log, own: () => ({ shards: 4 }), read }) }
}

test('many who ask are told of one reading, and those who ask within two seconds of the same', async () => {
  let readings = 0
  const { status, clock } = setUp(async () => ({ reading: ++readings }))
  const answers = await Promise.all(Array.from({ length: 40 }, () => status()))
  expect(answers).toEqual(Array(40).fill({ shards: 4, databaseAnswers: true, readSecondsAgo: 0, reading: 1 }))
  await clock.advance(1_999)
  expect(await status()).toMatchObject({ readSecondsAgo: 1, reading: 1 })
  await clock.advance(1)
  expect(await status()).toMatchObject({ readSecondsAgo: 0, reading: 2 })
})

test('a database that is away is told with what it said last, how old that is, and why in the log', async () => {
  const away = new Error('away')
  const answers = [async () => ({ rooms: 3 }), () => Promise.reject(away)]
  const { status, clock, warnings } = setUp(() => answers.shift()!())
  await status()
  await clock.advance(65_000)
  expect(await status()).toEqual({ shards: 4, databaseAnswers: false, readSecondsAgo: 65, rooms: 3 })
  expect(warnings).toEqual([{ error: away }])
})

test('a database that is slow is waited for a second, and asked by nobody else meanwhile', async () => {
  const slow = Promise.withResolvers<object>()
  let asked = 0
  const answers = [async () => ({ rooms: 3 }), () => slow.promise]
  const { status, clock } = setUp(() => answers[asked++]!())
  await status()
  await clock.advance(10_000)
  const waiting = [status(), status()]
  await clock.advance(1_000)
  const old = { databaseAnswers: false, readSecondsAgo: 11, rooms: 3 }
  expect(await Promise.all(waiting)).toMatchObject([old, old])
  slow.resolve({ rooms: 4 })
  expect(await status()).toMatchObject({ databaseAnswers: true, readSecondsAgo: 0, rooms: 4 })
  expect(asked).toBe(2)
})

test('one that has told nothing yet has no status', async () => {
  const { status } = setUp(() => Promise.reject(new Error('away')))
  await expect(status()).rejects.toThrow('not told its status yet')
})

describe('the status page', () => {
  it('makes lines of fields, tables of lists and sections of objects', () => {
    const page = statusPage({
      state: 'running',
      lagSeconds: 1_234.5,
      database: { up: true, error: null },
      streams: [
        { stream: 'room-events', lag_seconds: 2 },
        { stream: 'poll', lag_seconds: 12_345 },
      ],
      gaps: [],
      apps: ['a', 'b'],
    })
    expect(page).toContain('<dt>State</dt><dd>running</dd>')
    expect(page).toContain('<dt>Lag seconds</dt><dd>1,234.5</dd>')
    expect(page).toContain('<h2>Database</h2><dl><div><dt>Up</dt><dd>yes</dd></div>')
    expect(page).toContain('<th scope="col">Stream</th><th scope="col" class="n">Lag seconds</th>')
    expect(page).toContain('<tr><td>poll</td><td class="n">12,345</td></tr>')
    expect(page).toContain('<h2>Gaps</h2><p class="none">none</p>')
    expect(page).toContain('<tr><td>a</td></tr><tr><td>b</td></tr>')
  })

  it('shows the beginning of a long list and how much is left', () => {
    const page = statusPage({ rooms: Array.from({ length: 1_000 }, (_, i) => ({ i })) })
    expect(page.match(/<tr><td/g)).toHaveLength(200)
    expect(page).toContain('and 800 more')
  })

  it('makes no element of a name or a value, whatever it holds', () => {
    const frame = tags(statusPage({ name: 'x', list: [{ name: 'x' }], part: { name: 'x' } }))
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom('<img src=x onerror=alert(1)>', '"><script>', "'&lt;", '</style>'),
    )
    fc.assert(
      fc.property(hostile, text => {
        expect(tags(statusPage({ name: text, list: [{ name: text }], part: { name: text } }))).toEqual(frame)
      }),
    )
    expect(statusPage({ '<b>': [{ '<i>': 1 }] })).not.toMatch(/<b>|<i>/)
  })

  it('loads nothing and runs nothing', () => {
    const page = statusPage({ state: 'running' })
    expect(page).not.toMatch(/<script|src=|@import|url\(|https?:/)
  })
})

function tags(page: string): readonly string[] {
  return page.match(/<[^>]*>/g) ?? []
}
