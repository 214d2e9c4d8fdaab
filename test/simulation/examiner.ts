import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Drawn } from './draw.ts'
import type { Hands } from './hands.ts'
import type { Kernel } from './kernel.ts'
import { examineAges, kept, readKept } from './oracle/ages.ts'
import { examineAnalytics } from './oracle/analytics.ts'
import { examineAskers } from './oracle/askers.ts'
import { examineClassroom } from './oracle/classroom.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import { examineHands } from './oracle/hands.ts'
import { examineManners } from './oracle/manners.ts'
import { examineMetrics, oldestExported, readGaps, type Scrape } from './oracle/metrics.ts'
import { examinePlayers } from './oracle/players.ts'
import type { Processes, Running } from './processes.ts'
import type { Server } from './server.ts'

const second = 1_000
const minute = 60 * second
/** The housekeeping comes by every ten minutes, and is done soon after. */
const longestRound = 12 * minute

const oracles = [
  ...[examineAnalytics, examineClassroom, examinePlayers, examineHands, examineAskers, examineManners],
]

/** What is looked at, and what somebody must know of it to judge. */
interface World {
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: Sandbox
  readonly processes: Processes
  readonly drawn: Drawn
  /** ms since the epoch */
  readonly start: number
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly rewound: NonNullable<Examination['rewound']>
  readonly hands: () => Hands | undefined
  readonly callLateness: Examination['callLateness']
}

/** Asks the oracles about a run; each finding is one sentence. */
export class Examiner {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** At the end nothing may be missing; before it all that is said must be true. */
  async examine(isEnd = true): Promise<readonly string[]> {
    const { server } = this.#world
    const examination = this.examination(isEnd)
    await server.setTime()
    const findings: Finding[] = []
    for (const examine of oracles) findings.push(...(await examine(examination)))
    const breaches = await server.rows<{ said: string }>('select said from simulated.breach limit 20')
    findings.push(...breaches.map(({ said }) => ({ kind: 'fence', text: said }) as const))
    return told(findings)
  }

  /** Everybody sleeps until half of what happened is older than it is kept, and the housekeeping comes by. */
  async age(): Promise<readonly string[]> {
    const { kernel, server, processes, drawn, start, length } = this.#world
    const before = await readKept(this.examination())
    const ended = processes.sleep()
    await kernel.runUntil(kernel.now + 2 * minute)
    await ended
    const waking = Math.ceil(length * 0.4) + kept
    await kernel.runUntil(waking)
    processes.wake()
    for (let n = 0; n < drawn.processes; n++) await processes.boot(`slot${n}`)
    await kernel.runUntil(waking + longestRound)
    await server.setTime()
    const moments = { from: start + waking, to: start + kernel.now }
    return told(await examineAges(this.examination(), before, moments))
  }

  /** What the daemons export while time stands nearly still: they ask the database for it. */
  async examineMetrics(): Promise<readonly string[]> {
    const { kernel, processes } = this.#world
    const before = await readGaps(this.examination())
    await kernel.runUntil(kernel.now + oldestExported)
    const scrapes: Scrape[] = []
    const scrape = async ({ process, daemon }: Running) => {
      const text = await daemon.scrape()
      const { name, requests = 0, arrived = [] } = process
      scrapes.push({ process: name, text, requests, arrived, now: kernel.clockOf(process).now() })
    }
    const scraped = Promise.all(processes.living().map(scrape))
    await kernel.runUntil(kernel.now + 5 * second)
    await scraped
    return told(await examineMetrics(this.examination(), scrapes, before))
  }

  examination(isEnd = true): Examination {
    const { kernel, server, sandbox, processes, drawn, start, length, rewound, callLateness } = this.#world
    const { apps, spells, classes, config, series } = drawn
    const hands = this.#world.hands()
    return {
      ...{ sandbox, rows: text => server.rows(text) as never, isEnd, faults: spells },
      ...{ start, healed: start + length, end: start + kernel.now },
      ...(hands && { hands: hands.done, byHand: hands.arrived }),
      apps: apps.map(({ id, contract }) => ({
        id,
        plan: contract,
        regions: /region: \[/.test(config) ? ['eu', 'ap'] : ['eu'],
      })),
      ...{ isShared: true, rewound, outages: server.outages },
      askers: processes.all.map(({ name, arrived = [] }) => ({ name, arrived })),
      clocks: processes.all.flatMap(({ clockSettings = [], diedAt = kernel.now }) =>
        clockSettings.map(({ from, ahead }, n) => {
          return { from: start + from, to: start + (clockSettings[n + 1]?.from ?? diedAt), ahead }
        }),
      ),
      ...(series && { series }),
      ...(callLateness !== undefined && { callLateness }),
      isCalm: classes.every(one => one === 'spells' || one === 'latency'),
      isPrompt: !classes.includes('latency') && !classes.includes('slow answer'),
      isPaused: classes.includes('stall'),
      isInterrupted: classes.some(one => one === 'kill' || one === 'stall' || one === 'hand-over'),
    }
  }
}

function told(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ kind, text }) => `${kind}: ${text}`)
}
