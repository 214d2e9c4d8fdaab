import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLog, type LogLevel } from '../../src/telemetry/log.ts'
import { handClock } from './hand-clock.ts'

function setUp(options: { level?: LogLevel; secrets?: readonly string[]; perMinute?: number } = {}) {
  const clock = handClock()
  const chunks: string[] = []
  const { level = 'info', secrets = [], perMinute = 1_000 } = options
  const destination = { write: (line: string) => void chunks.push(line) }
  const log = createLog({ level, clock, secrets: () => secrets, destination, perMinute })
  const records = () => chunks.map(chunk => JSON.parse(chunk) as Record<string, unknown>)
  return { log, clock, chunks, records }
}

describe('a line of the log', () => {
  it('is JSON with the time in UTC, the level, the message and the fields', () => {
    const { log, chunks } = setUp()
    log.info('page committed', { stream: 'room-events', rows: 100 })
    expect(chunks).toEqual([
      '{"level":"info","time":"2026-01-01T00:00:00.000Z","stream":"room-events","rows":100,"msg":"page committed"}\n',
    ])
  })

  it('is written from the level on that was asked for', () => {
    const { log, records } = setUp({ level: 'warn' })
    log.debug('a')
    log.info('b')
    log.warn('c')
    log.error('d')
    expect(records().map(({ msg }) => msg)).toEqual(['c', 'd'])
  })

  it('is written from another level on when someone says so', () => {
    const { log, records } = setUp()
    log.debug('a')
    log.setLevel('debug')
    log.debug('b')
    log.setLevel('error')
    log.warn('c')
    log.error('d')
    expect(records().map(({ msg }) => msg)).toEqual(['b', 'd'])
  })

  it('keeps its own names apart from fields of the same name', () => {
    const { log, records } = setUp()
    log.info('100 % static', { msg: 'other', level: 3, time: 'late' })
    expect(records()[0]).toMatchObject({
      msg: '100 % static',
      level: 'info',
      msg_: 'other',
      level_: 3,
      time_: 'late',
    })
  })

  it('is one line of printable ASCII, whatever is in a name, a value or an error', () => {
    const { log, chunks } = setUp()
    const hostile = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(hostile, hostile, (name, value) => {
        chunks.length = 0
        log.info('hostile', { [name]: value, list: [value], error: new Error(value) })
        expect(chunks).toHaveLength(1)
        expect(chunks[0]).toMatch(/^[\x20-\x7e]+\n$/)
        expect(JSON.parse(chunks[0]!)).toMatchObject({ msg: 'hostile', list: [value] })
      }),
    )
  })

  it('shows what a terminal would act on only as an escape', () => {
    const { log, chunks } = setUp()
    log.info('names', { name: 'a\u202eb\u009b31mc\u2028d\x7fe\x1b[2Jf\ng' })
    expect(chunks[0]).toContain('a\\u202eb\\u009b31mc\\u2028d\\u007fe\\u001b[2Jf\\ng')
  })

  it('is bounded, however much it is handed', () => {
    const { log, chunks, records } = setUp()
    const deep = (levels: number): object => (levels === 0 ? {} : { in: deep(levels - 1) })
    log.info('much', {
      text: 'x'.repeat(1_000_000),
      list: Array.from({ length: 10_000 }, (_, i) => i),
      bytes: new Uint8Array(5_000),
      deep: deep(1_000),
    })
    expect(chunks[0]!.length).toBeLessThan(4_000)
    expect(records()[0]).toMatchObject({
      text: `${'x'.repeat(2_048)}... (1000000 characters)`,
      bytes: '5000 bytes',
    })
  })

  it('can hold bigints, dates, missing values and numbers that JSON has no word for', () => {
    const { log, records } = setUp()
    log.info('values', { n: 2n ** 63n, at: new Date(0), none: null, gone: undefined, nan: Number.NaN })
    const { level, time, msg, ...fields } = records()[0]!
    expect([level, time, msg]).toEqual(['info', '2026-01-01T00:00:00.000Z', 'values'])
    expect(fields).toEqual({
      n: '9223372036854775808',
      at: '1970-01-01T00:00:00.000Z',
      none: null,
      nan: 'NaN',
    })
  })
})

describe('a secret', () => {
  it.each([
    'token',
    'boardToken',
    'x-svc-token',
    'client_secret',
    'Authorization',
    'dbPassword',
    'key',
    'apiKey',
    'set-cookie',
  ])('is not written under the name %s', name => {
    const { log, chunks } = setUp()
    log.info('request', { request: { [name]: 'canary' } })
    expect(chunks[0]).not.toContain('canary')
    expect(chunks[0]).toContain('[redacted]')
  })

  it.each(['app', 'monkey', 'keys', 'stream', 'nextId'])('is not seen in the name %s', name => {
    const { log, records } = setUp()
    log.info('request', { [name]: 'plain' })
    expect(records()[0]).toHaveProperty(name, 'plain')
  })

  const secret = 'cAn@ry/"s3cret" ümlaut+1'
  it.each([
    ['as it is', secret],
    ['inside a text', `see https://x/?t=${secret}&b=1`],
    ['URL-encoded', encodeURIComponent(secret)],
    ['form-encoded', new URLSearchParams({ t: secret }).toString()],
    ['as base64', Buffer.from(secret).toString('base64')],
    ['as base64 for URLs', Buffer.from(secret).toString('base64url')],
    ['as JSON inside a text', JSON.stringify({ body: secret })],
    ['across the cut of a long text', `${'x'.repeat(2_030)}${secret}`],
  ])('is not written %s', (_form, value) => {
    const { log, chunks } = setUp({ level: 'debug', secrets: [secret] })
    log.info('request', { value, [value]: 1, nested: [{ value }], error: new Error(value) })
    for (const form of [secret, 'cAn@ry', 'cAn%40ry', Buffer.from(secret).toString('base64').slice(0, 12)]) {
      expect(chunks[0]).not.toContain(form)
    }
    expect(chunks[0]).toContain('[redacted]')
  })

  it('that is a number is not written as one', () => {
    const { log, chunks } = setUp({ secrets: ['48151623'] })
    log.info('request', { code: 48_151_623, big: 9_948_151_623_999_999_999n })
    expect(chunks[0]).not.toContain('48151623')
  })

  it('that contains another goes as a whole', () => {
    const { log, records } = setUp({ secrets: ['user', 'user:password', 'password'] })
    log.info('request', { value: 'a user:password b' })
    expect(records()[0]).toMatchObject({ value: 'a [redacted] b' })
  })

  it('learnt later is filtered from then on', () => {
    const secrets: string[] = []
    const { log, records } = setUp({ secrets })
    secrets.push('rotated')
    log.info('request', { value: 'rotated' })
    expect(records()[0]).toMatchObject({ value: '[redacted]' })
  })
})

describe('an error', () => {
  it('is a name, a message and a code', () => {
    const { log, records } = setUp()
    const error = Object.assign(new TypeError('no connection'), { code: 'ECONNREFUSED', address: '10.0.0.1' })
    log.error('failed', { error })
    expect(records()[0]?.error).toEqual({ name: 'TypeError', message: 'no connection', code: 'ECONNREFUSED' })
  })

  it('tells where it was thrown only at debug', () => {
    const { log, records } = setUp({ level: 'debug' })
    log.error('failed', { error: new Error('no connection', { cause: new Error('deeper') }) })
    expect(records()[0]?.error).toMatchObject({
      stack: expect.stringContaining('log.test.ts'),
      cause: { message: 'deeper' },
    })
  })

  const row = Object.assign(new Error('invalid input syntax for type json: "canary chat"'), {
    name: 'error',
    code: '22P02',
    severity: 'ERROR',
    detail: 'Failing row contains (canary chat).',
    where: 'unnamed portal parameter $1 = canary chat',
    parameters: ['canary chat'],
    constraint: 'chat_message_pkey',
    table: 'chat_message',
  })

  it.each([[{ error: row }], [row], [{ error: new Error('commit failed', { cause: row }) }]])(
    'of Postgres never shows a row',
    fields => {
      const { log, chunks } = setUp({ level: 'debug' })
      log.error('failed', fields)
      expect(chunks[0]).not.toContain('canary')
      expect(chunks[0]).toContain('"code":"22P02"')
      expect(chunks[0]).toContain('chat_message_pkey')
    },
  )

  it('of JSON.parse never shows what was parsed', () => {
    const { log, chunks } = setUp({ level: 'debug' })
    try {
      JSON.parse('canary')
    } catch (error) {
      log.error('failed', { error })
    }
    expect(chunks[0]).toContain('SyntaxError')
    expect(chunks[0]).not.toContain('canary')
  })
})

describe('messages that repeat', () => {
  it('are counted once they are too many, and the count is told with the next message', async () => {
    const { log, clock, records } = setUp({ perMinute: 3 })
    for (let i = 0; i < 10; i++) log.warn('rate limited')
    log.info('something else')
    expect(records()).toHaveLength(4)
    await clock.advance(60_000)
    log.info('something else')
    expect(records().slice(4)).toMatchObject([
      { level: 'warn', msg: 'messages left out', message: 'rate limited', count: 7 },
      { msg: 'something else' },
    ])
    log.warn('rate limited')
    expect(records()).toHaveLength(7)
  })

  it('are told at the end of the process', () => {
    const { log, records } = setUp({ perMinute: 1 })
    log.warn('rate limited')
    log.warn('rate limited')
    log.flush()
    log.flush()
    expect(records().slice(1)).toMatchObject([{ msg: 'messages left out', count: 1 }])
    expect(records()).toHaveLength(2)
  })

  it('of ten minutes of trouble are a readable number of lines', async () => {
    const { log, clock, records } = setUp({ perMinute: 20 })
    for (let second = 0; second < 600; second++) {
      for (let i = 0; i < 50; i++) log.warn('rate limited')
      await clock.advance(1_000)
    }
    expect(records().length).toBeLessThanOrEqual(220)
  })
})
