import { Findings, say } from './asked.ts'
import { type Book, booksOf, type Entry, entryAt } from './book.ts'
import { insightLateness, insightRound } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { isSurelyStored } from './insights.ts'
import { evenRound, margins, owedFrom, secondsOfLessons } from './margins.ts'
import { longestOpen, openMinutes } from './open.ts'
import type { Series } from './promised.ts'
import { howFarOff } from './switched-off.ts'

/** A row of the gap ledger, Unix seconds. */
export interface Gap {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly state: string
  readonly written: number
  readonly changed: number
}

export function gapsOf({ rows }: Examination, streams: string): Promise<readonly Gap[]> {
  return rows<Gap>(
    `select app_id as app, stream, series, extract(epoch from range_from)::float8 as from,
            extract(epoch from range_to)::float8 as to, reason, state,
            extract(epoch from first_seen_at)::float8 as written, extract(epoch from updated_at)::float8 as changed
     from ingest.gap where stream ~ '${streams}' and state <> 'repaired' order by id`,
  )
}

/**
 * Of everything of which one value is promised for each time: each is stored, or may still be had, or stands in the gap
 * ledger for what happened to it, from when it could no longer be had on, and nothing else does.
 */
export async function examineGaps(examination: Examination): Promise<readonly Finding[]> {
  const found = new Findings()
  const gaps = Map.groupBy(await gapsOf(examination, '^(usage-insight|quality-insight|realtime-)'), gap => {
    return `${gap.app} ${gap.stream} ${gap.series}`
  })
  for (const book of await booksOf(examination)) {
    const { series } = book
    const name = `${series.app} ${series.stream} ${series.key}`
    judge(examination, found, { book, name, gaps: gaps.get(name) ?? [] })
    gaps.delete(name)
  }
  const isOfUsers = (name: string) => name.split('/').length > 3
  for (const [name, rows] of gaps)
    if (!isOfUsers(name)) found.add('gap', name, `of nothing that is asked: ${tell(rows[0]!)}`)
  return found.list()
}

interface Ledger {
  readonly book: Book
  readonly name: string
  readonly gaps: readonly Gap[]
}

function judge(examination: Examination, found: Findings, { book, name, gaps }: Ledger): void {
  const { series } = book
  const { step, allowance, cname } = series
  const told = new Map<number, Gap>()
  for (const gap of gaps) {
    // Nobody asks once more about a channel that was left.
    const isPastHelp = gap.reason === 'unreadable' || gap.reason === 'too_large'
    if (cname === '' && !isPastHelp && !isTimely(gap, step, allowance.availableData))
      found.add('gap', name, `too early: ${tell(gap)}`)
    if (isPastHelp && isSpanned(examination, series, gap))
      found.add('gap', name, `asked about with others all the same: ${tell(gap)}`)
    if (gap.from + step < firstHad(examination, allowance.availableData))
      found.add('gap', name, `before anything could be had: ${tell(gap)}`)
    if (gap.from % step !== 0 || gap.to % step !== 0)
      found.add('gap', name, `of no whole times: ${tell(gap)}`)
    for (let at = gap.from; at < gap.to; at += step) {
      if (told.has(at)) found.add('gap', name, `twice: ${tell(gap)}`)
      told.set(at, gap)
    }
  }
  const world = worldOf(examination, book)
  // A channel is asked about while something goes on in it, and owes nothing of the time before and after.
  const first = cname === '' ? owedFrom(examination, series) : Number.POSITIVE_INFINITY
  const times = new Set([
    ...timesFrom(first, examination.end / 1_000, step),
    ...book.entries.keys(),
    ...told.keys(),
  ])
  for (const at of times) {
    const wrong = wrongWith(world, at, entryAt(book, at), told.get(at), at >= first)
    if (wrong) found.add(wrong.kind, name, `${say(at)}: ${wrong.text}`)
  }
}

/** Unix seconds before which nothing was owed to anybody: who begins goes back as far as the reach, and no further. */
export function firstHad({ start }: Examination, reach: number): number {
  return start / 1_000 - reach - margins.unknownClock
}

/** Nothing is given up while it can be asked for. A row that was made longer was written for its first times only. */
export function isTimely({ from, to, written, changed }: Gap, step: number, reach: number): boolean {
  const leaves = (at: number) => at + reach - margins.clock
  return written >= leaves(from) && changed >= leaves(to - step)
}

function* timesFrom(first: number, end: number, step: number): Generator<number> {
  if (Number.isFinite(first)) for (let at = Math.ceil(first / step) * step; at < end; at += step) yield at
}

/** What the world made of a series. */
interface World {
  readonly examination: Examination
  readonly book: Book
  /** For how many minutes in a row a time could be asked for and was served. */
  readonly openFor: (at: number) => number
  /** And in which it could be asked for, served or not. */
  readonly askableFor: (at: number) => number
  /** So many are enough of one. */
  readonly enoughFor: (at: number) => number
  /** Until when what left the reach must have been noticed, Unix seconds. */
  readonly noticed: number
}

function worldOf(examination: Examination, book: Book): World {
  const { app, operation, step, allowance, stream } = book.series
  const start = examination.start / 1_000
  const minutes = openMinutes(examination, app, operation, allowance)
  const truth = examination.sandbox.analytics(app)
  const isOfInsights = stream.endsWith('insight')
  // What lies far back is read in windows, one after the other; what is asked for every few minutes in one.
  const windows = isOfInsights ? Math.ceil(allowance.availableData / allowance.timeFrame) + 1 : 1
  const every = isOfInsights ? 2 * insightRound : margins.realtimeRound
  const round = evenRound(examination, book.series)
  const needed = windows * round + allowance.availableData * margins.pause + every
  // Whose answer was lost on the way has its turn again when the others have had theirs.
  const lostOf = (at: number) =>
    round *
    book.series.asked.filter(({ answer, from, to }) => answer === 'none' && from <= at && at <= to).length
  // Less could be asked for than the plan says: that had to be found out, and when it was over that too.
  const lessons = secondsOfLessons(examination, book.series)
  const minuteOf = (time: number) => Math.max(0, Math.floor((time - start) / 60))
  const wasNarrow = (at: number) => {
    const span = minutes.slice(minuteOf(at - lessons), minuteOf(at) + Math.ceil(allowance.availableData / 60))
    return span.some(
      open => open && (open.availableData < allowance.availableData || open.dataDelay > allowance.dataDelay),
    )
  }
  const quarter = margins.notice / 60
  let last = minutes.length
  while (last > quarter && !minutes.slice(last - quarter, last).every(Boolean)) last -= 1
  return {
    ...{ examination, book },
    askableFor: at => longestOpen(minutes, { start, at, step, from: at }),
    openFor: at => {
      const from = truth.servedFrom(operation, at, step) + allowance.dataDelay
      return longestOpen(minutes, { start, at, step, from })
    },
    enoughFor: at => Math.ceil((needed + lostOf(at) + (wasNarrow(at) ? lessons : 0)) / 60),
    noticed: start + (last - quarter) * 60,
  }
}

type Wrong = Finding | undefined

function wrongWith(world: World, at: number, entry: Entry, gap: Gap | undefined, isOwed: boolean): Wrong {
  const { end } = world.examination
  const { app, stream, step } = world.book.series
  const off = howFarOff(world.examination, { app, stream, from: at, to: at + step })
  if (gap && off === 'wholly')
    return { kind: 'gap', text: `the stream was switched off, and it is ${tell(gap)}` }
  if (gap) return wrongGap(world, at, entry, gap)
  if (entry.isStored) return undefined
  const isRead = entry.served.some(
    asked => asked.time < end - margins.unknownClock * 1_000 && isSurelyStored(world.examination, asked),
  )
  if (isRead) return { kind: 'lost', text: 'was in an answer, and there is neither a row nor a gap' }
  if (!isOwed) return undefined
  const hasLeft = at + world.book.series.allowance.availableData < world.noticed
  if (!hasLeft) return wrongOwed(world, at, entry)
  return off === 'not' ? { kind: 'gap', text: `missing; ${tellEntry(entry)}` } : undefined
}

/** What could be had for long enough since faults stopped is not owed at the end. */
function wrongOwed(
  { examination, book, openFor, enoughFor }: World,
  at: number,
  { lackedAt, strange }: Entry,
): Wrong {
  const { isEnd, healed, end } = examination
  if (!isEnd) return undefined
  const needed = enoughFor(at) + (lackedAt + strange > 0 ? untilAskedAgain(book) : 0)
  const isLong = Math.min(openFor(at), (end - healed) / 60_000) > needed
  return isLong ? { kind: 'owed', text: `could be had for more than ${needed} minutes` } : undefined
}

/** Minutes: what an answer lacked is asked for again after times that grow. */
function untilAskedAgain({ series }: Book): number {
  return Math.ceil((series.allowance.availableData * margins.repair) / 60)
}

function wrongGap(world: World, at: number, entry: Entry, gap: Gap): Wrong {
  const { reason, state } = gap
  const { isInterrupted, healed } = world.examination
  const { series } = world.book
  const wrong = (text: string): Wrong => ({ kind: 'gap', text: `${reason}, ${state}; ${text}` })
  const said = `${reason} ${state}`
  const isServed = entry.served.some(asked => isSurelyStored(world.examination, asked))
  const lateness = isInsight(series.stream) ? insightLateness[series.stream] : 0
  const isFinal = entry.served.some(({ time }) => time / 1_000 >= at + series.step + lateness)
  const isRight =
    said === 'unconfirmed lost'
      ? (entry.isStored && !isFinal) || isOnlyStrange(entry)
      : said === 'not_served absent'
        ? // What cannot be read may be the value.
          !isServed && entry.lackedAt > 0
        : said === 'expired lost'
          ? !isServed && entry.lackedAt + entry.strange === 0 && !wasKnowable(world, at)
          : said === `${unreadable(world.examination, series, at)} lost` && isKnownUnreadable(series, at, gap)
  const mayBeLost = isInterrupted && !entry.isStored
  if (!isRight && !mayBeLost) return wrong(tellEntry(entry))
  if (entry.isStored && said !== 'unconfirmed lost') return wrong('is stored')
  if (reason === 'unreadable' || reason === 'too_large') return undefined
  const isCalm = !isInterrupted || at * 1_000 > healed
  const isAskedAgain = reason === 'not_served' || entry.strange > 0
  const needed = world.enoughFor(at) + (isAskedAgain ? untilAskedAgain(world.book) : 0)
  // Who asks once more may be told no better.
  const isToldTwice = isOnlyStrange(entry) && entry.strange > 1
  if (isCalm && !isToldTwice && series.cname === '' && world.openFor(at) > needed)
    return wrong(`could be had for more than ${needed} minutes`)
  return undefined
}

/** Why no question about that time can ever be read, in the words of the ledger; nothing where one can. */
function unreadable({ unreadable = [] }: Examination, { app, operation, step }: Series, at: number) {
  const rule = unreadable.find(({ covering, ...of }) => {
    return of.app === app && of.operation === operation && at <= covering && covering < at + step
  })
  return rule && ({ malformed: 'unreadable', endless: 'too_large' } as const)[rule.kind]
}

/** What spoils a question is found among what it asks for within most of the time for which that can be had. */
function wasKnowable({ examination, book, askableFor }: World, at: number): boolean {
  const { series } = book
  const isWhole = askableFor(at) * 60 >= series.allowance.availableData * margins.parted
  return series.cname === '' && isWhole && unreadable(examination, series, at) !== undefined
}

/** What cannot be read spoils every question about it: who gave it up asks no more about it, unless somebody wants that. */
function isSpanned({ wanted = [] }: Examination, { asked }: Series, { from, to, written }: Gap): boolean {
  const isOfIt = (one: Series['asked'][number]) => one.from <= from && to <= one.to
  return (
    wanted.length === 0 &&
    asked.some(one => isOfIt(one) && one.to - one.from > to - from + 1 && one.time / 1_000 > written + 60)
  )
}

/** Somebody asked for this time alone twice before it was given up: what was asked for beside it may have spoilt the others. */
function isKnownUnreadable({ asked, step }: Series, at: number, { written }: Gap): boolean {
  const alone = asked.filter(({ from, to, answer, time }) => {
    const isOfIt = from <= at && at < to && to - from <= step + 1
    return isOfIt && answer === 'none' && time / 1_000 <= written + margins.clock
  })
  return alone.length >= 2
}

/** Each answer that told it told it in a shape that nobody can read. */
function isOnlyStrange({ isStored, served, strange }: Entry): boolean {
  return !isStored && served.length === 0 && strange > 0
}

function isInsight(stream: string): stream is keyof typeof insightLateness {
  return Object.hasOwn(insightLateness, stream)
}

function tellEntry({ served, lackedAt, isStored }: Entry): string {
  const asked = lackedAt > 0 ? 'answered without it' : 'never answered'
  return `${served.length > 0 ? 'served' : asked}, ${isStored ? 'stored' : 'not stored'}`
}

export function tell({ from, to, reason, state, written }: Gap): string {
  return `${say(from)} to ${say(to)} ${reason} ${state}, written ${say(Math.floor(written))}`
}
