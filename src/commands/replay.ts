import type pg from 'pg'
import { systemClock } from '../clock/system.ts'
import type { AppConfig, Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { StoreUnavailable } from '../engine/ports.ts'
import { writeJson } from '../postgres/encode.ts'
import { mostKeys } from '../postgres/replay/compare.ts'
import { openReplay, type Replay, usualLimits } from '../postgres/replay.ts'
import { streams } from '../streams/index.ts'
import type { Reject } from '../streams/page.ts'
import { countOf, countText } from '../telemetry/wording.ts'
import { CommandError } from './cli/exit.ts'
import { appOf, type ReportOptions } from './cli/options.ts'
import { leftLine, openScreen, printLines, textTable } from './cli/output.ts'
import { engineSettings } from './engine-settings.ts'
import { DeadLetterReplay, type DeadLetterReport } from './replay/dead-letters.ts'
import { nameOfPart } from './replay/letter-reader.ts'
import { rebuildWith, type Volume } from './replay/rebuild.ts'
import { type LoopResult, replayRooms } from './replay/rooms.ts'
import { withDatabase } from './wiring/database.ts'

interface ReplayOptions extends ReportOptions {
  readonly app?: string
  readonly room?: string | undefined
  readonly write?: boolean
  /** Tries the dead letters again and rebuilds what they change. */
  readonly deadLetters?: boolean
}

/** Rebuilds the derived tables from what is kept raw and tells or applies the difference. Throws when one is left. */
export async function replay(options: ReplayOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const apps = options.app === undefined ? config.apps : [appOf(config, options.app)]
  const poolSize = options.deadLetters ? 2 : 1
  await withDatabase(config, { isPrepared: true, poolSize }, async pool => {
    const session = await openReplay(pool, {
      streams: Object.values(streams),
      clock: systemClock,
    }).catch(explain)
    try {
      if (options.deadLetters) await tryDeadLetters(pool, session, config, apps, options)
      else tell(await run(session, config, apps, options), options)
    } finally {
      session.close()
    }
  })
}

const MAY_NOT = '42501'

function explain(error: unknown): never {
  if (!(error instanceof StoreUnavailable) || error.code !== MAY_NOT) throw error
  throw new CommandError(
    'the role of database.role may not make temporary tables; grant it: grant temporary on database ... to penstock_runtime',
  )
}

async function run(
  session: Replay,
  config: Config,
  apps: readonly AppConfig[],
  { room, write }: Pick<ReplayOptions, 'room' | 'write'>,
  onReject?: (reject: Reject) => void,
): Promise<ReplayReport> {
  const volume = { events: 0, items: 0 }
  const onRead = ({ events, items }: Volume) => {
    volume.events += events
    volume.items += items
  }
  const ids = apps.map(({ id }) => id)
  const progress = await progressOf(session, ids)
  const mode = write ? 'write' : 'compare'
  const result = await replayRooms(session, {
    ...{ apps: ids, room, mode, clock: systemClock, onProgress: progress.show },
    rebuild: rebuildWith(Object.values(streams), engineSettings(config).reading, onRead, onReject),
  }).finally(progress.end)
  if (room !== undefined && result.rooms === 0) {
    throw new CommandError(`nothing is stored of room ${room} of app ${ids.join(', ')}`)
  }
  const { rooms, tally } = result
  const busy = { rooms: result.busy.length, keys: result.busy.slice(0, mostKeys) }
  return { mode, rooms, ...volume, differences: tally.rows(), tables: tally.tables(), busy }
}

/** Tries the dead letters again, then rebuilds what they change. */
async function tryDeadLetters(
  pool: pg.Pool,
  session: Replay,
  config: Config,
  apps: readonly AppConfig[],
  { room, json }: ReplayOptions,
): Promise<void> {
  let rebuilt: ReplayReport | undefined
  const rebuildAll = async () => {
    const unread = new Set<string>()
    const onReject = (reject: Reject) => unread.add(nameOfPart(reject))
    rebuilt = await run(session, config, apps, { room, write: true }, onReject)
    return rebuilt.busy.rooms > 0 ? undefined : unread
  }
  const ids = apps.map(({ id }) => id)
  const letters = await new DeadLetterReplay(pool, config).run(ids, room, rebuildAll)
  if (json) printLines([writeJson({ ok: !rebuilt?.busy.rooms, letters, rebuilt: rebuilt ?? null })])
  else printLines([...deadLetterLines(letters), ...(rebuilt ? replayLines(rebuilt) : [])])
  if (rebuilt) refuseBusy(rebuilt)
}

/** A line for people on standard error while it goes on; on anything but a terminal there is none. */
async function progressOf(session: Replay, apps: readonly string[]) {
  const screen = openScreen('json')
  const all = await session.rooms(apps)
  const began = systemClock.monotonic()
  let shown = began
  return {
    show: (rooms: number) => {
      const now = systemClock.monotonic()
      if (now - shown < screen.every) return
      shown = now
      screen.progress(leftLine(Math.max(0, all - rooms), all, now - began, left => countOf(left, 'room')))
    },
    end: () => screen.say(''),
  }
}

function tell(report: ReplayReport, { json }: ReplayOptions): void {
  const { mode, differences, busy } = report
  const isRight = busy.rooms === 0 && (mode === 'write' || differences === 0)
  printLines(json ? [writeJson({ ok: isRight, ...report })] : replayLines(report))
  refuseBusy(report)
  if (!isRight) throw new CommandError('stored rows are not what the raw rows say')
}

function refuseBusy({ busy }: ReplayReport): void {
  if (busy.rooms === 0) return
  const seconds = usualLimits.total / 1_000
  throw new CommandError(
    `${countText(busy.rooms)} rooms are as they were: others wrote to them all the time, or they take longer than ${seconds} s to change; run it again`,
  )
}

interface ReplayReport extends Volume {
  readonly rooms: number
  /** Rooms that differ and could not be changed; of many the first. */
  readonly busy: { readonly rooms: number; readonly keys: LoopResult['busy'] }
  readonly mode: 'compare' | 'write'
  /** Rows that differ, or that were changed. */
  readonly differences: number
  readonly tables: ReturnType<LoopResult['tally']['tables']>
}

/** The report for people. */
function replayLines(report: ReplayReport): readonly string[] {
  const { rooms, events, items, tables, differences, mode } = report
  const read = `${countText(rooms)} rooms were rebuilt from ${countText(events)} events and ${countText(items)} items of quizzes and polls`
  if (differences === 0) return [read, mode === 'write' ? 'nothing had to be changed' : 'nothing differs']
  const header = ['table', 'missing', 'extra', 'different', 'in columns']
  const rows = tables.map(({ table, missing, extra, different, columns }) => [
    ...[table, missing || null, extra || null, different || null],
    Object.entries(columns)
      .sort(([, a], [, b]) => b - a)
      .map(([column, count]) => `${column} ${countText(count)}`)
      .join(', ') || null,
  ])
  const end =
    mode === 'write'
      ? `${rowsText(differences)} changed: what was missing is there, what was extra is gone`
      : `${rowsText(differences)} not what the raw rows say; --write makes them so`
  return [read, '', ...textTable(header, rows), '', end]
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row is' : `${countText(rows)} rows are`
}

/** What became of dead letters, for people. */
function deadLetterLines({ stored, read, asked, unread, gone }: DeadLetterReport): readonly string[] {
  const lines = [
    [stored, 'read now, stored and closed'],
    [read, 'closed: what they are about has been read otherwise'],
    [asked, 'not whole: asked for again; run this once more when the daemon has read it'],
    [unread, 'stay: they still cannot be read'],
    [gone, 'stay: they are not whole, and what they are about cannot be had any more'],
  ] as const
  const told = lines.filter(([count]) => count > 0)
  if (told.length === 0) return ['there are no dead letters']
  return ['dead letters:', ...textTable(['letters', ''], told)]
}
