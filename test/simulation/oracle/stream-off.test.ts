import { expect, it } from 'vitest'
import { examineStreamOff } from './stream-off.ts'

const minute = 60_000
const switchedOff = [{ app: 'a', stream: 'poll', from: 10 * minute, to: 30 * minute }]
const analytics = [
  ...['calls', 'call-sessions', 'call-metrics', 'usage-insight', 'quality-insight'],
  ...['realtime-usage', 'realtime-quality'],
]
const unheld = analytics.map(stream => ({ key: `a ${stream}`, off: 1_000, on: null }))
const poll = { key: 'a poll', off: 10 * minute + 500, on: 30 * minute + 500 }

interface Said {
  readonly told?: readonly object[]
  readonly judged?: readonly object[]
  readonly end?: number
}

/** What is found of an app whose plan holds classrooms alone. */
async function judge({ told = [...unheld, poll], judged = [], end = 60 * minute }: Said = {}) {
  const rows = async (sql: string) => {
    if (sql.includes('ingest.stream_off')) return told
    return sql.includes('ingest.app') ? [{ app: 'a' }] : judged
  }
  const apps = [{ id: 'a', plan: 'starter', regions: ['eu'] }]
  const examination = { ...{ rows, apps, switchedOff, end, start: 0, isInterrupted: false } }
  return (await examineStreamOff(examination as never)).map(({ text }) => text)
}

it('what the plan does not hold is off, and what somebody switched off for a while', async () => {
  expect(await judge()).toEqual([])
  expect(await judge({ told: unheld, end: 10 * minute })).toEqual([])
})

it.each([
  ['nobody wrote it down', unheld, 'a poll has 0 rows'],
  ['it is off still', [...unheld, { ...poll, on: null }], 'a poll until null'],
  ['it was off before', [...unheld, { ...poll, off: minute }], 'a poll since 60000'],
  ['another was off too', [...unheld, poll, { ...poll, key: 'a recordings' }], 'a recordings was never off'],
])('where %s that is found', async (_, told, text) => {
  expect((await judge({ told })).join('; ')).toContain(text)
})

it('a class that began meanwhile is not judged by it', async () => {
  const class_ = { app: 'a', stream: 'poll', place: 'r 1' }
  expect(await judge({ judged: [{ ...class_, at: 5 * minute }] })).toEqual([])
  expect(await judge({ judged: [{ ...class_, at: 20 * minute }] })).toEqual([
    'a r 1 poll: judged, and was off when the class began',
  ])
})
