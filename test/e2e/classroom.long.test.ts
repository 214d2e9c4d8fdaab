import { describe, expect, it } from 'vitest'
import type { FaultRule } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { ask } from '../support/embedded.ts'
import { complaint, figures } from '../support/oracle/report.ts'
import { openStage, type StageOptions } from './stage.ts'

/** Under each way in which the feed may behave, with rooms used twice, which is the harder, and not. */
const kills = { on: 20, off: 8 }
/** The longest life between two kills once the daemon drains, ms of the provider's clock. */
const longestLife = 7_000
/** How long the daemon may take to have everything once the world stands still, likewise. */
const patience = 60_000
/** None but a lost answer is given up. */
const deadline = '10s'
/** Only what hangs ends here: twenty daemons take as long to start as the machine needs. */
const timeout = 1_200_000

/** So that many a kill meets a request whose answer the provider has already made, and some answers are lost. */
const slowness = [
  { kind: 'latency', operation: 'appEvents', rate: 0.4, ms: 400 },
  { kind: 'lost-response', operation: 'appEvents', rate: 0.02 },
  { kind: 'latency', operation: 'roomEvents', rate: 0.2, ms: 200 },
] as const satisfies readonly FaultRule[]

const badness = [
  { kind: 'reset', rate: 0.02 },
  { kind: 'lost-response', rate: 0.02 },
  { kind: 'truncated', rate: 0.01 },
  { kind: 'status', status: 500, rate: 0.01 },
  { kind: 'malformed', rate: 0.005 },
] as const satisfies readonly FaultRule[]

const strange = {
  ...{ unknownCmd: 0.05, nul: 0.05, loneSurrogate: 0.05, malformedRecord: 0.05, malformedData: 0.05 },
  ...{ malformedWidgetItem: 0.1, bigSequence: 0.3 },
}

const feeds = ['consuming', 'sliding-window', 'redelivering'] as const
const reuses = ['off', 'on'] as const

describe.concurrent('a daemon that is killed again and again at random moments', () => {
  for (const appFeed of feeds) {
    for (const roomReuse of reuses) {
      const name = `has the whole truth with a ${appFeed} feed and the reuse of rooms ${roomReuse}`
      it(name, { timeout }, async () => {
        const seed = `${appFeed}/${roomReuse}`
        const outcome = await drain(
          { seed, switches: { appFeed, roomReuse }, faults: slowness },
          kills[roomReuse],
        )
        expect(outcome.complaint).toBe('')
        expect(outcome.exit).toBe(0)
        expect(outcome.reused > 0).toBe(roomReuse === 'on')
        // Each question of the feed was debited before it was sent; a kill wastes one debit at most.
        expect(outcome.arrived).toBeLessThanOrEqual(outcome.debited)
        expect(outcome.debited - outcome.arrived).toBeLessThanOrEqual(kills[roomReuse])
      })
    }
  }
  it('has the whole truth where the provider answers badly and strangely besides', { timeout }, async () => {
    const seed = 'all at once'
    const switches = { appFeed: 'redelivering', roomReuse: 'on' } as const
    const outcome = await drain(
      { seed, switches, quirks: strange, faults: [...slowness, ...badness] },
      kills.on,
    )
    expect(outcome.complaint).toBe('')
    expect(outcome.exit).toBe(0)
  })
})

/** Each way in which the provider may differ, in few runs. */
const deployments: readonly StageOptions[] = [
  {
    seed: 'refused tails, holes, nested keys, numbers as nextId, stops with state 0, the feed as a list',
    switches: {
      ...{ tail: 'refused', sequence: 'holes', widgetKeys: 'nested', nextIdType: 'number' },
      ...{ recordingEndState: '0', feedShape: 'list', appFeed: 'redelivering', submitter: 'fromUser' },
    },
    provider: { submitter: 'fromUser' },
  },
  {
    seed: 'one numbering over all rooms, widgets behind the region and without numbers, one event an answer, two regions',
    switches: {
      ...{ sequenceScope: 'app', widgetPath: 'with-region', widgetItemSequence: 'absent' },
      ...{ feedShape: 'object', appFeed: 'consuming', regions: 'two' },
    },
    provider: { sequenceScope: 'app', widgetPath: 'with-region' },
    // One event an answer cannot keep up with a busy school: its rooms would be forgotten before they are heard of.
    school: { classes: 2, students: 3, eventsPerMinute: 2, lessonMinutes: 60 },
  },
  {
    seed: 'refused tails, one numbering with holes, widgets without numbers, numbers as nextId, fromUser',
    switches: {
      ...{ tail: 'refused', sequenceScope: 'app', sequence: 'holes', widgetItemSequence: 'absent' },
      ...{ nextIdType: 'number', submitter: 'fromUser', recordingEndState: '0' },
    },
    provider: { sequenceScope: 'app', submitter: 'fromUser' },
  },
]

describe.concurrent('a provider that differs in what the documents leave open', () => {
  for (const options of deployments) {
    it(`is drained whole: ${options.seed}`, { timeout }, async () => {
      const outcome = await drain(options, 0)
      expect(outcome.complaint).toBe('')
      expect(outcome.exit).toBe(0)
    })
  }
})

/** Time enough for lessons to begin and to end. */
const quietLife = 20_000

async function drain(options: StageOptions, times: number) {
  const stage = await openStage({ ...options, time: 'asked', provider: { deadline, ...options.provider } })
  const random = seededRandom(`${options.seed}/kills`)
  try {
    for (let kill = 0; kill < times; kill++) {
      const daemon = await stage.live(random.next() * longestLife)
      await daemon.kill()
    }
    const daemon = await stage.live(times === 0 ? quietLife : longestLife)
    const report = await stage.settle(patience)
    const exit = await daemon.terminate()
    process.stderr.write(`${options.seed}: ${times} kills, ${figures(report)}\n`)
    const [{ debited } = { debited: 0 }] = await ask(
      stage.databaseUrl,
      'select count(*)::int as debited from ingest.debit',
    )
    const { length: arrived } = stage.sandbox.arrivals
      .list(0, Number.POSITIVE_INFINITY)
      .filter(({ operation }) => operation === 'appEvents')
    return { complaint: complaint(report), exit, reused: report.reused, arrived, debited: Number(debited) }
  } finally {
    await stage.close()
  }
}
