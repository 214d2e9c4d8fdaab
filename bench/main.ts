/**
 * Benchmarks: `npm run bench -- NAME [--json]`. Each prints one JSON object a line; bench/README.md says what the
 * figures mean. A time depends on the machine, so what counts is the ratio taken in one run.
 */
import { parseArgs } from 'node:util'
import { admit } from './admit.ts'
import { apps, beside, idle } from './apps.ts'
import { readBodies } from './bodies.ts'
import { commits } from './commits.ts'
import { drain } from './drain.ts'
import { lag } from './lag.ts'
import { peer } from './peer.ts'
import { reads } from './reads.ts'
import { samples } from './samples.ts'
import { scale } from './scale.ts'
import { start } from './start.ts'
import { status } from './status.ts'

const benches = {
  drain,
  commits,
  lag,
  samples,
  reads,
  scale,
  status,
  bodies: readBodies,
  admit,
  start,
  peer,
  apps,
  idle,
  beside,
} as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    events: { type: 'string', default: '200000' },
    rooms: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    shares: { type: 'boolean', default: false },
    image: { type: 'boolean', default: false },
    values: { type: 'string', default: '6000000' },
    length: { type: 'string', default: '900' },
    calls: { type: 'string', default: '120000' },
    sessions: { type: 'string', default: '40' },
    measured: { type: 'string', default: '100' },
    sizes: { type: 'string', default: '100,1000' },
    processes: { type: 'string', default: '1,2,4' },
    idle: { type: 'string', default: '10s' },
    warm: { type: 'string', default: '4000' },
    admissions: { type: 'string', default: '3000' },
    apps: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
  },
})

const name = positionals[0] ?? ''
if (!(name in benches)) {
  process.stderr.write(
    `usage: npm run bench -- ${Object.keys(benches).join('|')} [--json] [--events N] [--rooms N] [--rounds N] [--shares] [--image] [--values N] [--length N] [--calls N] [--sessions N] [--measured N] [--sizes N,N] [--processes N,N] [--idle 10s] [--warm N] [--admissions N] [--apps N] [--seconds N]\n`,
  )
  process.exitCode = 2
} else {
  const say = values.json ? () => {} : (line: string) => process.stderr.write(`${line}\n`)
  const figures = await benches[name as keyof typeof benches]({
    events: Number(values.events),
    rooms: Number(values.rooms),
    rounds: Number(values.rounds),
    shares: values.shares,
    image: values.image,
    values: Number(values.values),
    length: Number(values.length),
    calls: Number(values.calls),
    sessions: Number(values.sessions),
    measured: Number(values.measured),
    sizes: values.sizes.split(',').map(Number),
    processes: values.processes.split(',').map(Number),
    idle: values.idle,
    warm: Number(values.warm),
    admissions: Number(values.admissions),
    apps: Number(values.apps),
    seconds: Number(values.seconds),
    say,
  })
  process.stdout.write(`${JSON.stringify({ bench: name, ...figures })}\n`)
}
