/**
 * Benchmarks: `npm run bench -- NAME [--json]`. Each prints one JSON object a line; bench/README.md says what the
 * figures mean. A time depends on the machine, so what counts is the ratio taken in one run.
 */
import { parseArgs } from 'node:util'
import { readBodies } from './bodies.ts'
import { drain } from './drain.ts'
import { status } from './status.ts'

const benches = { drain, status, bodies: readBodies } as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    events: { type: 'string', default: '200000' },
    rooms: { type: 'string', default: '2000' },
  },
})

const name = positionals[0] ?? ''
if (!(name in benches)) {
  process.stderr.write(
    `usage: npm run bench -- ${Object.keys(benches).join('|')} [--json] [--events N] [--rooms N]\n`,
  )
  process.exitCode = 2
} else {
  const say = values.json ? () => {} : (line: string) => process.stderr.write(`${line}\n`)
  const figures = await benches[name as keyof typeof benches]({
    events: Number(values.events),
    rooms: Number(values.rooms),
    say,
  })
  process.stdout.write(`${JSON.stringify({ bench: name, ...figures })}\n`)
}
