import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'
import type { StoredGap } from './gaps.ts'

/** From the debit of a request to its arrival, ms: a grant lives for two seconds, and the network delays by ten at most. */
const onItsWay = 12_000
/** That a room is gone is noticed when it is asked about: an idle one every five minutes, three times until it is believed, ms. */
const noticed = 20 * 60_000
/** Of the time for which the provider knows a room, so much is the daemon told of at least: a log of then may still be read. */
const leastTold = 0.7
/** After this a request can no longer arrive: its total deadline and ten seconds. */
const canArrive = 40_000
/** What may be in the way of whoever tells of a missing answer before he asks the feed again, ms. */
const inTheWay = 60_000

interface Debit {
  readonly app: string
  readonly scope: string
  readonly sent: number
  readonly dead: number
  /** By how much the ledger's time was behind the world's when it was written, and when the next one was, ms. */
  readonly behind: number
  readonly behindNext: number
  readonly settled: number | null
  readonly outcome: 'committed' | 'refused' | 'unread' | null
  readonly toldAll: boolean | null
  readonly gap: string | null
}

interface Asked {
  readonly app: string
  readonly region: string
  readonly time: number
  /** It may have handed out events. */
  readonly isAnswered: boolean
  /** Whoever asked was told. */
  readonly isServed: boolean
}

/**
 * What an answer of the feed held that nobody stored lies between the last answer before it that told all there was, and the
 * moment at which it could no longer arrive. Each such answer is told of, and no time in which everything was heard.
 */
export async function examineFeedGaps(
  examination: Examination,
  rooms: readonly TrueRoom[],
  gaps: readonly StoredGap[],
): Promise<readonly Finding[]> {
  const own = gaps.filter(({ stream }) => stream === 'app-events')
  const debits = await readDebits(examination)
  const asked = readAsked(examination)
  const toldAll = answersThatToldAll(debits, asked)
  const findings: Finding[] = []
  for (const gap of own) {
    const fault = faultOf(gap, { examination, debits, asked, rooms, toldAll })
    const kind = fault === owed ? 'owed' : 'gap'
    if (fault)
      findings.push({
        kind,
        text: `${gap.app} feed ${gap.series} ${gap.reason} ${gap.state} ${gap.from} to ${gap.to}: ${fault}`,
      })
  }
  if (!examination.isEnd) return findings
  findings.push(...untoldPauses(examination, own))
  findings.push(...falseEnds(examination, { rooms, debits, asked }))
  for (const { app, time, region } of unheard(asked, debits)) {
    const { behind = 0 } = debits.findLast(one => one.app === app && one.sent + one.behind <= time) ?? {}
    const at = time - behind
    const told = own.filter(gap => gap.app === app && gap.from <= at && at <= gap.to)
    if (told.length === 0)
      findings.push({ kind: 'gap', text: `${app} feed: nobody stored the answer of ${time}` })
    else if (isLate(told, { app, time, region }, { examination, debits }))
      findings.push({ kind: 'gap', text: `${app} feed: told late that nobody stored the answer of ${time}` })
  }
  return findings
}

const owed = 'still open'

/**
 * Where a feed answered nothing for longer than the provider remembers, the ledger says that some of it may be lost. What it
 * says of one answer is not enough: reading logs mends that, and not a pause.
 */
function untoldPauses(examination: Examination, gaps: readonly StoredGap[]): readonly Finding[] {
  const { sandbox, isCalm } = examination
  const memory = sandbox.settings.switches.roomMemorySeconds * 1_000
  const served = Map.groupBy(
    readAsked(examination).filter(({ isServed }) => isServed),
    ({ app, region }) => `${app} ${region}`,
  )
  return [...served].flatMap(([feed, own]) =>
    own.flatMap(({ app, time }, n) => {
      const from = own[n - 1]?.time ?? time
      const isTold = gaps.some(
        gap =>
          gap.app === app &&
          gap.reason === 'pause' &&
          gap.state !== 'repaired' &&
          gap.from < BigInt(time) &&
          gap.to > BigInt(from),
      )
      if (!isCalm || time - from <= memory || isTold) return []
      return [
        { kind: 'gap', text: `${feed}: nothing says that it was silent from ${from} to ${time}` } as const,
      ]
    }),
  )
}

/**
 * Where each answer holds one event and tells it once, as many wait as had happened and were not handed out: an answer after
 * which some wait told only a part. Where all regions are one, each of them is told what no other was.
 */
function falseEnds(
  { sandbox }: Examination,
  { rooms, debits, asked }: Pick<Context, 'rooms' | 'debits' | 'asked'>,
): readonly Finding[] {
  const { appFeed, feedShape, regions } = sandbox.settings.switches
  if (appFeed !== 'consuming' || !feedShape.startsWith('object')) return []
  const answered = Map.groupBy(
    asked.filter(({ isAnswered }) => isAnswered),
    ({ app, region }) => (regions === 'one' ? app : `${app} ${region}`),
  )
  return [...answered].flatMap(([feed, own]) => {
    const { app, region: first } = own[0]!
    const happened = rooms
      .filter(room => room.app === app && (room.region ?? first) === first)
      .flatMap(({ events }) => events.map(({ at }) => at))
    const ends = debits.filter(
      debit => debit.app === app && debit.outcome === 'committed' && debit.toldAll === true,
    )
    return own.flatMap(({ time, region, isServed }, n) => {
      const waiting = happened.filter(at => at < time).length - (n + 1)
      const isOwn = (debit: Debit) => isOfRegion(debit, region) || debit.scope === app
      const isEnd = ends.some(debit => isOwn(debit) && mayBeOf(debit, time, debit.settled ?? debit.dead))
      if (!isServed || waiting <= 0 || !isEnd) return []
      return [
        { kind: 'gap', text: `${feed}: said at ${time} to have told all, and ${waiting} waited` } as const,
      ]
    })
  })
}

/** Whoever asks the feed again, once the answer can no longer come, tells first that it is missing. */
function isLate(
  told: readonly StoredGap[],
  { app, time, region }: Pick<Asked, 'app' | 'time' | 'region'>,
  { examination, debits }: Pick<Context, 'examination' | 'debits'>,
): boolean {
  if ((examination.rewound ?? []).length > 0) return false
  const next = debits.find(
    debit =>
      debit.outcome === 'committed' &&
      debit.app === app &&
      (isOfRegion(debit, region) || debit.scope === app) &&
      debit.sent + debit.behind > time + canArrive,
  )
  return next !== undefined && Math.min(...told.map(({ seen }) => seen)) > next.sent + next.behind + inTheWay
}

/** A world that dates debits too tells how its time and the ledger's differ; elsewhere they are one. */
async function readDebits({ rows }: Examination): Promise<readonly Debit[]> {
  const ms = (column: string) => `round(extract(epoch from ${column}) * 1000)::float8`
  const [watched] = await rows<{ is: boolean }>(`select to_regclass('simulated.debited') is not null as is`)
  const [behind, dated] = watched?.is
    ? [ms('w.at - d.sent_at'), 'left join simulated.debited w using (scope, limit_group, n)']
    : ['0::float8', '']
  return rows<Debit>(
    `select d.app_id as app, scope, ${ms('d.sent_at')} as sent, ${ms('d.dead_at')} as dead, coalesce(${behind}, 0) as behind,
            coalesce(lead(${behind}) over (partition by scope order by n), ${behind}, 0) as "behindNext", ${ms('d.settled_at')} as settled, d.outcome, d.told_all as "toldAll", d.gap_id::text as gap
     from ingest.debit d ${dated} where limit_group = 'classroom-feed' order by scope, n`,
  )
}

/** Whether a request that arrived then may be the one that was debited. */
function mayBeOf({ sent, dead, behind, behindNext }: Debit, time: number, until = dead): boolean {
  return sent + behind <= time && time <= until + Math.max(behind, behindNext)
}

function readAsked({ sandbox }: Examination): readonly Asked[] {
  return sandbox.arrivals.list(0, sandbox.arrivals.count).flatMap(arrival => {
    const { operation, app = '', target, time, status, fault } = arrival
    if (operation !== 'appEvents') return []
    const isTurnedAway = status === 200 && fault === 'status'
    const isAnswered =
      (status === 200 && !isTurnedAway) || fault === 'lost-response' || fault === 'status-after-acting'
    const isServed = status === 200 && (fault === undefined || fault === 'latency')
    return [{ app, region: target.split('/')[1] ?? '', time, isAnswered, isServed }]
  })
}

function faultOf(
  gap: StoredGap,
  context: {
    readonly examination: Examination
    readonly debits: readonly Debit[]
    readonly asked: readonly Asked[]
    readonly rooms: readonly TrueRoom[]
    readonly toldAll: ToldAll
  },
): string | undefined {
  const { examination, rooms } = context
  const [from, to] = [Number(gap.from), Number(gap.to)]
  if (gap.unit !== 'time' || gap.incarnation !== null) return 'no range of time of an app'
  if (from > to) return 'ends before it begins'
  if (to > examination.end + canArrive) return 'reaches into what is to come'
  if (gap.state === 'absent') return 'absent, and nobody promised it'
  const memory = examination.sandbox.settings.switches.roomMemorySeconds * 1_000
  const left = (gap.recoverable ?? to) - to
  if (left < leastTold * memory || left > memory + 1) return `said to be had for ${left} ms after its end`
  // Without the logs of rooms nothing repairs it.
  const areLogsRead = examination.streams?.includes('room-events') ?? true
  if (
    areLogsRead &&
    gap.state === 'open' &&
    examination.isEnd &&
    !rooms.some(room => room.app === gap.app && room.muted)
  )
    return owed
  // What became too old before logs were read is lost until they have been.
  if (areLogsRead && examination.isEnd && gap.state === 'lost' && gap.reason !== 'pause') {
    const isGone = rooms.some(
      room => room.app === gap.app && (room.muted || Number(room.destroyedAt) > from - noticed),
    )
    if (!isGone) return 'lost, and every room of that time is served'
  }
  return gap.reason === 'pause' ? faultOfPause(gap, context) : faultOfUnread(gap, context)
}

type Context = Parameters<typeof faultOf>[1]
type ToldAll = (gap: Pick<StoredGap, 'app' | 'series'>) => readonly Debit[]

/** Answers that told all, as the ledger has them and as they arrived, by app and region. A day has many, and many gaps. */
function answersThatToldAll(debits: readonly Debit[], asked: readonly Asked[]): ToldAll {
  const answered = Map.groupBy(
    asked.filter(({ isAnswered }) => isAnswered),
    ({ app }) => app,
  )
  const times = new Map(
    [...answered].map(([app, own]) => [app, own.map(({ time }) => time).sort((a, b) => a - b)]),
  )
  const known = new Map<string, readonly Debit[]>()
  return ({ app, series }) => {
    const key = `${app}/${series}`
    const told =
      known.get(key) ??
      debits.filter(
        debit =>
          debit.app === app &&
          isOfRegion(debit, series) &&
          debit.outcome === 'committed' &&
          debit.toldAll !== false &&
          mayBeOf(debit, firstFrom(times.get(app) ?? [], debit.sent + debit.behind)),
      )
    known.set(key, told)
    return told
  }
}

/** The first of these times, which rise, that is not before a moment; never where there is none. */
function firstFrom(times: readonly number[], moment: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < moment) low = middle + 1
    else high = middle
  }
  return times[low] ?? Number.POSITIVE_INFINITY
}

/** The feed of an app that is in one region has no name of its own. */
function isOfRegion({ app, scope }: Debit, region: string): boolean {
  return scope === (region === '' ? app : `${app}/${region}`)
}

/** Every bound is that of a request; the clocks of a database and of a process may round to the next millisecond. */
function isAt(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1
}

function faultOfUnread(gap: StoredGap, context: Context): string | undefined {
  if (gap.reason !== 'unread_answer') return `${gap.reason} is no reason for it`
  const { debits, asked, examination } = context
  const [from, to] = [Number(gap.from), Number(gap.to)]
  const own = debits.filter(debit => debit.app === gap.app && isOfRegion(debit, gap.series))
  const unread = own.filter(
    ({ outcome, sent, dead }) =>
      outcome !== 'committed' && outcome !== 'refused' && from <= sent && sent <= to && to <= dead + 1,
  )
  const last = unread.at(-1)
  if (!last) return 'no answer is missing at its end'
  if (!unread.some(({ settled, dead }) => isAt(to, Math.min(settled ?? dead, dead))))
    return 'does not end when the missing answer could no longer arrive'
  if (to > last.sent + canArrive) return 'ends later than its answer could arrive'
  const known = context.toldAll(gap)
  const before = known.filter(({ sent }) => sent < last.sent).at(-1)
  const first = asked.find(({ app }) => app === gap.app)
  if (!before) {
    const { roomMemorySeconds } = examination.sandbox.settings.switches
    const earliest = (first?.time ?? from) - onItsWay - roomMemorySeconds * 1_000
    return from >= earliest ? undefined : 'begins before the provider could remember it'
  }
  if (known.some(({ sent }) => isAt(sent, from))) {
    const between = known.filter(
      ({ sent }) => sent > from + 1 && sent < Math.min(...unread.map(one => one.sent)),
    )
    return between.length === 0 ? undefined : `begins ${between.length} answers too early`
  }
  return own[0] && from < own[0].sent ? undefined : 'begins with no answer that told all'
}

/** Nobody asked, or the feed never told all, for as long as the provider may forget: half of what it remembers at least. */
function faultOfPause(gap: StoredGap, context: Context): string | undefined {
  const { roomMemorySeconds } = context.examination.sandbox.settings.switches
  const [from, to] = [Number(gap.from), Number(gap.to)]
  if (to - from < roomMemorySeconds * 500) return 'shorter than the provider remembers'
  const heard = context.toldAll(gap).filter(({ sent, dead }) => sent > from && dead < to)
  return heard.length === 0 ? undefined : `${heard.length} answers in it told all`
}

/** Answers whose page was not committed: each debit that was has one, which arrived before it was settled. */
function unheard(asked: readonly Asked[], debits: readonly Debit[]): readonly Asked[] {
  const first = Math.min(...debits.map(({ sent, behind }) => sent + behind))
  const left = new Set(asked.filter(({ isAnswered, time }) => isAnswered && time >= first))
  for (const debit of debits) {
    if (debit.outcome !== 'committed') continue
    const until = (debit.settled ?? debit.dead) + 1
    for (const one of left) {
      const isOwn = one.app === debit.app && (isOfRegion(debit, one.region) || debit.scope === one.app)
      if (!isOwn || !mayBeOf(debit, one.time, until)) continue
      left.delete(one)
      break
    }
  }
  return [...left]
}
