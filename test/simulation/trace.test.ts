import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createTrace, firstDifferences } from './trace.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapUsed(): number {
  collect()
  return process.memoryUsage().heapUsed
}

it('a trace keeps of a long answer no more than it tells', () => {
  const trace = createTrace()
  const before = heapUsed()
  for (let n = 0; n < 100; n++) trace.add(n, 'slot0', 'select', { rows: [`${n} `.repeat(50_000)] })
  expect(heapUsed() - before).toBeLessThan(2_000_000)
  expect(trace.entries[7]).toMatch(/^7 slot0 select \["7 7 7 .{100,} [0-9a-f]{8}$/)
})

it('two traces that differ tell what was done first and what each could choose', () => {
  const [one, other] = [createTrace(), createTrace()]
  for (const trace of [one, other]) {
    trace.choose(1, ['slot0 begin', 'slot0 commit'])
    trace.add(1, 'slot0', 'begin', { rows: [] })
  }
  expect(firstDifferences(one, other)).toEqual([])
  one.choose(2, ['slot0 take', 'slot0 commit'])
  one.add(2, 'slot0', 'take', { rows: [] })
  other.choose(2, ['slot0 commit', 'slot1 begin'])
  other.add(2, 'slot0', 'commit', { rows: [] })
  expect(firstDifferences(one, other)).toEqual([
    ['2 slot0 take []', '2 slot0 commit []'],
    ['2 2 ready: slot0 take, slot0 commit', '2 2 ready: slot0 commit, slot1 begin'],
  ])
})

it('numbers of transactions, which the server counts for others too, make no difference', () => {
  const [one, other] = [createTrace(), createTrace()]
  one.add(1, 'hand', 'replay_mark', { rows: [{ mark: '41=59583' }] })
  other.add(1, 'hand', 'replay_mark', { rows: [{ mark: '41=567614' }] })
  expect(firstDifferences(one, other)).toEqual([])
})

it('where rows lie, which follows from when the server tidies up, makes no difference', () => {
  const [one, other] = [createTrace(), createTrace()]
  for (const [trace, place] of [[one, '(0,12)'] as const, [other, '(0,46)'] as const]) {
    trace.add(1, 'hand', 'select t.tableoid::regclass::text as part', { rows: [{ place }] })
    trace.add(2, 'hand', 'select t.ctid::text as place, t.user_name', { rows: [{ place }] })
  }
  expect(firstDifferences(one, other)).toEqual([])
})
