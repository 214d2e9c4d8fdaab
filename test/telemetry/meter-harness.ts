import { onTestFinished } from 'vitest'
import type { StoreGauges } from '../../src/engine/ports.ts'
import { type MeterOptions, PrometheusMeter } from '../../src/telemetry/metrics.ts'
import { handClock } from './hand-clock.ts'

const empty: StoreGauges = { gaps: [], rooms: [] }

export function setUp(options: Partial<MeterOptions> = {}) {
  const clock = handClock()
  const meter = new PrometheusMeter({
    clock,
    version: '0.1.0',
    apps: ['a', 'b', 'c', 'app1'],
    perApp: 200,
    streams: ['app-events', 'room-events'],
    operations: ['appEvents', 'roomEvents'],
    rejectReasons: ['missing_key'],
    storeGauges: async () => empty,
    ...options,
  })
  onTestFinished(() => meter.close())
  return { meter, clock }
}

/** The lines of a scrape that tell the values of one metric. */
export function samples(text: string, name: string): readonly string[] {
  return text.split('\n').filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}
