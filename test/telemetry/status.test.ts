import { expect, test } from 'vitest'
import type { StoreStatus } from '../../src/engine/ports.ts'
import type { ProcessStatus } from '../../src/telemetry/process-status.ts'
import { createStatus, watchVerdict } from '../../src/telemetry/status.ts'
import { handClock } from './hand-clock.ts'

const at = '2026-01-01T00:00:00.000Z'
const process: ProcessStatus = {
  ...{ owner: 'me', startedAt: '2025-12-31T00:00:00.000Z', isDraining: false, apps: ['a1'] },
  ...{ acceptedLosses: [], providers: [], reading: [], budgets: [], lossAhead: [], databaseFullSince: null },
}
const own = { version: '1', shards: 4, apps: ['a1'], process }

function store(of: Partial<StoreStatus> = {}): StoreStatus {
  return {
    ...{ now: at, streams: [], rooms: [], gaps: [], backlog: [], deadLetters: [], divergences: 0 },
    ...{ owners: [{ owner: 'me', shards: 4, expiresAt: at }], ...of },
  }
}

function setUp(read: () => Promise<StoreStatus>) {
  const clock = handClock()
  const lines: unknown[] = []
  const quiet = () => {}
  const log = {
    ...{ debug: quiet, info: (_: string, { state }: { state?: string } = {}) => void lines.push(state) },
    warn: (_: string, fields = {}) => void lines.push(fields),
    error: (_: string, { state }: { state?: string } = {}) => void lines.push(state),
  }
  return { clock, log, lines, status: createStatus({ clock, log, own: () => own, read }) }
}

test('many who ask are told of one reading, and those who ask within two seconds of the same', async () => {
  let readings = 0
  const { status, clock } = setUp(async () => store({ divergences: ++readings }))
  const answers = await Promise.all(Array.from({ length: 40 }, () => status()))
  const sentence = 'Draining normally: nothing was due yet, nothing in the backlog is at risk.'
  const verdict = { state: 'well', sentence, since: at }
  const told = { ...own, at, databaseAwaySince: null, databaseAnswers: true, readSecondsAgo: 0 }
  expect(answers).toEqual(Array(40).fill({ verdict, ...told, ...store({ divergences: 1 }) }))
  await clock.advance(1_999)
  expect(await status()).toMatchObject({ readSecondsAgo: 1, divergences: 1 })
  await clock.advance(1)
  expect(await status()).toMatchObject({ readSecondsAgo: 0, divergences: 2 })
})

test('a database that is away is told with what it said last, how old that is, and why in the log', async () => {
  const away = new Error('away')
  const answers = [
    async () => store({ divergences: 3 }),
    () => Promise.reject(away),
    () => Promise.reject(away),
  ]
  const { status, clock, lines } = setUp(() => answers.shift()!())
  await status()
  await clock.advance(65_000)
  expect(await status()).toMatchObject({
    ...{ databaseAnswers: false, databaseAwaySince: '2026-01-01T00:01:05.000Z', readSecondsAgo: 65 },
    ...{ divergences: 3, verdict: { state: 'well' } },
  })
  expect(lines).toEqual([{ error: away }])
  await clock.advance(10_000)
  const since = '2026-01-01T00:01:15.000Z'
  expect((await status()).verdict).toMatchObject({ state: 'stopped', since })
})

test('a database that is slow is waited for a second, and asked by nobody else meanwhile', async () => {
  const slow = Promise.withResolvers<StoreStatus>()
  let asked = 0
  const answers = [async () => store({ divergences: 3 }), () => slow.promise]
  const { status, clock } = setUp(() => answers[asked++]!())
  await status()
  await clock.advance(10_000)
  const waiting = [status(), status()]
  await clock.advance(1_000)
  const old = { databaseAnswers: false, readSecondsAgo: 11, divergences: 3 }
  expect(await Promise.all(waiting)).toMatchObject([old, old])
  slow.resolve(store({ divergences: 4 }))
  expect(await status()).toMatchObject({ databaseAnswers: true, readSecondsAgo: 0, divergences: 4 })
  expect(asked).toBe(2)
})

test('where the database has told nothing yet, the process tells what it sees by itself', async () => {
  const { status } = setUp(() => Promise.reject(new Error('away')))
  expect(await status()).toMatchObject({ ...own, databaseAnswers: false, readSecondsAgo: null })
})

test('the log says when the verdict changes, and once', async () => {
  let owners = store().owners
  const { status, clock, log, lines } = setUp(async () => store({ owners }))
  const told: string[] = []
  const end = new AbortController()
  const watching = watchVerdict({ clock, log, status, told: state => told.push(state), signal: end.signal })
  await clock.advance(0)
  await clock.advance(10_000)
  owners = []
  await clock.advance(10_000)
  await clock.advance(10_000)
  end.abort()
  await watching
  expect(told).toEqual(['well', 'well', 'stopped', 'stopped'])
  expect(lines).toEqual(['well', 'stopped'])
})

test('with ten thousand streams the verdict is reached every forty seconds', async () => {
  const streams = Array.from({ length: 10_000 }, (_, n) => {
    const counts = { open: 1, closed: 0, backlog: 0, lastCommit: null, oldestSeconds: null }
    return { app: `a${n}`, stream: 'calls', ...counts }
  })
  const { clock, log, status } = setUp(async () => store({ streams }))
  const end = new AbortController()
  let looks = 0
  const watching = watchVerdict({ clock, log, status, told: () => looks++, signal: end.signal })
  await clock.advance(0)
  for (let n = 0; n < 12; n++) await clock.advance(10_000)
  end.abort()
  await watching
  expect(looks).toBe(4)
})
