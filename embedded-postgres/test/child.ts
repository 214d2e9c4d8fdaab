// A process of its own that starts the embedded Postgres of argv[2], says how as one JSON line, and then waits
// to be killed or, when its standard input ends, stops it.
import { once } from 'node:events'
import { systemClock } from '../../src/clock/system.ts'
import { type EmbeddedOptions, startEmbedded } from '../src/start.ts'

const [, , dataDir = '', whenOwned] = process.argv

async function main(): Promise<void> {
  const options: EmbeddedOptions = {
    dataDir,
    clock: systemClock,
    durability: 'test',
    whenOwned: whenOwned === 'join' ? 'join' : 'refuse',
  }
  try {
    const { origin, pid, url, stop } = await startEmbedded(options)
    process.stdout.write(`${JSON.stringify({ origin, pid, url })}\n`)
    await once(process.stdin.resume(), 'end')
    await stop()
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
  }
}

await main()
