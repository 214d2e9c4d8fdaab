import { describe, expect, it } from 'vitest'
import { measure } from '../../src/engine/poll-page.ts'
import type { CommitResult, Meter } from '../../src/engine/ports.ts'
import type { QualityRealtimeRow } from '../../src/tables/analytics.ts'
import { appOf, createHarness, fence, settingsOf } from './harness.ts'

const quality = [{ value: 1 }] as unknown as readonly QualityRealtimeRow[]

/** Everything that the meter is told of a page with one item, by the name of the figure. */
function told(
  stored: CommitResult,
  items: readonly unknown[] = [1],
  ignored = 0,
): readonly (readonly [string, unknown[]])[] {
  const calls: [string, unknown[]][] = []
  const meter = new Proxy({} as Meter, {
    get:
      (_, figure) =>
      (...parts: unknown[]) =>
        void calls.push([String(figure), parts]),
  })
  const app = appOf('a1', [])
  const context = {
    ...createHarness([]),
    ...({ app, settings: settingsOf([app]), fence, purpose: 'live', meter } as const),
    ...{ signal: new AbortController().signal, admission: undefined as never },
  }
  measure(
    context,
    'realtime-quality',
    items.length === 0,
    { rows: {}, rejects: [], ignored, quality },
    stored,
  )
  return calls
}

const labels = { app: 'a1', stream: 'realtime-quality' }

describe('a page', () => {
  it('that is stored counts with its rows, its values and what was set aside', () => {
    const stored = { outcome: 'committed', version: 2, stored: { table: 3 }, diverged: 1 } as const
    expect(told({ ...stored, deadLetters: { wrong_type: 4 } })).toEqual([
      ['page', [labels, 'committed']],
      ['rows', [{ table: 3 }]],
      ['divergences', [labels, 1]],
      ['deadLetters', [labels, 'wrong_type', 4]],
      ['quality', ['a1', quality]],
    ])
    expect(told({ ...stored, deadLetters: {} }, [1], 3)).toContainEqual(['ignored', [labels, 3]])
    expect(told({ ...stored, deadLetters: {} }, [])[0]).toEqual(['page', [labels, 'empty']])
  })

  it.each(['stale', 'fenced', 'unverified'] as const)(
    'that is %s counts as that, and nothing of it does',
    outcome => {
      expect(told({ outcome })).toEqual([['page', [labels, outcome]]])
    },
  )

  it('that contradicts what is stored, and waits for that, counts as a contradiction', () => {
    expect(told({ outcome: 'unverified', diverged: 2 })).toEqual([
      ['page', [labels, 'unverified']],
      ['divergences', [labels, 2]],
    ])
  })
})
