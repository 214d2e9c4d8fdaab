import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { DatabaseMoment, FaultClass, Standstill } from './demands.ts'
import type { Drawn } from './draw.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Server } from './server.ts'

export interface TroubleOptions {
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: Sandbox
  readonly drawn: Drawn
  /** ms since the epoch */
  readonly start: number
  /** Virtual time with faults, ms. */
  readonly length: number
  /** Mean time between two processes that are told to end, ms. */
  readonly handOverEvery?: number | undefined
  readonly database?: readonly DatabaseMoment[] | undefined
  readonly standstills?: readonly Standstill[] | undefined
  readonly lapses?: readonly number[] | undefined
  readonly severed?: readonly Standstill[] | undefined
  /** Each class of fault is sure to strike. */
  readonly isThorough: boolean
  /** Between these moments what was stored was lost with the history of the database; it is told of more. */
  readonly rewound: { readonly from: number; readonly to: number }[]
  /** Nothing goes wrong any more. */
  readonly isHealing: () => boolean
  /** Those that live. */
  readonly processes: () => readonly Process[]
  readonly strike: (what: string) => void
  readonly handOver: (slot: string) => Promise<void>
  /** Whoever holds a shard is taken for dead. */
  readonly lapse: () => void
  /** Chance of its own for each purpose. */
  readonly random: (purpose: string) => Random
}

const second = 1_000
const minute = 60 * second

/** What befalls the provider and the machines at moments of its own. */
export function scheduleTrouble(options: TroubleOptions): void {
  const { kernel, server, sandbox, drawn, start, rewound } = options
  const arm = () => {
    const { now } = kernel
    const inForce = drawn.spells.filter(({ from, to }) => from <= now && now < to)
    sandbox.faults.set([...inForce.flatMap(({ rules }) => rules), ...drawn.unreadable])
  }
  for (const { from, to } of drawn.spells) {
    kernel.after(from, undefined, arm)
    kernel.after(to, undefined, arm)
  }
  let isStandingBy = false
  /** What is stored within `lost` ms goes with the machine that had it; then nobody is there for so long. */
  const failOver = async (lost: () => number, away: () => number, isTold = true) => {
    // There is one standby, and its turn comes first.
    if (isStandingBy) return
    isStandingBy = true
    await server.replicate()
    const from = start + kernel.now
    kernel.after(lost(), undefined, async () => {
      rewound.push({ from, to: start + kernel.now })
      await server.failOver(away(), isTold)
      isStandingBy = false
    })
  }
  for (const [at, what, ms] of options.database ?? []) {
    const act = () => {
      if (what !== 'failOver' && what !== 'putBack') return server[what](ms)
      return failOver(
        () => ms,
        () => second,
        what === 'failOver',
      )
    }
    kernel.after(at, undefined, act)
  }
  for (const [at, slot, ms] of options.standstills ?? []) {
    kernel.after(at, undefined, () => {
      const one = options.processes().find(({ name }) => name.startsWith(`${slot}.`))
      if (one) kernel.freeze(one, ms)
    })
  }
  for (const [at, slot, ms] of options.severed ?? []) {
    kernel.after(at, undefined, () => {
      const one = options.processes().find(({ name }) => name.startsWith(`${slot}.`))
      if (one) one.severedUntil = kernel.now + ms
    })
  }
  for (const at of options.lapses ?? []) kernel.after(at, undefined, options.lapse)
  nowAndThen(options, 'restart of the database', 90 * minute, random =>
    server.restart(Math.ceil(random.next() ** 2 * 40 * second)),
  )
  nowAndThen(options, 'failover', 4 * 60 * minute, random =>
    failOver(
      () => random.next() ** 2 * 20 * second,
      () => Math.ceil(random.next() * 20 * second),
    ),
  )
  nowAndThen(options, 'hand-over', options.handOverEvery ?? 60 * minute, async random => {
    const slot = `slot${Math.floor(random.next() * drawn.processes)}`
    void options.handOver(slot)
  })
  nowAndThen(options, 'clock jump', 120 * minute, async random => {
    const all = options.processes()
    const one = all[Math.floor(random.next() * all.length)]
    one?.clockSettings?.push({ from: kernel.now, ahead: Math.round((random.next() - 0.5) * 240 * second) })
  })
}

function nowAndThen(
  { kernel, drawn, length, isThorough, isHealing, strike: struck, random: randomOf }: TroubleOptions,
  what: FaultClass,
  every: number,
  act: (random: Random) => Promise<void>,
): void {
  if (!drawn.classes.includes(what)) return
  const random = randomOf(what)
  // Early enough for what it leads to.
  const first = isThorough ? (0.2 + 0.5 * random.next()) * length : undefined
  const next = (after = -Math.log(1 - random.next()) * every) => kernel.after(after, undefined, strike)
  const strike = async () => {
    if (isHealing()) return
    struck(what)
    await act(random)
    next()
  }
  next(first)
}
