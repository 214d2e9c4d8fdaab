import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createTrace } from './trace.ts'

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
