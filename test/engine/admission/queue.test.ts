import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPlainQueue, createQueue } from '../../../src/engine/admission/queue.ts'
import type { Purpose } from '../../../src/planning/shares.ts'

/** Work that begins when the queue lets it and ends when the test says so. */
function createWork() {
  const began: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string>>()
  return {
    began,
    job: (name: string) => () => {
      began.push(name)
      const end = Promise.withResolvers<string>()
      ends.set(name, end)
      return end.promise
    },
    end: (name: string) => ends.get(name)!.resolve(name),
    fail: (name: string) => ends.get(name)!.reject(new Error(name)),
  }
}

const queues = [
  ['requests whose rate the ledger keeps', createQueue, 'ledger'],
  ['requests that only this process counts', createQueue, 'process'],
  ['the plain queue', createPlainQueue, 'ledger'],
] as const

// Bottleneck lets what comes to it and what it begins wait for a timer each.
beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())
const settled = () => vi.advanceTimersByTimeAsync(1_000)

describe.each(queues)('the order of %s', (_, create, counted) => {
  const begin = (concurrency: number) => {
    const queue = create()
    const work = createWork()
    const run = (name: string, purpose: Purpose = 'live', group = 'g') => {
      const result = queue.run(group, { concurrency, counted }, purpose, work.job(name))
      result.catch(() => {})
      return result
    }
    return { ...work, run }
  }

  it('runs one at a time where one may run, the most urgent of those that wait first', async () => {
    const { run, began, end } = begin(1)
    run('first')
    await settled()
    run('old', 'backfill')
    run('again', 'revisit')
    run('now')
    const order = ['first', 'now', 'again', 'old']
    for (const [n, name] of order.entries()) {
      await settled()
      expect(began).toEqual(order.slice(0, n + 1))
      end(name)
    }
  })

  it('bounds how many run at once, whoever came when nothing ran included', async () => {
    const { run, began, end } = begin(2)
    for (const name of ['a', 'b', 'c', 'd']) run(name)
    await settled()
    expect(began).toEqual(['a', 'b'])
    end('b')
    await settled()
    expect(began).toEqual(['a', 'b', 'c'])
    end('a')
    await settled()
    expect(began).toEqual(['a', 'b', 'c', 'd'])
  })

  it('gives the place of what failed to the next, and each its own result', async () => {
    const { run, end, fail } = begin(1)
    const failed = expect(run('first')).rejects.toThrow('first')
    const second = expect(run('second')).resolves.toBe('second')
    await settled()
    fail('first')
    await settled()
    end('second')
    await settled()
    await Promise.all([failed, second])
  })

  it('keeps groups apart, and lets one run again after it was idle', async () => {
    const { run, began, end } = begin(1)
    run('one', 'live', 'g')
    run('other', 'live', 'h')
    await settled()
    expect(began).toEqual(['one', 'other'])
    end('one')
    end('other')
    await settled()
    run('again')
    run('last')
    await settled()
    expect(began).toEqual(['one', 'other', 'again'])
    end('again')
    await settled()
    expect(began).toEqual(['one', 'other', 'again', 'last'])
  })
})
