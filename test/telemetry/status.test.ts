import { expect, test } from 'vitest'
import { createStatus } from '../../src/telemetry/status.ts'
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
