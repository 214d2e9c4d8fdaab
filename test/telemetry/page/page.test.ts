import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPage, pageText } from '../../../src/telemetry/page/page.ts'
import type { PageFacts } from '../../../src/telemetry/page/parts.ts'
import { handClock } from '../hand-clock.ts'
import { situations, thousandApps } from './situations.ts'

/** What a reader reads, without the program and the colours. */
function textOf(page: string): string {
  return page
    .replace(/<(style|script|noscript)>[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll(/\s+/g, ' ')
}

describe('the page', () => {
  it.each([
    ['healthy', 'Well', 'Draining normally: last read 2 s ago, nothing in the backlog is at risk.'],
    ['starting', 'Starting', 'Starting: the apps are being taken over.'],
    ['provider-away', 'Stopped', 'The provider cannot be reached since 05:43 UTC; app-events 104 s behind;'],
    ['database-away', 'Stopped', 'The database does not answer since 05:30 UTC'],
    [
      'losing',
      'Losing data',
      'Data was lost within the last 24 hours: 3 ranges of realtime-usage (not read in time)',
    ],
    ['one-app-behind', 'Behind', 'room-events of app 2c3d4e is 12 min late'],
  ] as const)('says of %s first that it is %s, and why', (name, word, sentence) => {
    const page = pageText(situations[name])
    const text = textOf(page)
    expect(text).toContain(sentence)
    expect(text.indexOf(word)).toBeLessThan(text.indexOf(sentence))
    expect(text.indexOf(sentence)).toBeLessThan(300)
    expect(page).toContain(`<title>${word} - Penstock</title>`)
  })

  it('tells in words what a ribbon shows', () => {
    const page = pageText(situations.losing)
    const ribbon = /aria-label="app-events, the last 24 hours: ([^"]+)"/.exec(page)?.[1]
    expect(ribbon?.replaceAll('&#61;', '=')).toBe('complete 89 %, being read 1 %, lost 10 %')
  })

  it('says what is missing with its deadline, the reason in words, and what is gone for ever', () => {
    const text = textOf(pageText(situations.losing))
    expect(text).toContain(
      'room-events skipped between neighbours of a log 1 range can be had until 06:09 UTC',
    )
    expect(text).toContain('realtime-usage not read in time 3 ranges lost, 3 within 24 hours')
    expect(text).toContain('poll wrong type 4 letters')
  })

  it('shows budgets with the pace at which they are spent', () => {
    expect(textOf(pageText(situations.healthy))).toContain(
      'call-details 62 % used spent at 1.4 times an even pace over the day',
    )
  })

  it('shows the last hour while nothing is older, and a day later', () => {
    const { status, timelines } = situations.healthy
    const begins = Date.parse(status.at) / 1_000 - 600
    const young = timelines.map(each => (each.stream.startsWith('call-') ? each : { ...each, begins }))
    expect(pageText({ ...situations.healthy, timelines: young })).toContain('app-events, the last hour:')
    expect(pageText(situations.healthy)).toContain('app-events, the last 24 hours:')
  })

  it('of a database that is away says how old its figures are', () => {
    expect(textOf(pageText(situations['database-away']))).toContain(
      'The database does not tell how it stands: gaps, rooms and backlog are as it told them 14 min ago.',
    )
  })

  it('claims nothing where the database has told nothing', () => {
    const { process, verdict, at, version } = situations.starting.status
    const untold = { process, verdict, at, version, databaseAwaySince: at, databaseAnswers: false }
    const status = { ...untold, shards: 0, apps: [], readSecondsAgo: null }
    const text = textOf(pageText({ ...situations.starting, status }))
    expect(text).toContain('What is missing Not known: the database has told nothing yet.')
    expect(text).toContain('What could not be read Not known')
  })

  it('shows one app alone where it is chosen, and says where there is none of that name', () => {
    const app = '2c3d4e'
    const page = pageText({ ...situations['one-app-behind'], app })
    expect(page).toContain('<option value="2c3d4e" selected>')
    expect(textOf(page)).toContain('36 rooms'.replace('36', '12'))
    expect(textOf(pageText({ ...situations.healthy, app: 'none' }))).toContain('There is no app none here.')
  })

  it('names the app of a row where another process drains the others', () => {
    const { status, timelines } = situations['one-app-behind']
    const [own, other] = [...new Set(timelines.map(({ app }) => app))]
    const gaps = [{ ...situations.losing.status.gaps![0]!, app: other! }]
    const text = textOf(
      pageText({ ...situations['one-app-behind'], status: { ...status, gaps, apps: [own!] } }),
    )
    expect(text).toContain('What is missing app stream why how many deadline')
    expect(text).toContain(`deadline ${other} ${gaps[0]!.stream}`)
  })

  it('of a thousand apps shows each stream once, and stays small', () => {
    const page = pageText(thousandApps)
    expect(page.match(/<h3>room-events<\/h3>/g)).toHaveLength(1)
    expect(textOf(page)).toContain('1 of 1,000 apps behind')
    expect(page.length).toBeLessThan(40_000)
  })

  it('has no number without a unit in its figures', () => {
    for (const facts of Object.values(situations)) {
      const page = pageText(facts)
      const figures = [...page.matchAll(/<(?:b|span class="big"|td class="n")>([^<]*)</g)].map(
        ([, text]) => text!,
      )
      expect(figures.filter(text => /^[\d,. ]+$/.test(text))).toEqual([])
    }
  })

  it('has one heading of the first order, and none that leaves an order out', () => {
    for (const facts of Object.values(situations)) {
      const levels = [...pageText(facts).matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
      expect(levels.filter(level => level === 1)).toHaveLength(1)
      expect(levels.filter((level, n) => level > (levels[n - 1] ?? 0) + 1)).toEqual([])
    }
  })

  it('makes no element of a name or a value, whatever it holds', () => {
    const { status } = situations.losing
    const pageOf = (text: string): string => {
      const gaps = status.gaps!.map(each => ({ ...each, stream: text, reason: text, app: text }))
      const owners = [{ ...status.owners![0]!, owner: text }]
      const verdict = { ...status.verdict, sentence: text }
      const hostile: PageFacts = {
        ...situations.losing,
        status: { ...status, verdict, gaps, owners, apps: ['a', text], version: text },
      }
      return pageText(hostile)
    }
    const tags = (page: string) => (page.match(/<[^>]*>/g) ?? []).map(tag => tag.replace(/value="[^"]*"/, ''))
    const frame = tags(pageOf('x'))
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }).filter(text => text !== 'a'),
      fc.constantFrom('<img src=x onerror=alert(1)>', '"><script>', "'&lt;", '</style>', '"onload='),
    )
    fc.assert(
      fc.property(hostile, text => void expect(tags(pageOf(text))).toEqual(frame)),
      { numRuns: 50 },
    )
  })

  it('loads nothing from elsewhere and runs nothing but its own script', async () => {
    const page = createPage({
      clock: handClock(),
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      status: async () => situations.healthy.status,
      readTimelines: async () => situations.healthy.timelines,
      streams: situations.healthy.streams,
    })
    const { body, headers } = await page(new URLSearchParams())
    expect(body.match(/<script/g)).toHaveLength(1)
    expect(body).not.toMatch(/src=|@import|url\(|https?:|style="|onclick/)
    const policy = headers!['content-security-policy']!
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self';/,
    )
    expect(policy).not.toContain('unsafe')
    expect((await page(new URLSearchParams('span=1h'))).body).toContain('room-events, the last hour:')
  })
})
