import type pg from 'pg'
import { systemClock } from '../clock/system.ts'
import { streamsOn, whyOff, whyUnreachable } from '../config/availability.ts'
import type { AppConfig, Config } from '../config/config.ts'
import { allowanceOf } from '../config/limits.ts'
import { loadConfig } from '../config/load.ts'
import { createRangeRules } from '../engine/ranges/range-rules.ts'
import { durationInWords } from '../planning/forecast-format.ts'
import type { Range } from '../planning/ranges.ts'
import { frameOf, longestWindow } from '../planning/windows.ts'
import { markRoom, markWanted, readMarkedRoom, readWanted } from '../postgres/backfill.ts'
import { roomUuid } from '../provider/classroom/index.ts'
import type { PlanLimits } from '../provider/limits.ts'
import { type Streams, streams } from '../streams/index.ts'
import { isOfRooms, type StreamName } from '../streams/stream.ts'
import { countOf, countText, duration } from '../telemetry/wording.ts'
import { appSettings } from './app-settings.ts'
import { type CutRange, cutToAvailable, leadOf, type Outside } from './backfill/available.ts'
import { CommandError, exitUsage, untilToldToStop } from './cli/exit.ts'
import { appOf } from './cli/options.ts'
import { leftLine, openScreen, printLines } from './cli/output.ts'
import { withDatabase } from './wiring/database.ts'

interface BackfillOptions {
  readonly config: string
  readonly app: string
  /** The whole room; a range of a stream where it is absent. */
  readonly room?: string
  readonly stream?: StreamName
  /** Unix seconds. */
  readonly from?: number
  readonly to?: number
  /** Goes on until the running daemon has fetched it. */
  readonly watch?: boolean
}

/** Marks a room, or a range of time, to be fetched once more. */
export async function backfill(options: BackfillOptions): Promise<void> {
  const { room, stream, from, to } = options
  if (room !== undefined) return await backfillRoom({ ...options, room })
  if (stream === undefined || from === undefined || to === undefined)
    throw new CommandError('give --stream, --from and --to, or --room', exitUsage)
  await backfillRange({ ...options, stream, from, to })
}

/** The daemon must not be asked for what it would not do. */
async function backfillRoom(options: BackfillOptions & { readonly room: string }): Promise<void> {
  const parsed = roomUuid.safeParse(options.room)
  if (!parsed.success) throw new CommandError(`--room ${parsed.error.issues[0]!.message}`, exitUsage)
  const config = await loadConfig(options.config, { env: process.env })
  const app = appOf(config, options.app)
  const streams = streamsOn(config, app)
    .filter(isOfRooms)
    .map(({ name }) => name)
  if (streams.length === 0) {
    const why = whyUnreachable(config, app, 'classroom') ?? 'the configuration says so'
    throw new CommandError(`the streams of rooms of app ${app.id} are off: ${why}`)
  }
  const room = { app: app.id, room: parsed.data, streams }
  await withDatabase(config, {}, pool => markRoom(pool, room))
  printLines([`marked: room ${room.room} of app ${app.id}, ${streams.length} streams`])
  printLines(['the running daemon sees it within a minute and reads the room from its beginning'])
  if (options.watch)
    await untilFetched(
      config,
      pool => readMarkedRoom(pool, room),
      left => countOf(left, 'stream'),
    )
}

/** Draws how much is left until nothing is, or until it is told to stop; the daemon goes on all the same. */
async function untilFetched(
  config: Config,
  read: (pool: pg.Pool) => Promise<number>,
  text: (left: number) => string,
): Promise<void> {
  const ended = new AbortController()
  void untilToldToStop(ended.signal).then(() => ended.abort())
  const screen = openScreen('text')
  const begun = systemClock.monotonic()
  await withDatabase(config, {}, async pool => {
    let most = 0
    for (;;) {
      const left = await read(pool)
      most = Math.max(most, left)
      if (left === 0) break
      screen.progress(leftLine(left, most, systemClock.monotonic() - begun, text))
      await systemClock.sleep(screen.every, ended.signal)
      if (ended.signal.aborted) return
    }
    screen.say('nothing of it is left to be fetched')
  })
  ended.abort()
}

/**
 * Marks a range of time to be fetched once more; the running daemon does it, within the share of its budget that is
 * for such work. Only what the plan still serves is marked, and the rest is told. Throws when nothing can be marked.
 */
async function backfillRange(
  options: BackfillOptions & Range & { readonly stream: StreamName },
): Promise<void> {
  if (options.from >= options.to) throw new CommandError('--from must be earlier than --to', exitUsage)
  const stream = streamOfTime(options.stream)
  const config = await loadConfig(options.config, { env: process.env })
  const app = appOf(config, options.app)
  const limits = limitsOf(config, app, stream)
  const { kind, operation } = config.streams[stream]!
  const lead = leadOf(config, app, operation.limitGroup)
  const rules = createRangeRules(limits, systemClock, () => undefined)
  const parts = partsOf(config, app, stream).map(({ step, keys }): Part => {
    const { lowerBound } = frameOf(
      rules.of({ step, frame: 'needed', allowedLateness: 0 }),
      rules.now() + lead,
    )
    return { step, keys, ...cutToAvailable(options, { ...limits, step, earliest: lowerBound }, rules.now()) }
  })
  const told = parts.flatMap(part => part.outside.map(each => formatOutside(each, part, app, limits, lead)))
  for (const line of new Set(told)) printLines([`left out: ${line}`])
  const having = parts.filter(hasRange)
  if (having.length === 0) throw new CommandError('nothing was marked: no part of the range can be had')
  const marked = await mark(config, app, stream, having)
  if (kind === 'substream')
    tellDetails(`${stream} of app ${app.id}, ${formatRange(having[0]!.range)}`, marked)
  else tellWindows(`${stream} of app ${app.id}`, marked, limits)
  const { from, to } = options
  // Details of calls are counted, ranges measured: of several series each by itself.
  const text = (left: number) => (kind === 'substream' ? countOf(left, 'part') : duration(left))
  if (options.watch)
    await untilFetched(config, pool => readWanted(pool, { app: app.id, stream, from, to }), text)
}

/** Series whose values stand for the same time, and what of the range can be had of them. */
interface Part extends Series, CutRange {}

interface Series {
  readonly step: number
  /** null: all there are. */
  readonly keys: readonly (string | null)[]
}

function partsOf(config: Config, app: AppConfig, stream: StreamName): readonly Series[] {
  if (config.streams[stream]!.kind === 'substream') return [{ step: 1, keys: [null] }]
  const { series } = appSettings(config, app).windows[stream]!
  return [...Map.groupBy(series, ({ step }) => step)].map(([step, each]) => {
    return { step, keys: each.map(({ key }) => key) }
  })
}

type Available = Part & { readonly range: Range }

function hasRange(part: Part): part is Available {
  return part.range !== undefined
}

/** What does not go by time is told what happens instead. */
function streamOfTime(name: StreamName): StreamName {
  const stream = (streams as Streams)[name]!
  if (stream.kind === 'window' || stream.kind === 'substream') return name
  throw new CommandError(
    `${name} does not go by time: ${insteadOf[stream.kind === 'feed' ? 'feed' : stream.scope]}`,
    exitUsage,
  )
}

const insteadOf = {
  feed: 'it hands out each event once, and the stream room-events brings by itself what it missed',
  app: 'the daemon reads the whole list again and again, and nothing else can be had',
  room: 'the daemon reads each room whole, and again where something is missing; the view ingest.room_complete tells how far it is, and --room has one read again',
} as const

function limitsOf(config: Config, app: AppConfig, stream: StreamName): PlanLimits {
  const reason = whyOff(config, app, stream)
  const limits = allowanceOf(app, config.streams[stream]!.operation.limitGroup)
  if (limits && !reason && app.streams[stream] !== 'off') return limits
  throw new CommandError(`${stream} of app ${app.id} is off: ${reason ?? 'the configuration says so'}`)
}

/** Marks what can be had; answers how many series or items that are. */
async function mark(
  config: Config,
  app: AppConfig,
  stream: StreamName,
  parts: readonly Available[],
): Promise<readonly Marked[]> {
  return withDatabase(config, {}, async pool => {
    const marked: Marked[] = []
    for (const { keys, step, range } of parts) {
      let count = 0
      for (const series of keys) count += await markWanted(pool, { app: app.id, stream, series, ...range })
      marked.push({ step, range, count })
    }
    return marked
  })
}

/** What was marked of series whose values stand for `step` seconds each. */
interface Marked {
  readonly step: number
  readonly range: Range
  readonly count: number
}

function tellDetails(subject: string, [marked]: readonly Marked[]): void {
  if (!marked?.count) {
    printLines([
      `nothing to mark: ${subject}: no call that began then has been fetched, or all of it is in the backlog already`,
    ])
    return
  }
  printLines([`marked: ${subject}: ${countText(marked.count)} requests or more`])
  printLines([next])
}

function tellWindows(subject: string, marked: readonly Marked[], limits: PlanLimits): void {
  const some = marked.filter(({ count }) => count > 0)
  if (some.length === 0) {
    throw new CommandError(
      `nothing was marked: no daemon has begun with ${subject}; it goes back as far as the plan has data available by itself`,
    )
  }
  for (const alike of Map.groupBy(some, ({ range }) => formatRange(range)).values()) {
    const series = alike.reduce((sum, { count }) => sum + count, 0)
    const requests = alike.reduce(
      (sum, { count, step, range }) => sum + count * requestsFor(limits, step, range),
      0,
    )
    const words = `${countText(series)} series, ${countText(requests)} requests or more`
    printLines([`marked: ${subject}, ${formatRange(alike[0]!.range)}: ${words}`])
  }
  printLines([next])
}

const next =
  'the running daemon sees it within a minute and fetches it within the share of its budget for such work; `penstock status` tells what of it is still to be fetched'

function formatOutside(
  { range, why }: Outside,
  { step }: { readonly step: number },
  { plan }: { readonly plan: string },
  { availableData, dataDelay }: PlanLimits,
  lead: number,
): string {
  const whole = step > 1 ? `; its values stand for ${durationInWords(step)} and are asked for whole` : ''
  const reasons = {
    gone: `cannot be had any more: the plan ${plan} serves the last ${durationInWords(availableData)}`,
    leaving: `expires before the daemon can ask for it, in ${durationInWords(lead)} at the latest${whole}`,
    'too young': `cannot be had yet: data are served after ${durationInWords(dataDelay)}, and are then read anyway`,
  }
  return `${formatRange(range)} ${reasons[why]}`
}

function formatRange({ from, to }: Range): string {
  return `${formatTime(from)} to ${formatTime(to)}`
}

function formatTime(second: number): string {
  return new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
}

/** Fewest requests that read a range of one series once: calls may need more, as they come in pages. */
function requestsFor({ timeFrame }: PlanLimits, step: number, { from, to }: Range): number {
  return Math.ceil((to - from) / Math.max(step, longestWindow({ timeFrame, step })))
}
