import { describe, expect, it } from 'vitest'
import { createStoreHealth } from '../../src/engine/health.ts'
import { fakeLog, second } from './harness.ts'

const fault = { code: '53100', statement: 'commit_room_events', timeout: undefined }

function setUp() {
  const said: string[] = []
  let at = 0
  const health = createStoreHealth(
    { clock: { monotonic: () => at }, log: fakeLog(said), meter: { storeFailed: () => {} } },
    () => {},
  )
  /** A page finds no room; then a renewal of ownership is answered, and something smaller is stored. */
  const failHalf = () => {
    health.failed(fault)
    health.answered()
    health.worked()
  }
  const pass = (ms: number) => {
    at += ms
  }
  return { health, said, failHalf, pass }
}

describe('a database that takes some pages and others not', () => {
  it('is left alone for longer and longer', () => {
    const { health, failHalf, pass } = setUp()
    const waits: number[] = []
    for (let n = 0; n < 6; n++) {
      failHalf()
      waits.push(health.pause(0))
      pass(health.pause(0))
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 3_000, 3_000])
  })

  it('is told of once a minute, and is available again when nothing failed for a while', () => {
    const { health, said, failHalf, pass } = setUp()
    for (let n = 0; n < 200; n++) {
      failHalf()
      pass(second)
    }
    expect(said).toHaveLength(4)
    expect(new Set(said)).toEqual(new Set(['the database is not available; nothing is asked until it is']))
    health.worked()
    expect(said).toHaveLength(4)
    pass(10 * second)
    health.worked()
    health.worked()
    expect(said.slice(4)).toEqual(['the database is available again'])
  })

  it('that was well in between begins with short waits, and is told of at once', () => {
    const { health, said, failHalf, pass } = setUp()
    for (let n = 0; n < 5; n++) failHalf()
    pass(10 * second)
    health.worked()
    failHalf()
    expect(health.pause(0)).toBe(250)
    expect(said.filter(line => line.startsWith('the database is not available'))).toHaveLength(2)
  })
})
