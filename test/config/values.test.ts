// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the references that are tested
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nearest } from '../../src/config/suggest.ts'
import { substitute } from '../../src/config/syntax.ts'
import { baseUrl, listen, timeZone } from '../../src/config/values.ts'
import { isLoopback } from '../../src/provider/operation.ts'
import { cron } from '../../src/settings/cron.ts'
import { formatDuration, parseDuration } from '../../src/settings/values.ts'

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['0s', 0],
  ])('of %s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', '5', 's', '1.5s', '-1s', '1 s', '1S', '1h30m', '1w', '1e3s', '9999999999999d'])(
    'is not "%s"',
    text => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )

  it('is written so that it reads as the same', () => {
    fc.assert(fc.property(fc.nat(), ms => parseDuration(formatDuration(ms)) === ms))
  })

  it.each([
    [90_000, '90s'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
    [1_500, '1500ms'],
    [0, '0ms'],
  ])('of %d ms is written in the largest unit that fits', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})

describe('a reference to the environment', () => {
  const env = { NAME: 'value', EMPTY: '', OTHER: '${NAME}' }

  it.each([
    ['${NAME}', 'value'],
    ['a ${NAME} and ${NAME}', 'a value and value'],
    ['${UNSET:-fallback}', 'fallback'],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${EMPTY}', ''],
    ['${UNSET:-}', ''],
    ['${UNSET:-a:-b}', 'a:-b'],
    ['${NAME:-fallback}', 'value'],
    ['$${NAME}', '${NAME}'],
    ['$$${NAME}', '$${NAME}'],
    ['$NAME costs $5', '$NAME costs $5'],
    ['${OTHER}', '${NAME}'],
  ])('%s becomes %s', (text, expected) => {
    expect(substitute(text, env)).toMatchObject({ ok: true, text: expected })
  })

  it.each(['${}', '${1A}', '${NAME', '${NAME-x}', '${NAME:?x}', '${A:-${B}}', '${ NAME }'])(
    'cannot be %s',
    text => {
      expect(substitute(text, env)).toEqual({
        ok: false,
        problem: expect.stringContaining('must be followed by NAME}'),
      })
    },
  )

  it('leaves every text without a dollar sign as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const plain = text.replaceAll('$', '')
        expect(substitute(plain, env)).toEqual({ ok: true, text: plain, variables: [] })
      }),
    )
  })
})

describe('the word that was meant', () => {
  const words = ['tokenHeader', 'uidHeader', 'widgetPath', 'poll', 'popup-quiz']

  it.each([
    ['tokenheader', 'tokenHeader'],
    ['token_header', 'tokenHeader'],
    ['tokneHeader', 'tokenHeader'],
    ['popupquiz', 'popup-quiz'],
    ['pol', 'poll'],
    ['widgetPaths', 'widgetPath'],
  ])('by %s is %s', (written, meant) => {
    expect(nearest(written, words)).toBe(meant)
  })

  it.each(['', 'retries', 'x', 'pool of words'])('by "%s" is none of these', written => {
    expect(nearest(written, words)).toBeUndefined()
  })
})

describe('a value', () => {
  it.each(['* * * * *', '*/5 * * * *', '0,30 8-17/2 1 1-12 0-7', '59 23 31 12 7'])(
    '"%s" is a schedule',
    text => {
      expect(cron().safeParse(text).success).toBe(true)
    },
  )

  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* * 0 * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1/5 * * * *',
    ', * * * *',
    '0 0 30 2 *',
  ])('"%s" is no schedule', text => {
    expect(cron().safeParse(text).success).toBe(false)
  })

  it.each([
    ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::]:80', { host: '::', port: 80 }],
  ])('%s is an address to listen on', (text, expected) => {
    expect(listen().parse(text)).toEqual(expected)
  })

  it.each([
    ['https://a.example/', 'https://a.example'],
    ['https://a.example/base/', 'https://a.example/base'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ])('%s is the base address %s', (text, expected) => {
    expect(baseUrl().parse(text)).toBe(expected)
  })

  it.each([
    'a.example',
    '//a.example',
    'https://',
    'https://a?b',
    'https://a#b',
    'https://u@a',
    'file:///etc/passwd',
  ])('%s is no base address', text => {
    expect(baseUrl().safeParse(text).success).toBe(false)
  })

  it.each([
    ['localhost', true],
    ['127.9.9.9', true],
    ['[::1]', true],
    ['127.0.0.1.example.com', false],
    ['localhost.example.com', false],
    ['0.0.0.0', false],
    ['10.0.0.1', false],
  ])('%s being this machine itself is %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected)
  })
})

describe('a time zone', () => {
  it.each(['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Argentina/Buenos_Aires'])('may be %s', text => {
    expect(timeZone().safeParse(text).data).toBe(text)
  })

  it.each(['', '+05:45', 'Berlin', 'Europe/Berlin ', 'Mars/Olympus', '5'])('may not be "%s"', text => {
    expect(timeZone().safeParse(text).success).toBe(false)
  })
})
