import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '../../../src/clock/system.ts'
import { startTestServer } from '../../support/postgres.ts'
import { type Copy, copyTree } from './copy.ts'
import { plants } from './index.ts'
import { editsOf, type Plant, PlantError } from './plant.ts'
import {
  type Baseline,
  figures,
  judge,
  type Play,
  type Played,
  rotated,
  unfit,
  type Verdict,
} from './play.ts'
import { seedsInOrder } from './seeds.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const usage = `npm run sim:mutants -- [--mutant NAME ...] [--caught K] [--seeds K] [--seed N ...] [--days D] [--jobs N] [--resume FILE] [--json]
Plants bugs in a copy of the code, one at a time, and plays seeds until the simulation finds something.
mutant: these alone, in this order. caught: so many of those that a seed is known to catch (caught.json), with that seed first; which
ones depends on the commit. seeds: so many at most for each, 20 unless told. seed: these alone. days: how long each is played. jobs: plants
at a time. resume: a record of what was played for this commit; what stands in it is not played again.
Ends with 1 where one escaped, none was played, or a seed fails without a plant too, and with 2 where nothing can be said.`

/** Seeds that catch a plant, by its name: in a run of the usual length, or of so many days. */
const caught = JSON.parse(readFileSync(new URL('caught.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number | { readonly seed: number; readonly days: string }>
>
/** Most worlds are well five minutes after the faults: what a plant broke is looked at once more after as long again, minutes. */
const patience = '5'
/** At one time: a bug that only a crowd brings to light is rare, and a crowd costs four times as much. */
const classes = '2'
/** A run that takes longer than this, ms, is stopped: it says nothing. */
const longestRun = 20 * 60_000

interface Arguments {
  readonly chosen: readonly Plant[]
  readonly seeds: readonly number[]
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
      caught: { type: 'string' },
      days: { type: 'string', default: '0.005' },
      jobs: { type: 'string', default: '1' },
      resume: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const { mutant, days, resume, json } = values
  const [most, jobs, some] = [values.seeds, values.jobs, values.caught ?? 'Infinity'].map(Number) as [
    number,
    number,
    number,
  ]
  const unknown = mutant.find(name => !plants.some(plant => plant.name === name))
  if (unknown !== undefined) throw new UsageError(`there is no plant ${unknown}`)
  if (!(most >= 1) || !(jobs >= 1) || !(some >= 1) || !(Number(days) > 0)) throw new UsageError(usage)
  const seeds = values.seed.length > 0 ? values.seed.map(Number) : seedsInOrder(most, Number(days))
  if (seeds.some(seed => !(seed > 0))) throw new UsageError(usage)
  const known = () =>
    rotated(plants, commit)
      .filter(({ name }) => name in caught)
      .slice(0, some)
  const ordered = values.caught === undefined ? plants : known()
  const chosen =
    mutant.length === 0 ? ordered : mutant.map(named => plants.find(({ name }) => name === named)!)
  return { chosen, seeds, days, jobs, resume, json }
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

/** Plays a seed in the planted copy, or in the one that is as the code is. */
function playIn(
  planted: Copy,
  well: Copy,
  { days, run }: { readonly days: string; readonly run: Run },
): Play {
  return (seed, isPlanted) => {
    const args = [
      ...['--max-semi-space-size=32', 'test/simulation/main.ts', '--seed', `${seed}`, '--days', days],
      ...['--once', '--patience', patience, '--classes', classes],
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

/** How long it is played: as long as it takes to be caught, or as long as is asked for. */
function daysFor({ name }: Plant, days: string): string {
  const known = caught[name]
  return typeof known === 'object' && Number(known.days) > Number(days) ? known.days : days
}

/** The one that is known to catch it, then the others. */
function seedsFor({ name }: Plant, seeds: readonly number[]): readonly number[] {
  const known = caught[name]
  const first = typeof known === 'object' ? known.seed : known
  return first === undefined ? seeds : [first, ...seeds.filter(seed => seed !== first)].slice(0, seeds.length)
}

async function main(): Promise<number> {
  const commit = codeName()
  const { chosen, seeds, days, jobs, resume, json } = readArguments(commit)
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
  /** By the length of the run. */
  const baselines = new Map<string, Baseline>()
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
        const length = daysFor(plant, days)
        const play = playIn(copy, well, { days: length, run })
        const baseline = baselines.get(length) ?? new Map()
        baselines.set(length, baseline)
        const ports = { play, baseline, now: systemClock.monotonic, signal }
        const verdict = await judge(plant, seedsFor(plant, seeds), ports)
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
  const failing = (await Promise.all([...baselines.values()].map(unfit))).flat()
  for (const each of failing) say(each)
  say(figures(verdicts, plants, passed()))
  const isWell = verdicts.length > 0 && verdicts.every(verdict => verdict.caught) && failing.length === 0
  return isWell ? 0 : 1
}

function line({ plant, caught: isCaught, seeds, text }: Verdict): string {
  if (isCaught) return `${plant}: caught by ${text}`
  return `${plant}: NOT CAUGHT by ${seeds} seeds${text === '' ? '' : ` (${text})`}: ${sayingOf(plant)}`
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
