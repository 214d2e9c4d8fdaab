import { systemClock } from '../clock/system.ts'
import { allowanceOf, analyticsStreamNames, groupOfStream } from '../config/allowance.ts'
import { reasonText, whyOff } from '../config/availability.ts'
import type { AnalyticsStreamName, AppConfig, Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { durationInWords } from '../planning/forecast-words.ts'
import type { Range } from '../planning/range.ts'
import { longestWindow } from '../planning/windows.ts'
import { markWanted, type Wanted } from '../postgres/backfill.ts'
import { connect, connectionProblem } from '../postgres/connect.ts'
import type { PlanLimits } from '../provider/limits.ts'
import { detailStreamNames, type StreamName, type WindowStreamName } from '../streams/stream.ts'
import { analyticsSettings } from './analytics-settings.ts'
import { cutToReach, type Outside } from './backfill/reach.ts'
import { connectOptions } from './daemon.ts'
import { openDatabase } from './database.ts'
import { CommandError, exitUsage } from './exit.ts'
import { countText } from './text-table.ts'

export interface BackfillOptions extends Range {
  readonly config: string
  readonly stream: StreamName
  readonly app: string
}

/**
 * Marks a range of time to be fetched once more; the running daemon does it, within the share of its budget that is
 * for such work. Only what the plan still serves is marked, and the rest is told. Throws when nothing can be marked.
 */
export async function backfill(options: BackfillOptions): Promise<void> {
  if (options.from >= options.to) throw new CommandError('--from must be earlier than --to', exitUsage)
  const stream = streamOfTime(options.stream)
  const config = await loadConfig(options.config, { env: process.env })
  const app = appOf(config, options.app)
  const limits = limitsOf(config, app, stream)
  const { range, outside } = cutToReach(options, limits, Math.floor(systemClock.now() / 1_000))
  for (const each of outside) say(`left out: ${outsideInWords(each, app, limits)}`)
  if (!range) throw new CommandError('nothing was marked: no part of the range can be had')
  const marked = await mark(config, { app: app.id, stream, series: null, ...range })
  const subject = `${stream} of app ${app.id}, ${rangeInWords(range)}`
  if (isOfDetails(stream)) tellDetails(subject, marked)
  else tellWindows(subject, marked, requestsFor(config, app, stream, range))
}

function streamOfTime(stream: StreamName): AnalyticsStreamName {
  const found = analyticsStreamNames.find(name => name === stream)
  if (found) return found
  throw new CommandError(`${stream} does not go by time: ${insteadOf(stream)}`, exitUsage)
}

function insteadOf(stream: StreamName): string {
  switch (stream) {
    case 'app-events':
      return 'it hands out each event once, and the stream room-events brings by itself what it missed'
    case 'cloud-players':
      return 'the daemon reads the whole list again and again, and nothing else can be had'
    default:
      return 'the daemon reads each room whole, and again where something is missing; the view ingest.room_complete tells how far it is'
  }
}

function appOf({ apps }: Config, id: string): AppConfig {
  const found = apps.find(app => app.id === id)
  if (found) return found
  const known = apps.slice(0, 5).map(app => app.id)
  const more = apps.length > known.length ? ', ...' : ''
  throw new CommandError(`the configuration has no app ${id}; it has ${known.join(', ')}${more}`, exitUsage)
}

function limitsOf(config: Config, app: AppConfig, stream: AnalyticsStreamName): PlanLimits {
  const reason = whyOff(config, app, stream)
  const limits = allowanceOf(app, groupOfStream[stream])
  if (limits && !reason && app.streams[stream] !== 'off') return limits
  const why = reason ? reasonText(reason, app) : 'the configuration says so'
  throw new CommandError(`${stream} of app ${app.id} is off: ${why}`)
}

async function mark(config: Config, wanted: Wanted): Promise<number> {
  const database = await openDatabase(config, { clock: systemClock, whenOwned: 'join' })
  const pool = connect({ ...connectOptions(config, database.url), poolSize: 1 })
  try {
    const problem = await connectionProblem(pool)
    if (problem) throw new CommandError(problem)
    return await markWanted(pool, wanted)
  } finally {
    await pool.end()
    await database.stop()
  }
}

function isOfDetails(stream: AnalyticsStreamName): stream is (typeof detailStreamNames)[number] {
  return detailStreamNames.some(name => name === stream)
}

/** Fewest requests that read a range once: calls may need more, as they come in pages. */
function requestsFor(config: Config, app: AppConfig, stream: WindowStreamName, { from, to }: Range): number {
  const { windows, limits } = analyticsSettings(config, app)
  const { span } = limits[groupOfStream[stream]]!.range!
  return windows[stream]!.series.reduce(
    (sum, { step }) => sum + Math.ceil((to - from) / Math.max(step, longestWindow({ span, step }))),
    0,
  )
}

function tellDetails(subject: string, marked: number): void {
  if (marked === 0) {
    say(`nothing to mark: ${subject}: no call that began then has been fetched, or all of it is owed already`)
    return
  }
  say(`marked: ${subject}: ${countText(marked)} requests or more`)
  say(next)
}

function tellWindows(subject: string, marked: number, requests: number): void {
  if (marked === 0) {
    throw new CommandError(
      `nothing was marked: no daemon has begun with ${subject}; it goes back as far as the plan reaches by itself`,
    )
  }
  say(`marked: ${subject}: ${countText(marked)} series, ${countText(requests)} requests or more`)
  say(next)
}

const next =
  'the running daemon sees it within a minute and fetches it within the share of its budget for such work; `penstock status` tells what is still owed'

function outsideInWords({ range, why }: Outside, { plan }: AppConfig, { reach, delay }: PlanLimits): string {
  const reason =
    why === 'gone'
      ? `cannot be had any more: the plan ${plan} reaches back ${durationInWords(reach)}`
      : `cannot be had yet: data are served after ${durationInWords(delay)}, and are then read anyway`
  return `${rangeInWords(range)} ${reason}`
}

function rangeInWords({ from, to }: Range): string {
  return `${timeInWords(from)} to ${timeInWords(to)}`
}

function timeInWords(second: number): string {
  return new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
