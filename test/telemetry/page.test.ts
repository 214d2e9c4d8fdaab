import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { statusPage } from '../../src/telemetry/status.ts'

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
