import { expect, it } from 'vitest'
import { startHeartbeat } from '../../src/telemetry/event-loop.ts'
import { handClock } from './hand-clock.ts'

it('a process is alive as long as its event loop turns', async () => {
  const clock = handClock()
  const heartbeat = startHeartbeat(clock)
  for (let i = 0; i < 100; i++) await clock.advance(1_000)
  expect(heartbeat.alive()).toBe(true)
  const turned = clock.advance(15_000 + 1_000)
  expect(heartbeat.alive()).toBe(false)
  await turned
  expect(heartbeat.alive()).toBe(true)
  heartbeat.stop()
})
