import { expect, it } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { createFaults } from './faults.ts'
import { Kernel } from './kernel.ts'
import { createTrace } from './trace.ts'
import { scheduleTrouble, type TroubleOptions } from './trouble.ts'

const minute = 60_000

it('has those stand still whose moment it is, and shards lapse', async () => {
  const happened: string[] = []
  const kernel = new Kernel({
    ...{ start: 0, random: seededRandom(1), trace: createTrace() },
    faults: createFaults({ random: seededRandom(1), classes: [], isThorough: false, struck: () => {} }),
    onKill: async () => {},
  })
  const processes = ['slot0.3', 'slot1.7'].map(name => ({ name, isAlive: true, frozenUntil: 0 }))
  scheduleTrouble({
    ...{ kernel, start: 0, length: minute, drawn: { spells: [], classes: [] } },
    ...{ standstills: [[1_000, 'slot1', 500]], lapses: [2_000], processes: () => processes },
    lapse: () => void happened.push('lapse'),
  } as unknown as TroubleOptions)
  await kernel.runUntil(minute)
  expect(processes.map(({ frozenUntil }) => frozenUntil)).toEqual([0, 1_500])
  expect(happened).toEqual(['lapse'])
})

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
