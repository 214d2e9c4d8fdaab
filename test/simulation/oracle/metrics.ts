import type { Arrival } from '../../../sandbox/src/index.ts'
import { Findings } from './asked.ts'
import { judgeSpent } from './budgets.ts'
import { groupOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

/** What a running daemon exports in the end, and what the world saw of it. */
export interface Scrape {
  readonly process: string
  /** Text format of Prometheus. */
  readonly text: string
  /** What it says of the whole. */
  readonly verdict: { readonly state: string; readonly sentence: string }
  /** Requests that it made and that came to an end, by the provider's answer or by a fault on the way. */
  readonly requests: number
  /** Numbers of those among the arrivals that reached the provider. */
  readonly arrived: readonly number[]
  /** Its own wall clock, ms since the epoch. */
  readonly now: number
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const prefix = 'penstock_'
const realtimeWindow = 20_000
/** Streams whose series are read within seconds when nothing is wrong, and how late they may be then, seconds. */
const prompt: Readonly<Record<string, number>> = { 'app-events': 120, 'room-events': 120 }

/** How old what is exported of the database may be, ms. */
export const oldestExported = 2_000

/**
 * Figures that people are alerted by must be those of the world and of the tables, read by somebody else. `before` are the gaps
 * as they were before what is exported was read: the ledger may grow while it is.
 */
export async function examineMetrics(
  examination: Examination,
  scrapes: readonly Scrape[],
  before: CountedStates,
): Promise<readonly Finding[]> {
  const found = new Findings()
  const gaps = [before, await readStates(examination)]
  const quality = await readQuality(examination)
  const written = await readWritten(examination)
  const stored = { losses: await readLosses(examination), players: await readPlayers(examination) }
  const letters = await readLetters(examination)
  judgeOwed(found, scrapes, await readOwed(examination))
  const ratios = scrapes
    .flatMap(({ text }) => read(text))
    .filter(({ name }) => name === `${prefix}budget_used_ratio`)
  await judgeSpent(found, ratios, examination)
  for (const scrape of scrapes) {
    const samples = read(scrape.text)
    const judge: Judge = {
      of: name => samples.filter(sample => sample.name === `${prefix}${name}`),
      wrong: (name, text) => found.add('metric', name, `${scrape.process}: ${text}`),
    }
    for (const { name, labels, value } of samples)
      if (!Number.isFinite(value)) judge.wrong(name, `${say(labels)} is ${value}`)
    judgeCounts(judge, scrape, gaps)
    judgeRefusals(judge, scrape, examination)
    if (written) judgeRows(judge, scrape, written)
    judgeLosses(judge, scrape, stored.losses)
    judgeVerdict(judge, scrape, stored.losses, refusalsOf(scrape, examination))
    judgePlayers(judge, stored.players)
    if (letters) judgeLetters(judge, letters)
    if (letters) judgeNotices(judge, examination)
    judgeBounds(judge)
    judgeQuality(judge, scrape, quality)
  }
  return found.list()
}

interface Judge {
  readonly of: (name: string) => readonly Sample[]
  readonly wrong: (name: string, text: string) => void
}

function judgeCounts({ of, wrong }: Judge, scrape: Scrape, ledgers: readonly CountedStates[]): void {
  const requests = of('requests_total').reduce((all, { value }) => all + value, 0)
  if (requests !== scrape.requests) wrong('requests_total', `${requests} told, ${scrape.requests} were made`)
  for (const name of ['gaps', 'rooms'] as const) {
    for (const { labels, value } of of(name)) {
      const known = ledgers.map(counts => counts.get(`${labels.stream ?? name} ${labels.state}`) ?? 0)
      if (value < Math.min(...known) || value > Math.max(...known))
        wrong(name, `${say(labels)} is ${value}, and the ledger has ${[...new Set(known)].join(' to ')}`)
    }
  }
}

/** Codes of requests that should never have been sent: for their credentials, or one too many. A room may be forbidden. */
const unwanted: readonly unknown[] = [401, 429]
/** So many of them may have been cut off on their way, or given up, so that nobody heard what they said. */
const mostUnheard = 2

/** What is turned away is told of each operation, also where code 300 of the body says so beside another status. */
function judgeRefusals(
  { of, wrong }: Judge,
  { arrived }: Scrape,
  { sandbox, isCalm = false }: Examination,
): void {
  const turned = arrived
    .map(n => sandbox.arrivals.list(n - 1, 1)[0]!)
    .filter(({ operation = '' }) => !operation.endsWith('Player'))
    .filter(arrival => unwanted.includes(arrival.status) || isLimit(arrival))
  for (const [operation = '', all] of Map.groupBy(turned, each => each.operation)) {
    const told = of('refusals_total')
      .filter(({ labels }) => labels.operation!.split('.').at(-1) === operation)
      .reduce((sum, { value }) => sum + value, 0)
    const least = isCalm ? all.length - mostUnheard : all.length > mostUnheard ? 1 : 0
    if (told < least) wrong('refusals_total', `${told} of ${operation} told, ${all.length} were turned away`)
  }
}

const beyondLimit = /limit error$|^you have no auth/

/** Refused for a limit of call analytics, or with its words though none was broken. */
function isLimit({ operation = '', status, fault, refusal = '' }: Arrival): boolean {
  return operation in groupOf && (beyondLimit.test(refusal) || (fault === 'status' && status === 200))
}

/** A provider that allows less than it says is told of when it has refused for so long, ms. */
const refusedFor = 2 * 60_000

interface Refusals {
  /** The provider has refused for its limits, again and again, though nothing was amiss. */
  readonly goOn: boolean
  /** What was asked for last of an operation was refused for a limit: it rests, for up to an hour where a day is spent. */
  readonly isResting: boolean
}

function refusalsOf({ arrived }: Scrape, { sandbox }: Examination): Refusals {
  const asked = arrived.map(n => sandbox.arrivals.list(n - 1, 1)[0]!)
  const times = asked
    .filter(({ operation = '', refusal = '' }) => operation in groupOf && beyondLimit.test(refusal))
    .map(({ time }) => time)
  const last = new Map(asked.map(each => [`${each.app} ${each.operation}`, each]))
  return {
    goOn: Math.max(...times) - Math.min(...times) > refusedFor,
    isResting: [...last.values()].some(isLimit),
  }
}

/** Told by page, and of each value: not to be counted by rows. */
const otherwise: ReadonlySet<string> = new Set(['analytics.session_series', 'analytics.call_series'])

/** What was written is told once: of some tables new rows alone, and nothing of a commit that was answered by nobody. */
function judgeRows({ of, wrong }: Judge, { process }: Scrape, written: ReadonlyMap<string, number>): void {
  for (const { labels, value } of of('rows_total')) {
    const made = written.get(`${process} ${labels.table}`) ?? 0
    if (!otherwise.has(labels.table!) && value > made)
      wrong('rows_total', `${value} of ${labels.table} told, ${made} were written`)
  }
}

/** What was given up, by stream and moment, ms since the epoch; of what was had after all, when that was. */
type Losses = readonly { readonly stream: string; readonly at: number; readonly isMended?: boolean }[]
const lossWindows: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 }
/** A clock may be wrong by so much, and what is exported is some seconds old. */
const aboutThen = 150_000

/** Losses of late, and what is said of the whole because of them. */
function judgeLosses({ of, wrong }: Judge, { now }: Scrape, losses: Losses): void {
  for (const { labels, value } of of('recent_losses')) {
    const age = lossWindows[labels.window!] ?? 0
    const own = losses.filter(({ stream }) => stream === labels.stream)
    const since = (moment: number) => own.filter(({ at, isMended }) => !isMended && at > moment).length
    const mended = own.filter(one => isJustMended(one, now)).length
    const [fewest, most] = [since(now - age + aboutThen), since(now - age - aboutThen) + mended]
    if (value < fewest || value > most)
      wrong('recent_losses', `${say(labels)} is ${value}, and the ledger has ${fewest} to ${most}`)
  }
}

/** Whether it was still lost when what is exported was read. */
function isJustMended({ at, isMended }: Losses[number], now: number): boolean {
  return isMended === true && at > now - oldestExported
}

/** What people are told of the whole when nothing is wrong any more. */
function judgeVerdict(
  { of, wrong }: Judge,
  { now, verdict: { state, sentence } }: Scrape,
  losses: Losses,
  { goOn, isResting }: Refusals,
): void {
  const isLost = losses.some(({ at, isMended }) => !isMended && at > now - lossWindows.day! + aboutThen)
  const wasLost = losses.some(one => isJustMended(one, now))
  const isAtRisk =
    of('expected_loss_ratio').some(({ value }) => value > 0) ||
    of('backlog_expires_seconds').some(({ value }) => value < soon)
  if (isLost && state !== 'losing') wrong('verdict', `data was lost within a day, and it says: ${sentence}`)
  const isUrgent = of('backlog_expires_seconds').some(({ value }) => value < hour)
  const isLate = (state === 'behind' && (isUrgent || goOn)) || (state === 'losing' && isUrgent && isResting)
  if (!isLost && !wasLost && !isAtRisk && state !== 'well' && !isLate)
    wrong('verdict', `all is well, and it says: ${sentence}`)
}

/** What waits and expires within this is told, seconds. */
const hour = 3_600

/** Seconds in which what waits may be gone: nothing has failed for minutes, so that it stood still for no longer. */
const soon = 300

/** Players that live, by app and status, as many as were listed. */
function judgePlayers({ of, wrong }: Judge, stored: ReadonlyMap<string, number>): void {
  for (const { labels, value } of of('players')) {
    const known = stored.get(`${labels.app} ${labels.status}`) ?? 0
    if (value !== known) wrong('players', `${say(labels)} is ${value}, and ${known} are stored`)
  }
}

/** Of these each page tells its letters itself. */
const ofRooms = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']

/** What was set aside, by stream: each letter once. */
function judgeLetters({ of, wrong }: Judge, stored: ReadonlyMap<string, Letters>): void {
  const told = Map.groupBy(of('dead_letters_total'), ({ labels }) => labels.stream!)
  for (const [stream, samples] of told) {
    if (!ofRooms.includes(stream)) continue
    const is = samples.reduce((all, { value }) => all + value, 0)
    const { least, most } = stored.get(stream) ?? { least: 0, most: 0 }
    if (is < least || is > most)
      wrong('dead_letters_total', `${is} of ${stream} told, ${most} are kept or counted`)
  }
}

/** What nobody can read of notifications is told of each, also where it comes again. */
function judgeNotices({ of, wrong }: Judge, { sandbox, apps }: Examination): void {
  if (sandbox.settings.quirks.strangeNotice === 0) return
  const told = (name: string, said: Readonly<Record<string, string>>) =>
    of(name)
      .filter(({ labels }) => Object.entries(said).every(([label, value]) => labels[label] === value))
      .reduce((all, { value }) => all + value, 0)
  const sent = apps.map(({ id }) => sandbox.notices(id).flatMap(({ bodies }) => bodies).length)
  for (const [n, { id: app }] of apps.entries()) {
    const count = told('notifications_total', { app, outcome: 'malformed' })
    if (count !== sent[n])
      wrong('notifications_total', `${count} malformed of ${app}, and ${sent[n]} were sent`)
  }
  const letters = told('dead_letters_total', { stream: 'cloud-players', reason: 'malformed' })
  const all = sent.reduce((sum, count) => sum + count, 0)
  if (letters !== all) wrong('dead_letters_total', `${letters} of notifications, and ${all} were sent`)
}

function judgeBounds({ of, wrong }: Judge): void {
  for (const { labels, value } of of('lag_seconds'))
    if (value > (prompt[labels.stream!] ?? Number.POSITIVE_INFINITY))
      wrong('lag_seconds', `${labels.stream} is ${value} s late, and nothing is wrong any more`)
}

/** Details that are owed for longer than this are added up in what is exported, ms. */
const addedUp = 5 * 60_000

/** Whoever owes details of calls says so. */
function judgeOwed(found: Findings, scrapes: readonly Scrape[], owed: ReadonlyMap<string, number>): void {
  const told = scrapes
    .flatMap(({ text }) => read(text))
    .filter(({ name }) => name === `${prefix}backlog_seconds`)
  for (const [stream, seconds] of owed) {
    const all = told
      .filter(({ labels }) => labels.stream === stream)
      .reduce((sum, { value }) => sum + value, 0)
    if (all === 0)
      found.add('metric', 'backlog_seconds', `${stream} owes nothing, and ${seconds} s of it wait`)
  }
}

/** Each value must be the one that is stored of the moment that its age tells. */
function judgeQuality({ of, wrong }: Judge, { now }: Scrape, stored: ReadonlyMap<string, number>): void {
  const ages = new Map(of('call_quality_age_seconds').map(({ labels, value }) => [keyOf(labels), value]))
  for (const { labels, value } of of('call_quality')) {
    const key = keyOf(labels)
    const at = now - ages.get(key)! * 1_000 - realtimeWindow
    const right = stored.get(`${key} ${Math.round(at / 1_000)}`)
    if (right !== value)
      wrong('call_quality', `${key} is ${value}, of ${new Date(at).toISOString()} ${right} is stored`)
  }
}

/** Gaps by stream and state; rooms by state, as `rooms`: what the provider knows of rooms, as far as anybody heard. */
export type CountedStates = ReadonlyMap<string, number>

export async function readStates({ rows }: Examination): Promise<CountedStates> {
  const counts = await rows<{ key: string; count: number }>(
    `select stream || ' ' || state as key, sum(coalesce(stands_for, 1))::float8 as count from ingest.gap group by 1
     union all
     select 'rooms ' || coalesce((array['not_started', 'started', 'ended', 'closed'])[state + 1], 'unknown'), count(*)
     from classroom.room where valid_to is null and forgotten_at is null group by 1`,
  )
  return new Map(counts.map(({ key, count }) => [key, count]))
}

async function readLosses({ rows }: Examination): Promise<Losses> {
  return rows(
    `select stream, extract(epoch from updated_at)::float8 * 1000 as at, state <> 'lost' as "isMended" from ingest.gap
     where state = 'lost' or state = 'repaired'`,
  )
}

async function readPlayers({ rows }: Examination): Promise<ReadonlyMap<string, number>> {
  const counts = await rows<{ key: string; count: number }>(
    `select app_id || ' ' || coalesce(status, 'unknown') as key, count(*)::float8 as count
     from players.cloud_player where destroyed_at is null group by 1`,
  )
  return new Map(counts.map(({ key, count }) => [key, count]))
}

/** Seconds of calls of which details wait, by stream. */
async function readOwed({ rows, end }: Examination): Promise<ReadonlyMap<string, number>> {
  const waiting = await rows<{ stream: string; seconds: number }>(
    `select stream, sum(extract(epoch from range_to - range_from))::float8 as seconds from ingest.work_item
     where state = 'pending' and updated_at < to_timestamp(${(end - addedUp) / 1_000}) and range_to > range_from group by 1`,
  )
  return new Map(waiting.map(({ stream, seconds }) => [stream, seconds]))
}

/** How many there are, and were when it was last scraped: what is not kept counts again when it comes again. */
interface Letters {
  readonly least: number
  readonly most: number
}

/** From a scrape to the look at the tables, and more, ms. */
const sinceScrape = 30_000

/** By stream; undefined where a process ended, which had counted some, something went amiss, or some were closed. */
async function readLetters({
  rows,
  isCalm,
  faults,
  end,
  askers = [],
  closedLetters = 0,
}: Examination): Promise<ReadonlyMap<string, Letters> | undefined> {
  if (!isCalm || faults.length > 0 || askers.length !== 1 || closedLetters > 0) return undefined
  const counts = await rows<Letters & { key: string }>(
    `select stream as key, sum(letters)::float8 as most, coalesce(sum(letters) filter (where not is_new), 0)::float8 as least from (
       select stream, 1 as letters, false as is_new from ingest.dead_letter
       union all select stream, letters, last_seen_at > to_timestamp(${(end - sinceScrape) / 1_000}) from ingest.unkept_letter) l
     group by 1`,
  )
  return new Map(counts.map(({ key, ...letters }) => [key, letters]))
}

/** By process and table; undefined where some of it was lost with a history of the database. */
async function readWritten({
  rows,
  rewound = [],
}: Examination): Promise<ReadonlyMap<string, number> | undefined> {
  if (rewound.length > 0) return undefined
  const counts = await rows<{ key: string; count: number }>(
    `select process || ' ' || name as key, sum(inserted + updated)::float8 as count from simulated.written group by 1`,
  )
  return new Map(counts.map(({ key, count }) => [key, count]))
}

/** Of the whole project, by app, product, metric and Unix second. */
async function readQuality({ rows }: Examination): Promise<ReadonlyMap<string, number>> {
  const values = await rows<{ key: string; value: number }>(
    `select concat_ws(' ', app_id, product, metric, extract(epoch from at)::bigint) as key, value
     from analytics.quality_realtime where cname = '' and uid = ''`,
  )
  return new Map(values.map(({ key, value }) => [key, value]))
}

function keyOf({ app, product, metric }: Sample['labels']): string {
  return `${app} ${product} ${metric}`
}

function say(labels: Sample['labels']): string {
  return JSON.stringify(labels)
}

/** The samples of the daemon itself; those of the process it runs in are of this machine. */
function read(text: string): readonly Sample[] {
  return text.split('\n').flatMap(line => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (!name?.startsWith(prefix)) return []
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, said]) => [key, said])
    return [{ name, labels: Object.fromEntries(pairs) as Sample['labels'], value: Number(value) }]
  })
}
