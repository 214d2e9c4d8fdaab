import { expect, it } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { createFaults } from './faults.ts'
import { Kernel } from './kernel.ts'
import { createTrace } from './trace.ts'
import { scheduleTrouble, type TroubleOptions } from './trouble.ts'

const minute = 60_000

it('keeps one standby at a time', async () => {
  const happened: string[] = []
  const kernel = new Kernel({
    ...{ start: 0, random: seededRandom(1), trace: createTrace() },
    faults: createFaults({ random: seededRandom(1), classes: [], isThorough: false, struck: () => {} }),
    onKill: async () => {},
  })
  // The first strikes at once and takes over after most of its time, the second comes meanwhile.
  const chances = [0, 0.99, 0.0001, 0.5, 0.999, 0.999]
  scheduleTrouble({
    ...{
      kernel,
      start: 0,
      length: 60 * minute,
      isThorough: false,
      rewound: [],
      sandbox: {},
      processes: () => [],
    },
    drawn: { spells: [], classes: ['failover'] },
    server: {
      replicate: async () => void happened.push('replicate'),
      failOver: async () => void happened.push('fail over'),
    },
    ...{ isHealing: () => false, strike: () => {}, handOver: async () => {} },
    random: () => ({ next: () => chances.shift() ?? 0.999 }),
  } as unknown as TroubleOptions)
  await kernel.runUntil(minute)
  expect(happened).toEqual(['replicate', 'fail over'])
})
