import { afterEach, expect, it, vi } from 'vitest'
import type { ClockOffset, Transport } from '../../src/engine/ports.ts'
import { confirmedTime } from '../../src/engine/supervisor.ts'
import { runOnSchedule } from '../../src/engine/waiting.ts'
import { Cron } from '../../src/settings/cron.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { fakeLog } from './harness.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Begins on 5 January 2026, 08:00 UTC. */
function schedule(expression: string, job: (at: string) => Promise<void> = async () => {}) {
  const clock = new VirtualClock()
  const runs: string[] = []
  const said: string[] = []
  const controller = new AbortController()
  const done = runOnSchedule(
    { moments: new Cron(expression), clock, log: fakeLog(said), signal: controller.signal },
    async () => {
      const at = new Date(clock.now()).toISOString().slice(11, 19)
      runs.push(at)
      await job(at)
    },
  )
  const stop = async () => {
    controller.abort()
    await done
  }
  return { clock, runs, said, stop }
}

it.each(['UTC', 'America/New_York', 'Asia/Kathmandu'])(
  'five fields are read in UTC, also where TZ is %s',
  async tz => {
    vi.stubEnv('TZ', tz)
    const { clock, runs, stop } = schedule('*/20 9 * * *')
    await clock.advance(3 * 3_600_000)
    expect(runs).toEqual(['09:00:00', '09:20:00', '09:40:00'])
    await stop()
  },
)

it('every five minutes is twelve times an hour', async () => {
  const { clock, runs, stop } = schedule('*/5 * * * *')
  await clock.advance(3_600_000)
  expect(runs).toHaveLength(12)
  expect(runs.slice(0, 2)).toEqual(['08:05:00', '08:10:00'])
  await stop()
})

it('runs that were missed while one went on are not made up for', async () => {
  const { clock, runs, stop } = schedule('* * * * *', async at => {
    if (at === '08:01:00') await clock.sleep(10 * 60_000)
  })
  await clock.advance(13 * 60_000)
  expect(runs).toEqual(['08:01:00', '08:11:00', '08:12:00', '08:13:00'])
  await stop()
})

it('a machine that slept for two days runs the job once', async () => {
  const { clock, runs, stop } = schedule('*/5 * * * *')
  await clock.advance(60_000)
  clock.jump(2 * 86_400_000)
  await clock.advance(5 * 60_000)
  expect(runs).toHaveLength(1)
  await stop()
})

it('a clock that was ahead and is set right keeps no run waiting until it is there again', async () => {
  const { clock, runs, stop } = schedule('*/5 * * * *')
  await clock.advance(6 * 60_000)
  clock.jump(-30 * 86_400_000)
  await clock.advance(20 * 60_000)
  expect(runs).toEqual(['08:05:00', '08:10:00', '08:15:00', '08:20:00', '08:25:00'])
  await stop()
})

it('a clock that is set back a little across a moment runs the job once for it', async () => {
  const { clock, runs, stop } = schedule('*/5 * * * *')
  await clock.advance(5 * 60_000)
  clock.jump(-10_000)
  await clock.advance(60_000)
  expect(runs).toEqual(['08:05:00'])
  await stop()
})

it('a run that fails is said, and the next one runs', async () => {
  const { clock, runs, said, stop } = schedule('* * * * *', () => Promise.reject(new Error('no database')))
  await clock.advance(2 * 60_000)
  expect(runs).toHaveLength(2)
  expect(said).toEqual(Array(2).fill('housekeeping failed; the next run tries again'))
  await stop()
})

const clock = { now: () => 1_000_000, monotonic: () => 0, sleep: async () => {} }
const answered = (offsets: Readonly<Record<string, ClockOffset>>) =>
  confirmedTime(clock, { clockOffset: family => offsets[family] } as Transport)

it('is not known before the first answer', () => {
  expect(answered({})).toBeUndefined()
})

it('is the earliest that any provider may mean', () => {
  const analytics = { ahead: 50, doubt: 60 }
  expect(answered({ analytics })).toBe(999_990)
  expect(answered({ analytics, players: { ahead: -3_600_000, doubt: 1 } })).toBe(1_000_000 - 3_600_001)
})

it('is what the best known says where one that was not asked for long may mean the same', () => {
  const classroom = { ahead: 50, doubt: 60 }
  expect(answered({ classroom, players: { ahead: -200, doubt: 700_000 } })).toBe(999_990)
  // Whatever it may mean by now, it is earlier.
  expect(answered({ classroom, players: { ahead: -3_600_000, doubt: 700_000 } })).toBe(1_000_000 - 4_300_000)
})
