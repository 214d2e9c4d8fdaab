import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '../../../src/clock/system.ts'
import { startTestServer } from '../../support/postgres.ts'
import { tours } from '../tours.ts'
import { type Copy, copyTree } from './copy.ts'
import { plants } from './index.ts'
import { editsOf, type Plant, PlantError } from './plant.ts'
import {
  type Baseline,
  figures,
  judge,
  nameOf,
  type Play,
  type Played,
  rotated,
  unfit,
  type Verdict,
  type World,
} from './play.ts'
import { worldsInOrder } from './seeds.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const usage = `npm run sim:mutants -- [--mutant NAME ...] [--caught K] [--seeds K] [--seed N ...] [--tour NAME ...] [--days D] [--jobs N] [--resume FILE] [--json]
Plants bugs in a copy of the code, one at a time, and plays worlds until the simulation finds something: the tours, then small ones.
mutant: these alone, in this order. caught: so many of those that a world is known to catch (caught.json), with that world first; which
ones depends on the commit. seeds: so many worlds at most for each, 20 unless told. seed, tour: these alone. days: how long each seed is
played. jobs: plants at a time. resume: a record of what was played for this commit; what stands in it is not played again.
Ends with 1 where one escaped, none was played, or a world fails without a plant too, and with 2 where nothing can be said.`

/** Worlds that catch a plant, by its name: the number of a seed, or what else the world is. */
const caught = JSON.parse(readFileSync(new URL('caught.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number | World>
>
/** Worlds are well ten minutes after the faults, most of them after five: what a plant broke is looked at again until then, minutes. */
const patience = '10'
/** At one time: a bug that only a crowd brings to light is rare, and a crowd costs four times as much. */
const classes = '2'
/** A run that takes longer than this, ms, is stopped: it says nothing. */
const longestRun = 20 * 60_000

interface Arguments {
  readonly chosen: readonly Plant[]
  readonly worlds: readonly World[]
  readonly most: number
  readonly days: string
  readonly jobs: number
  readonly resume: string | undefined
  readonly json: boolean
}

class UsageError extends Error {}

function readArguments(commit: string): Arguments {
  const { values } = parseArgs({
    options: {
      mutant: { type: 'string', multiple: true, default: [] },
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string', multiple: true, default: [] },
      tour: { type: 'string', multiple: true, default: [] },
      caught: { type: 'string' },
      days: { type: 'string', default: '0.005' },
      jobs: { type: 'string', default: '1' },
      resume: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const { mutant, tour, days, resume, json } = values
  const [most, jobs, some] = [values.seeds, values.jobs, values.caught ?? 'Infinity'].map(Number) as [
    number,
    number,
    number,
  ]
  const unknown = mutant.find(name => !plants.some(plant => plant.name === name))
  if (unknown !== undefined) throw new UsageError(`there is no plant ${unknown}`)
  const isTold = most >= 1 && jobs >= 1 && some >= 1 && Number(days) > 0
  const seeds = values.seed.map(Number)
  const isKnown = seeds.every(seed => seed > 0) && tour.every(name => Object.hasOwn(tours, name))
  if (!isTold || !isKnown) throw new UsageError(usage)
  const worlds = worldsOf(seeds, tour) ?? worldsInOrder(most, Number(days))
  const known = () =>
    rotated(plants, commit)
      .filter(({ name }) => name in caught)
      .slice(0, some)
  const ordered = values.caught === undefined ? plants : known()
  const chosen =
    mutant.length === 0 ? ordered : mutant.map(named => plants.find(({ name }) => name === named)!)
  return { chosen, worlds, most, days, jobs, resume, json }
}

/** Each seed in each of the tours, where there are any. */
function worldsOf(seeds: readonly number[], names: readonly string[]): readonly World[] | undefined {
  if (names.length === 0) return seeds.length > 0 ? seeds.map(seed => ({ seed })) : undefined
  return names.flatMap(tour => (seeds.length > 0 ? seeds : [1]).map(seed => ({ seed, tour })))
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Runs a program of a copy to its end. */
function runIn(env: NodeJS.ProcessEnv, signal: AbortSignal, folder: string, args: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<Played>()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(longestRun)])
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = () => child.kill('SIGKILL')
  limit.addEventListener('abort', stop, { once: true })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  child.on('close', exitCode => {
    limit.removeEventListener('abort', stop)
    resolve({ exitCode, said })
  })
  return promise
}

type Run = (copy: Copy, args: readonly string[]) => Promise<Played>

/** Plays a world in the planted copy, or in the one that is as the code is. */
function playIn(
  planted: Copy,
  well: Copy,
  { days, run }: { readonly days: string; readonly run: Run },
): Play {
  return ({ seed, tour, days: own }, isPlanted) => {
    const length = tour ? ['--tour', tour] : ['--days', own ?? days, '--classes', classes]
    const args = [
      ...['--max-semi-space-size=32', 'test/simulation/main.ts', '--seed', `${seed}`, ...length],
      ...['--once', '--patience', patience],
    ]
    return run(isPlanted ? planted : well, args)
  }
}

interface Recorded extends Verdict {
  readonly commit: string
}

/** Verdicts of this very code. */
function readRecord(file: string | undefined, commit: string): readonly Verdict[] {
  if (file === undefined || !existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map(line => JSON.parse(line) as Recorded).filter(each => each.commit === commit)
}

/** Names the code that is played: the commit, and what differs from it. */
function codeName(): string {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const changes = git('diff', 'HEAD')
  const commit = git('rev-parse', 'HEAD')
  return changes === ''
    ? commit
    : `${commit}+${createHash('sha256').update(changes).digest('hex').slice(0, 8)}`
}

/** All plants fit the code, or the first that does not is told. */
function tryAll(copy: Copy): void {
  for (const plant of plants) {
    copy.plant(plant)
    copy.restore()
  }
}

/** The one that is known to catch it, then the others. */
function worldsFor({ name }: Plant, worlds: readonly World[], most: number): readonly World[] {
  const known = caught[name]
  if (known === undefined) return worlds
  const first = typeof known === 'number' ? { seed: known } : known
  const others = worlds.filter(world => nameOf(world) !== nameOf(first))
  return [first, ...others].slice(0, Math.max(most, 1))
}

async function main(): Promise<number> {
  const commit = codeName()
  const { chosen, worlds, most, days, jobs, resume, json } = readArguments(commit)
  const began = systemClock.monotonic()
  const passed = () => (systemClock.monotonic() - began) / 60_000
  const ended = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ended.abort())
  const { signal } = ended
  const record = readRecord(resume, commit).filter(({ plant }) => chosen.some(({ name }) => name === plant))
  const verdicts: Verdict[] = [...record]
  const left = chosen.filter(({ name }) => !record.some(({ plant }) => plant === name))
  if (record.length > 0) say(`${record.length} plants stand in the record of this commit`)
  const well = copyTree(root)
  const copies: Copy[] = [well]
  const baseline: Baseline = new Map()
  const server = await startTestServer()
  try {
    tryAll(well)
    const env = { ...process.env, TEST_PG: server.url, NODE_COMPILE_CACHE: join(well.folder, 'compiled') }
    // What leaves the schema as it is need not make it anew.
    const migrated = { ...env, TEST_PG_TEMPLATE: server.template }
    const played = { count: 0 }
    const work = async () => {
      const copy = copyTree(root)
      copies.push(copy)
      for (let plant = left.shift(); plant && !signal.aborted; plant = left.shift()) {
        copy.plant(plant)
        const isOfSchema = editsOf(plant).some(({ file }) => file.startsWith('migrations/'))
        const run: Run = (of, args) =>
          runIn(isOfSchema && of === copy ? env : migrated, signal, of.folder, args)
        const play = playIn(copy, well, { days, run })
        const ports = { play, baseline, now: systemClock.monotonic, signal }
        const verdict = await judge(plant, worldsFor(plant, worlds, most), ports)
        copy.restore()
        if (!verdict) return
        verdicts.push(verdict)
        played.count += 1
        if (resume !== undefined) appendFileSync(resume, `${JSON.stringify({ ...verdict, commit })}\n`)
        const rest = (passed() / played.count) * left.length
        say(
          `${verdicts.length}/${chosen.length} ${line(verdict)} (${verdict.seconds} s; about ${Math.ceil(rest)} min left)`,
        )
      }
    }
    await Promise.all(Array.from({ length: jobs }, work))
  } finally {
    ended.abort()
    await server.stop()
    for (const copy of copies) copy.remove()
  }
  if (json) process.stdout.write(`${JSON.stringify({ commit, minutes: passed(), verdicts })}\n`)
  const failing = await unfit(baseline)
  for (const each of failing) say(each)
  say(figures(verdicts, plants, passed()))
  const isWell = verdicts.length > 0 && verdicts.every(verdict => verdict.caught) && failing.length === 0
  return isWell ? 0 : 1
}

function line({ plant, caught: isCaught, worlds, text }: Verdict): string {
  if (isCaught) return `${plant}: caught by ${text}`
  return `${plant}: NOT CAUGHT by ${worlds} worlds${text === '' ? '' : ` (${text})`}: ${sayingOf(plant)}`
}

function sayingOf(name: string): string {
  const plant = plants.find(each => each.name === name)!
  return `${plant.says}, in ${editsOf(plant)[0]!.file}`
}

try {
  process.exitCode = await main()
} catch (error) {
  const isTold = error instanceof UsageError || error instanceof PlantError
  say(isTold ? error.message : String(error instanceof Error ? error.stack : error))
  process.exitCode = 2
}
