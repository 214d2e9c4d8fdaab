import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destroyEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import { startChild } from './process.ts'

export interface StartOptions {
  readonly rounds: number
  readonly say: (line: string) => void
}

/** Between two looks at the metrics, ms. */
const glanceMs = 10

/**
 * From an installed clone to the first row: `penstock run` with an embedded Postgres in a folder that is empty, against a
 * provider that is there; then the same with the folder as the first left it. Beside them an empty program of Node.
 */
export async function start({ rounds, say }: StartOptions) {
  const provider = await startChild(['bench/canned.ts', '10', '100', '0'])
  const firsts: number[] = []
  const agains: number[] = []
  const empties: number[] = []
  try {
    for (let round = 1; round <= rounds; round++) {
      const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
      try {
        firsts.push(await untilFirstRow(folder, provider.firstLine, `${round}-empty`))
        agains.push(await untilFirstRow(folder, provider.firstLine, `${round}-again`))
      } finally {
        await destroyEmbedded(join(folder, 'data'), systemClock)
        await rm(folder, { recursive: true, force: true })
      }
      const began = performance.now()
      await (await startChild(['-e', 'console.log("up")'])).stop()
      empties.push(performance.now() - began)
      say(`round ${round}: ${firsts.at(-1)!.toFixed(0)} ms`)
    }
  } finally {
    await provider.stop()
  }
  return {
    rounds,
    first_row_seconds: spread(firsts),
    again_seconds: spread(agains),
    empty_node_seconds: spread(empties),
  }
}

/** ms from starting the process until its metrics count a row. */
async function untilFirstRow(folder: string, provider: string, round: string): Promise<number> {
  await fetch(`${provider}/round/${round}`)
  const port = await freePort()
  const config = join(folder, 'penstock.yaml')
  await writeFile(config, configText(folder, provider, port), { mode: 0o600 })
  const began = performance.now()
  const daemon = await startChild(['bin/penstock.mjs', 'run', '--config', config])
  try {
    while (!(await countsRows(port))) {
      if (!daemon.alive()) throw new Error('the daemon ended before it stored anything')
      await systemClock.sleep(glanceMs)
    }
    return performance.now() - began
  } finally {
    await daemon.stop()
  }
}

async function countsRows(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined)
  const text = (await answer?.text()) ?? ''
  return /^penstock_rows_total\{.*\} [1-9]/m.test(text)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { readonly port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

function configText(folder: string, provider: string, port: number): string {
  return `database: { url: embedded, dataDir: "${join(folder, 'data')}" }
http: { listen: "127.0.0.1:${port}" }
log: { level: warn }
provider: { classroom: { url: "${provider}" } }
apps: [{ id: demo, region: ap, plan: premium, classroom: { uid: penstock, token: demo-token } }]
`
}

/** The middle one, the least and the most, in seconds. */
function spread(times: readonly number[]): readonly number[] {
  const sorted = times.map(time => Number((time / 1_000).toFixed(2))).sort((a, b) => a - b)
  return [sorted[sorted.length >> 1]!, sorted[0]!, sorted.at(-1)!]
}
