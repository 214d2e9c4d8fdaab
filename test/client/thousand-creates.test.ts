import { expect, test } from 'vitest'
import { createSandbox, demoApp } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { createClient } from '../../src/client/client.ts'
import { CallError } from '../../src/client/errors.ts'
import type { Created } from '../../src/client/types.ts'
import { clientApps } from '../../src/commands/wiring/client.ts'
import { readConfig } from '../../src/config/load.ts'
import { createPlainQueue } from '../../src/engine/admission/queue.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { outcomeOf } from './harness.ts'
import { memoryLedger, sandboxTransport } from './sandbox-transport.ts'
import { MemoryIntents } from './world.ts'

const creates = 1_000
/** Callers at the same time. */
const callers = 25
/** Limits are a project's, wherever its players are made. */
const regions = ['ap', 'eu', 'na', 'cn'] as const

test('1,000 Creates in four regions that meet 504 before and after acting make 1,000 players, one for each intent', {
  timeout: 300_000,
}, async () => {
  const clock = new VirtualClock()
  const random = seededRandom('creates')
  const sandbox = createSandbox({
    ...{ clock, seed: 'creates', profile: { kind: 'idle', rooms: 1 } },
    switches: { playerQuota: 2 * creates, playerFailRate: 0, playerList: 'thin' },
    faults: [
      { kind: 'status', status: 504, operation: 'createPlayer', rate: 0.25 },
      { kind: 'status-after-acting', status: 504, operation: 'createPlayer', rate: 0.25 },
      { kind: 'lost-response', operation: 'createPlayer', rate: 0.1 },
      { kind: 'reset', operation: 'createPlayer', rate: 0.1 },
      { kind: 'status', status: 503, operation: 'listPlayers', rate: 0.1 },
    ],
  })
  const { id, uid, token, plan, rest } = demoApp
  const url = 'https://192.0.2.1'
  const settings = {
    provider: { classroom: { url }, players: { url } },
    apps: [{ id, region: ['ap', 'eu'], plan, classroom: { uid, token }, rest }],
  }
  const config = await readConfig(JSON.stringify(settings), { name: 'config', env: {}, folder: '/' })
  const ledger = memoryLedger(clock)
  const fence = { shard: 0, owner: 'test', epoch: 1 }
  const notes: string[] = []
  const client = createClient({
    ...{
      clock,
      random,
      ledger,
      intents: new MemoryIntents(clock),
      queue: createPlainQueue(),
      deadline: 30_000,
    },
    transport: sandboxTransport(sandbox, { clock, random, rest }),
    fences: { acquire: async () => ({ fence, giveBack: async () => {} }) },
    apps: clientApps(config),
    tell: ({ text }) => void notes.push(text),
    release: async () => {},
  })

  const { players } = client.app(id)
  const made: Created[] = []
  let next = 0
  const caller = async () => {
    while (next < creates) {
      const number = next++
      const name = `intent-${number}`
      const wanted = {
        name,
        channelName: `class-${number % 40}`,
        uid: number + 1,
        streamUrl: 'rtmp://media.example.com/live',
        region: regions[number % regions.length]!,
      }
      made.push(await untilKnown(() => players.createPlayer(wanted, { timeout: 3_600_000 })))
    }
  }
  await outcomeOf(clock, Promise.all(Array.from({ length: callers }, caller)))

  const truth = sandbox.players(id)
  expect(truth).toHaveLength(creates)
  const byName = new Map(truth.map(player => [player.name, player.id]))
  expect(byName.size).toBe(creates)
  expect(made.map(({ name, player }) => [name, player.id])).toEqual(
    made.map(({ name }) => [name, byName.get(name)]),
  )
  expect(made.filter(({ adopted }) => adopted).length).toBeGreaterThan(creates / 4)
  expect(notes.length).toBeGreaterThan(creates / 2)
  expect(sandbox.status().violationsByKind).toEqual(
    Object.fromEntries(Object.keys(sandbox.status().violationsByKind).map(kind => [kind, 0])),
  )
})

/** A caller that does what the error says: calls again with the same name. */
async function untilKnown(create: () => Promise<Created>): Promise<Created> {
  for (;;) {
    try {
      return await create()
    } catch (error) {
      if (!(error instanceof CallError) || error.kind !== 'unsettled') throw error
    }
  }
}
