import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock/system.ts'
import { type DaemonProcess, startDaemonProcess } from '../e2e/daemon.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type App, type AppPlan, lobbyOf } from './app.ts'
import { expectedRows, expectedSeries } from './expected.ts'
import { type Provider, secrets, startProvider } from './provider.ts'
import type { Reading } from './readings.ts'
import type { Family } from './routes.ts'
import { canonical, type Database, openDatabase } from './stored.ts'
import { openRoom } from './world.ts'

/** A provider, a database, and the daemon between them. */
export interface Stage {
  readonly families: readonly Family[]
  /** The daemon's configuration. */
  readonly file: string
  readonly provider: Provider
  readonly database: Database
  readonly daemon: DaemonProcess
  close(): Promise<void>
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour

const everything: readonly Family[] = ['classroom', 'analytics', 'players']

/** A daemon that is configured for some families of operations knows nothing of the others. */
export async function openStage(
  plans: readonly AppPlan[],
  families: readonly Family[] = everything,
): Promise<Stage> {
  const clone = await cloneDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'penstock-outsider-'))
  const provider = await startProvider(plans)
  const file = join(directory, 'penstock.yaml')
  // JSON is YAML too.
  await writeFile(file, JSON.stringify(configOf(clone.url, provider, families)), { mode: 0o600 })
  const database = await openDatabase(clone.url)
  await watchChanges(database)
  const daemon = startDaemonProcess(file)
  return {
    ...{ families, file, provider, database, daemon },
    close: async () => {
      await daemon.kill()
      await database.close()
      await provider.close()
      await clone.drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const often = { activeEvery: '2s', idleEvery: '2s' }
const insight = { every: '10m', allowedLateness: '0ms' }
const pieces = {
  classroom: {
    streams: {
      'app-events': { every: '1s', idleEvery: '2s' },
      ...{ 'room-events': often, 'popup-quiz': often, poll: often, recordings: often, resources: often },
    },
    limits: { classroom: { perSecond: 200 } },
  },
  players: { streams: { 'cloud-players': { every: '5s' } }, limits: {} },
  analytics: {
    streams: {
      calls: { every: '10s', allowedLateness: '0ms' },
      'usage-insight': { ...insight, metrics: ['userCount'], granularities: ['hour', 'day'] },
      'quality-insight': { ...insight, metrics: ['networkDelay'], granularities: ['hour'] },
      'realtime-usage': { every: '20s', metrics: ['userCount'] },
      'realtime-quality': { every: '20s', metrics: ['audioFreezeRate'] },
    },
    // A day of history is enough to look at.
    limits: {
      'call-search': { availableData: '8h' },
      'usage-insight': { availableData: '3d' },
      'quality-insight': { availableData: '3d' },
    },
  },
} as const satisfies Record<Family, object>

function configOf(databaseUrl: string, { url, apps }: Provider, families: readonly Family[]): object {
  const has = (family: Family) => families.includes(family)
  return {
    database: { url: databaseUrl, poolSize: 6 },
    http: { listen: '127.0.0.1:0' },
    provider: Object.fromEntries(families.map(family => [family, { url }])),
    streams: Object.assign({}, ...families.map(family => pieces[family].streams)),
    limits: Object.assign({}, ...families.map(family => pieces[family].limits)),
    apps: [...apps.values()].map(({ plan: { id, reading, streams } }) => ({
      ...{ id, region: 'ap', plan: 'enterprise' },
      ...(has('classroom') ? { classroom: { uid: secrets.uid, token: secrets.token } } : {}),
      ...(has('analytics') || has('players') ? { rest: { key: `key-${id}`, secret: secrets.password } } : {}),
      ...(has('analytics') ? { streams: { ...streamsOf(reading), ...streams }, acceptLoss: lossy } : {}),
    })),
  }
}

/** Some of it may be asked too seldom for all that there is; that is not what is tried here. */
const lossy = ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality']

const uids = ['1000', '4294967290']

/** What the reading is about has to be asked for. */
function streamsOf(reading: Reading): object {
  const { serverUsers, perUser } = reading
  return {
    ...(serverUsers === 'asked for' ? {} : { 'call-sessions': { serverUsers: 'exclude' } }),
    ...(perUser === 'not asked for' ? {} : { 'realtime-quality': { channels: [lobbyOf(reading)], uids } }),
  }
}

/** What has ended never goes on again, and what lasts is never removed: every change that says so is written down. */
async function watchChanges({ ask }: Database): Promise<void> {
  await ask(`create table public.untrue_change (line text)`)
  await ask(`create function public.note_untrue_change() returns trigger language plpgsql security definer as $$
    begin
      insert into public.untrue_change select format('%s: %s', tg_argv[0], to_jsonb(new) ->> tg_argv[1]);
      return null;
    end $$`)
  const watch = (table: string, key: string, when: string) =>
    ask(`create trigger untrue_change after update on ${table} for each row when (${when})
      execute function public.note_untrue_change('${table}', '${key}')`)
  await watch('classroom.quiz', 'quiz_id', `old.state = 'ended' and new.state <> 'ended'`)
  await watch('classroom.poll', 'poll_id', `old.state = 'ended' and new.state <> 'ended'`)
  await watch(
    'classroom.resource',
    'resource_uuid',
    `old.removed_at is null and new.removed_at is not null and new.resource_uuid like '%-leaf'`,
  )
  await watch('analytics.call', 'call_id', 'old.finished and not new.finished')
}

/**
 * How long before the play insights must have ended, beside the provider's delay of six hours. Before the provider has
 * told the time a question keeps a quarter of an hour and some seconds from the delay (ARCHITECTURE, choices that may surprise),
 * and sixty questions a day may put off the next one until the play is over.
 */
const unsure = 16 * minute

/** What the tables lack of the truth, and what they hold besides; empty where all is well. */
async function differences({ database, families }: Stage, app: App): Promise<readonly string[]> {
  const { id, reading } = app.plan
  const found: string[] = []
  for (const [table, rows] of Object.entries(expectedRows(app, families))) {
    const wanted = rows.map(canonical)
    const stored = (await database.rows(table, id)).map(canonical)
    for (const row of minus(wanted, stored)) found.push(`${table} lacks ${row}`)
    for (const row of minus(stored, wanted)) found.push(`${table} has ${row}`)
  }
  const now = app.world.bornAt / 1000
  const told = now - unsure
  const more = reading.insight === 'and more fields'
  const moreNow = reading.realtime === 'and more fields'
  const lobby = lobbyOf(reading)
  const asked = reading.perUser === 'not asked for' ? [] : [...uids, ''].map(uid => [lobby, uid] as const)
  const series = {
    usage_hour: expectedSeries(['userCount', '', ''], more, now - 2 * day, told - 7 * hour, hour),
    usage_day: expectedSeries(['userCount', '', ''], more, now - 2 * day, told - 30 * hour, day),
    quality_hour: expectedSeries(['networkDelay', '', ''], more, now - 2 * day, told - 7 * hour, hour),
    usage_realtime: expectedSeries(['userCount', '', ''], moreNow, now - 50 * 60, now - 60, 20),
    quality_realtime: [['', ''] as const, ...asked].flatMap(([cname, uid]) =>
      expectedSeries(['audioFreezeRate', cname, uid], moreNow, now - 50 * 60, now - 60, 20),
    ),
  }
  for (const [table, rows] of Object.entries(families.includes('analytics') ? series : {})) {
    const lacking = minus(rows.map(canonical), (await database.rows(table, id)).map(canonical))
    if (lacking.length > 0)
      found.push(`${table} lacks ${lacking.length} of ${rows.length}, such as ${lacking[0]}`)
  }
  return found
}

/** What is pending, open or dead of an app though all of it could be read; empty where all is well. */
async function arrears({ database, families }: Stage, app: App): Promise<readonly string[]> {
  const rows = await database.ask<{ what: string }>(
    `select format('%s of %s is not complete', stream, room_uuid) as what
       from ingest.room_complete where app_id = $1 and complete is not true
     union all select format('%s room_complete rows', count(*)) from ingest.room_complete
       where app_id = $1 having count(*) <> $3
     union all select format('dead letter of %s %s: %s, %s', stream, series, reason, detail) from ingest.dead_letter
       where app_id = $1 and reason <> 'qps_limit'
     union all select format('gap of %s %s: %s %s %s', stream, series, reason, state, detail) from ingest.gap
       where app_id = $1 and state in ('open', 'lost') and not (stream like 'realtime%' or reason = 'expired')
     union all select format('divergence of %s %s', stream, key) from ingest.divergence
       where app_id = $1 and resolved_at is null
     union all select format('pending of %s: %s', stream, item) from ingest.work_item
       where app_id = $1 and state not in ('done', 'split')
     union all select format('%s is not complete', stream)
       from unnest(case when $4 then array['calls', 'usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] end) stream
       where not ingest.is_complete(stream, $1,
         to_timestamp($2) - (case when stream = 'calls' then '7 hours' when stream like '%insight' then '2 days'
           else '45 minutes' end)::interval,
         to_timestamp($2) - (case when stream = 'calls' then '35 minutes' when stream like '%insight' then '30 hours 16 minutes'
           else '5 minutes' end)::interval)`,
    [
      ...[app.plan.id, app.world.bornAt / 1000],
      ...[families.includes('classroom') ? 5 * app.world.rooms.length : 0, families.includes('analytics')],
    ],
  )
  return rows.map(({ what }) => what)
}

function minus(these: readonly string[], those: readonly string[]): readonly string[] {
  const left = [...those]
  return these.filter(each => {
    const place = left.indexOf(each)
    if (place >= 0) left.splice(place, 1)
    return place < 0
  })
}

/** Answers whether it came true within `patience` (ms). */
async function cameTrue(patience: number, look: () => Promise<boolean>): Promise<boolean> {
  const deadline = systemClock.monotonic() + patience
  for (;;) {
    if (await look()) return true
    if (systemClock.monotonic() > deadline) return false
    await systemClock.sleep(250)
  }
}

/** What is still amiss of each app when all was played, or when `patience` (ms) was over. */
export async function play(stage: Stage, patience: number): Promise<ReadonlyMap<string, readonly string[]>> {
  await stage.daemon.ready
  const amiss = new Map<string, readonly string[]>()
  const begun = systemClock.monotonic()
  const waiting = new Set(stage.provider.apps.values())
  await cameTrue(patience, async () => {
    for (const app of waiting) {
      const { id, reading, distort, isUnread = () => false } = app.plan
      const lacking = (await differences(stage, app)).filter(line => !isUnread(line))
      const isLate = systemClock.monotonic() > begun + patience / 2
      // Series come by themselves, however long it takes: the plan allows few questions a minute. A room that was
      // called missing is waited for when it has told something again.
      const later =
        reading.missingRoom === 'never'
          ? /^(call|session|usage|quality)/
          : new RegExp(`^(call|session|usage|quality)|${openRoom(id)}`)
      const isTold =
        reading.missingRoom === 'never' || app.wasMissing || !stage.families.includes('classroom')
      if (app.act === 0 && (isLate || (isTold && lacking.every(line => later.test(line))))) app.act = 1
      else if (app.act === 1) {
        const backlog = distort ? [] : (await arrears(stage, app)).filter(line => !isUnread(line))
        const all = [...lacking, ...backlog]
        amiss.set(app.plan.id, all)
        if (all.length === 0) waiting.delete(app)
      }
    }
    return waiting.size === 0
  })
  return amiss
}
