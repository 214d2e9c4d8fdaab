/**
 * A rolling upgrade under load: two daemons of the former release drain while the next one's migration is applied beside
 * them to a database of many rows, is killed in the middle and goes on; then two of the next release come, both
 * versions share the projects while one process after the other is killed, and the former ones are told to end.
 *
 *   npm run upgrade-soak -- --rows 5000000 --minutes 3 [--previous REF]
 *
 * The former release is packed from a commit (that of the last release in test/postgres/released.json unless told) as it
 * would be published and kept in .penstock/previous; the next one is HEAD with one migration more. Prints one JSON object. Ends with 1 where anything was lost, drained
 * twice or beyond a limit, a shard found no owner, or the migration did not come to its end.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { shards } from '../../src/commands/engine-settings.ts'
import released from '../postgres/released.json' with { type: 'json' }
import { databaseUrl, execute } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { chooseServer } from '../support/servers.ts'
import { type DaemonProcess, startDaemonProcess } from './daemon.ts'
import { brokenRequests, debitsOfFormerOwners, missingCalls, openStage, projects } from './processes-stage.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '3' },
    previous: { type: 'string', default: Object.values(released).at(-1)!.commit },
  },
})
const [rows, minutes] = [Number(values.rows), Number(values.minutes)]
if (!(rows > 0 && minutes > 0)) throw new TypeError('--rows and --minutes are above 0')

const run = promisify(execFile)
const clone = resolve('.')
const second = 1_000
const patience = 120 * second

/** One of each form that expands, on tables that a daemon writes meanwhile and on the one with most rows. */
const migration = `
create table classroom.mood (app_id text not null, mood text, primary key (app_id));
alter table classroom.room_event add column mood text;
alter table analytics.call add column mood_weight integer default 0 not null;
create index concurrently if not exists room_event_mood on classroom.room_event (app_id, received_at, mood);
create index concurrently if not exists call_mood on analytics.call (app_id, mood_weight);
create or replace view classroom.moods as select app_id, mood from classroom.mood;`

const folder = await mkdtemp(join(tmpdir(), 'penstock-upgrade-'))
const say = (text: string) => process.stderr.write(`${text}\n`)
const previous = await install('previous', await packed(values.previous))
const next = await install('next', await packed('HEAD', migration))

const server = await chooseServer(process.env.TEST_PG || 'auto')
await execute(server.url, 'create database upgrade')
const url = databaseUrl(server.url, 'upgrade')
const stage = await openStage(url, [projects, projects, projects, projects])
await migrate(previous, stage.configs[0]!).ended
const filledSeconds = await timed(fill)
say(`${rows} rows (${filledSeconds} s)`)

const faults: string[] = []
const daemons = new Map<number, DaemonProcess>()
const start = (place: number) => {
  daemons.set(place, startDaemonProcess(stage.configs[place]!, { program: place < 2 ? previous : next }))
}
for (const place of [0, 1]) start(place)
await shared('the former release')
const watch = watchProgress()

// Killed while it makes the index, it goes on where it was.
const killed = migrate(next, stage.configs[2]!)
await until(
  async () =>
    (
      await ask(
        url,
        `select from pg_stat_activity where query like 'create index concurrently if not exists room_event_mood%'`,
      )
    ).length > 0,
  'an index that is being made',
)
killed.kill()
await killed.ended.catch(() => {})
const migratedSeconds = await timed(async () => await migrate(next, stage.configs[2]!).ended)
const pauseBesideMigration = watch.longest()
say(`migrated beside the former release (${migratedSeconds} s)`)

for (const place of [2, 3]) start(place)
await shared('both releases')
const end = systemClock.monotonic() + minutes * 60 * second
for (let place = 0; systemClock.monotonic() < end; place = (place + 1) % 4) {
  const began = systemClock.monotonic()
  await daemons.get(place)!.kill()
  start(place)
  await shared('after a kill')
  await systemClock.sleep(Math.max(0, 20 * second - (systemClock.monotonic() - began)))
}
const formerErrors = errorsOf([0, 1])
for (const place of [0, 1]) {
  await daemons.get(place)!.terminate()
  daemons.delete(place)
  await shared('the former release leaves')
}
const pauses = await watch.stop()
const nextErrors = errorsOf([2, 3])
await Promise.all([...daemons.values()].map(daemon => daemon.terminate()))

const { requests, violationsByKind } = stage.sandbox.status()
const violations = Object.fromEntries(Object.entries(violationsByKind).filter(([, each]) => each > 0))
const formerOwners = await debitsOfFormerOwners(url)
const missing = await missingCalls(url, stage)
const [shape] = await ask(
  url,
  `select (select count(*)::int from pg_index where not indisvalid) as broken_indexes,
          (select count(*)::int from ingest.migration where name = '9001-next' and applied_at is not null) as applied`,
)
process.stdout.write(
  `${JSON.stringify({
    ...{
      rows,
      filledSeconds,
      migratedSeconds,
      minutes,
      requests,
      violations,
      formerOwners,
      ...missing,
      ...shape,
    },
    longestPauseSeconds: { besideMigration: pauseBesideMigration, inAll: pauses },
    ...{ formerErrors, nextErrors, faults, broken: await brokenRequests(url, stage) },
  })}\n`,
)
await stage.close()
await server.stop()
await rm(folder, { recursive: true, force: true })
const bad = [Object.keys(violations), faults].some(list => list.length > 0)
const wrong = [
  formerOwners,
  missing.lost,
  missing.invented,
  Number(shape!.broken_indexes),
  Number(shape!.applied) - 1,
]
if (bad || wrong.some(each => each !== 0)) process.exitCode = 1

/** The package of a commit, with one migration more where one is given; made once for each commit. */
async function packed(ref: string, more?: string): Promise<string> {
  const commit = (await run('git', ['rev-parse', '--short', ref], { cwd: clone })).stdout.trim()
  const kept = join(clone, '.penstock', 'previous', `penstock-${commit}.tgz`)
  if (more === undefined && existsSync(kept)) return kept
  const tree = await mkdtemp(join(folder, 'tree-'))
  await run('bash', ['-c', `git archive ${commit} | tar -x -C ${tree}`], { cwd: clone })
  await symlink(join(clone, 'node_modules'), join(tree, 'node_modules'))
  if (more !== undefined) await writeFile(join(tree, 'migrations', '9001-next.sql'), more)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: tree,
    maxBuffer: 2 ** 24,
  })
  const [{ filename }] = JSON.parse(stdout) as [{ readonly filename: string }]
  const made = join(folder, filename)
  if (more !== undefined) return made
  await mkdir(join(clone, '.penstock', 'previous'), { recursive: true })
  await run('mv', [made, kept])
  return kept
}

/** Unpacks a package as npm would, and answers its program. */
async function install(name: string, tarball: string): Promise<string> {
  const installed = join(folder, name, 'node_modules', 'penstock')
  await mkdir(installed, { recursive: true })
  await run('tar', ['xzf', tarball, '-C', installed, '--strip-components=1'])
  await symlink(join(clone, 'node_modules'), join(installed, 'node_modules'))
  say(`${name}: ${tarball}`)
  return join(installed, 'bin', 'penstock.mjs')
}

function migrate(program: string, config: string) {
  const child = spawn(process.execPath, [program, 'migrate', 'up', '--config', config], { stdio: 'pipe' })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  child.stdout.resume()
  return {
    kill: () => child.kill('SIGKILL'),
    ended: once(child, 'exit').then(([code]) => {
      if (code !== 0) throw new Error(`migrate up: ${said}`)
    }),
  }
}

async function fill(): Promise<void> {
  const perRoom = 1_000
  await execute(
    url,
    `begin; set local session_replication_role = replica;
     insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at)
     select 'old', 'room-' || n, 1, 2, t.at, t.at + interval '1 hour', t.at, t.at + interval '1 hour'
     from generate_series(0, ${Math.ceil(rows / perRoom) - 1}) n, lateral (select ingest.clock() - interval '300 days' + n * interval '1 minute' as at) t;
     insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, version, data, received_at, at, at_source, source)
     select 'old', 'room-' || n / ${perRoom}, 1, n % ${perRoom}, 3, 1, '{"message": "hello", "fromUser": {"userName": "Ann"}}', t.at, t.at, 'event', 'log'
     from generate_series(0, ${rows - 1}) n, lateral (select ingest.clock() - interval '300 days' + n * interval '1 second' as at) t;
     commit; analyze classroom.room_event`,
  )
}

/** The longest time in which nobody moved any progress, seconds. */
function watchProgress() {
  const stopped = new AbortController()
  let [longest, seen, since] = [0, '', systemClock.monotonic()]
  async function look(): Promise<void> {
    const [row] = await ask(
      url,
      `select sum(version)::text as sum from ingest.progress where app_id <> 'old'`,
    )
    const now = systemClock.monotonic()
    longest = Math.max(longest, now - since)
    if (row!.sum === seen) return
    seen = String(row!.sum)
    since = now
  }
  async function watching(): Promise<void> {
    while (!stopped.signal.aborted) {
      await look()
      await systemClock.sleep(200, stopped.signal)
    }
  }
  const watch = watching()
  const inSeconds = () => Math.round(longest / 100) / 10
  return {
    longest: inSeconds,
    stop: async () => {
      stopped.abort()
      await watch
      return inSeconds()
    },
  }
}

/** Every process has its share. */
async function shared(when: string): Promise<void> {
  await Promise.all([...daemons.values()].map(daemon => daemon.ready))
  const most = Math.ceil(shards / daemons.size)
  await until(async () => {
    const owned = await ask(
      url,
      `select split_part(owner, '/', 2)::int as pid, count(*)::int as shards from ingest.ownership group by 1`,
    )
    const pids = [...daemons.values()].map(({ pid }) => pid)
    const shares = pids.map(pid => Number(owned.find(row => row.pid === pid)?.shards ?? 0))
    return shares.every(share => share > 0 && share <= most) && shares.reduce((a, b) => a + b) === shards
  }, `fair shares: ${when}`)
}

/** Errors that were logged, by what they say, but for verdicts. Of a machine without time some are to be expected. */
function errorsOf(places: readonly number[]): Readonly<Record<string, number>> {
  const told = places
    .flatMap(place => daemons.get(place)!.lines)
    .filter(({ level, state }) => level === 'error' && state === undefined)
  const all = Object.groupBy(told, ({ msg }) => msg)
  return Object.fromEntries(Object.entries(all).map(([msg, lines]) => [msg, lines!.length]))
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const giveUp = systemClock.monotonic() + patience
  while (!(await isSo())) {
    if (systemClock.monotonic() > giveUp) {
      faults.push(`waited in vain for ${what}`)
      return
    }
    await systemClock.sleep(50)
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = systemClock.monotonic()
  await work()
  return Math.round((systemClock.monotonic() - began) / 100) / 10
}
