import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { setUp } from './meter-harness.ts'

const present = spawnSync('promtool', ['--version']).status === 0
const required = process.env.REQUIRE_PROMTOOL !== undefined

it.skipIf(!present && !required)('promtool finds nothing to say about a real scrape', async () => {
  const { meter } = setUp()
  const labels = { app: 'app1', stream: 'room-events' } as const
  meter.request('app1', 'classroom', 'roomEvents', 'ok', { receivedAt: 0, elapsed: 12 })
  meter.page(labels, 'committed')
  meter.rows({ 'classroom.room_event': 1 })
  meter.commit(2)
  meter.debit('classroom')
  meter.owned(64)
  const input = await meter.scrape()
  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
    input,
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr, error }).toEqual({ status: 0, stdout: '', stderr: '', error: undefined })
})
