import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onStage, playRound, type Round, type Stage } from './drain.ts'
import { treeCpuSeconds } from './process.ts'

export interface PeerOptions {
  readonly events: number
  readonly rooms: number
  readonly rounds: number
  readonly say: (line: string) => void
}

/** What one tool took for the logs of all rooms. */
interface Taken {
  /** From its start until it is ready to ask, or has asked for the first page. */
  readonly startSeconds: number
  readonly seconds: number
  /** Of the tool alone, from then on. */
  readonly cpu: number
  readonly serverCpu: number
}

const run = promisify(execFile)
const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/**
 * The logs of all rooms (operation 9), drained by the daemon and by dlt's rest_api source in turns: the same provider, the same
 * Postgres, a database of its own each time. The daemon stores events and what they say in tables with keys and proves that
 * nothing is missing; dlt appends rows.
 */
export async function peer({ events, rooms, rounds, say }: PeerOptions) {
  say('installing dlt')
  await run('bash', [pathOf('peer/install.sh')])
  return onStage({ events, rooms, only: ['room-events'], say }, async stage => {
    const ours: Taken[] = []
    const theirs: Taken[] = []
    for (let round = 1; round <= rounds; round++) {
      ours.push(takenOf(await playRound(stage, 2 * round - 1)))
      theirs.push(await playPeer(stage, 2 * round, events))
      say(`round ${round}: ${ours.at(-1)!.seconds.toFixed(1)} s, dlt ${theirs.at(-1)!.seconds.toFixed(1)} s`)
    }
    const ratios = ours.map((own, n) => [theirs[n]!.seconds / own.seconds, own.cpu / theirs[n]!.cpu] as const)
    return {
      ...{ events, rooms, rounds },
      ...{ penstock: figuresOf(ours, events), dlt: figuresOf(theirs, events) },
      times_as_fast: middle(ratios.map(([speed]) => speed)),
      share_of_cpu: middle(ratios.map(([, cpu]) => cpu)),
    }
  })
}

function takenOf({ startSeconds, drainSeconds, daemonCpu, serverCpu }: Round): Taken {
  return { startSeconds, seconds: drainSeconds, cpu: daemonCpu, serverCpu }
}

async function playPeer({ server, fresh, provider }: Stage, round: number, events: number): Promise<Taken> {
  const url = await fresh(`round_${round}`)
  await fetch(`${provider.firstLine}/round/${round}`)
  const before = await treeCpuSeconds(server.pid)
  const { stdout } = await run(pathOf('../.penstock/peer/bin/python'), [
    ...[pathOf('peer/drain.py'), provider.firstLine, url],
  ])
  const told = JSON.parse(stdout) as Readonly<
    Record<'start_seconds' | 'seconds' | 'cpu_seconds' | 'rows', number>
  >
  if (told.rows !== events) throw new Error(`dlt stored ${told.rows} of ${events} events`)
  const serverCpu = (await treeCpuSeconds(server.pid)) - before
  return { startSeconds: told.start_seconds, seconds: told.seconds, cpu: told.cpu_seconds, serverCpu }
}

function figuresOf(rounds: readonly Taken[], events: number) {
  const million = events / 1_000_000
  return {
    start_seconds: middle(rounds.map(({ startSeconds }) => startSeconds)),
    events_per_second: middle(rounds.map(({ seconds }) => events / seconds)),
    cpu_seconds_per_million_events: middle(rounds.map(({ cpu }) => cpu / million)),
    server_cpu_seconds_per_million_events: middle(rounds.map(({ serverCpu }) => serverCpu / million)),
  }
}

function middle(values: readonly number[]): number {
  return Number(values.toSorted((a, b) => a - b)[values.length >> 1]!.toPrecision(3))
}
