import { groupOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

interface Debited {
  readonly app: string
  readonly operation: string
  readonly debits: number
}

/** By name of the operation; requests of other operations have no ledger. */
const debited: ReadonlySet<string> = new Set([
  ...Object.keys(groupOf),
  ...['appEvents', 'createPlayer', 'deletePlayer', 'listPlayers'],
])

/** What others do who know nothing of the ledger. */
const byOthers: ReadonlySet<string> = new Set(['createPlayer', 'deletePlayer'])

/** From the end of the faults until nobody stands still, is away or takes over any more, ms. */
const calmAfter = 3 * 60_000
/** In the calm an answer is stored and settled within this, ms. */
const soon = 60_000

/** When nothing goes wrong any more every answer is settled soon, and each of the feed as stored. */
async function examineSettled(examination: Examination): Promise<readonly Finding[]> {
  const { rows, healed, end, isEnd, rewound = [] } = examination
  // Where a history went back, debits are dated later than they were made.
  if (!isEnd || rewound.length > 0) return []
  const open = await rows<{ text: string }>(
    `select concat_ws(' ', app_id, operation, n, coalesce(outcome, 'unsettled')) as text from ingest.debit
     where extract(epoch from sent_at) * 1000 between ${healed + calmAfter} and ${end - soon}
       and (outcome is null or settled_at > sent_at + interval '${soon} ms'
            or outcome = 'unread' and limit_group = 'classroom-feed')
     limit 20`,
  )
  return open.map(({ text }) => ({ kind: 'debit', text: `${text}, though nothing goes wrong any more` }))
}

/** Where nothing breaks each answer is stored, whoever hands its apps over meanwhile. */
async function examineStored({
  rows,
  isUnbroken,
  end,
  answerBytes,
  unreadable = [],
}: Examination): Promise<readonly Finding[]> {
  if (!isUnbroken) return []
  const isToldUnreadably = (text: string) =>
    unreadable.some(({ app, operation }) => text.startsWith(`${app} analytics.${operation} `))
  // What is larger than the operator allows is read by nobody.
  const large =
    answerBytes === undefined ? 'false' : `operation in ('analytics.callSessions', 'analytics.callMetrics')`
  const left = await rows<{ text: string }>(
    `select concat_ws(' ', app_id, operation, n, coalesce(outcome, 'unsettled'), 'of', sent_at) as text from ingest.debit
     where (outcome = 'unread' and not ${large} or outcome is null and extract(epoch from sent_at) * 1000 < ${end - soon}) and operation <> '${assumed}'
     order by sent_at limit 60`,
  )
  return left
    .filter(({ text }) => !isToldUnreadably(text))
    .map(({ text }) => ({ kind: 'debit', text: `${text}, and nothing broke` }))
}

/** By how much the ledger's time may differ from a clock that goes as it should, ms: a question takes less to arrive. */
const longestWay = 500

/** The ledger keeps the time of the database's clock, where that never jumps and nobody stood still. */
async function examineDates({ rows, isPaused }: Examination): Promise<readonly Finding[]> {
  const [watched] = await rows<{ is: boolean }>(`select to_regclass('simulated.debited') is not null as is`)
  if (!watched?.is || isPaused) return []
  const wrong = await rows<{ text: string }>(
    `select concat_ws(' ', d.app_id, d.operation, d.n, 'is dated', d.sent_at, 'and was made at', w.at) as text
     from ingest.debit d join simulated.debited w using (scope, limit_group, n)
     where d.operation <> '${assumed}' and abs(extract(epoch from w.at - d.sent_at)) * 1000 > ${longestWay}
     order by w.at limit 20`,
  )
  return wrong.map(({ text }) => ({ kind: 'debit', text }))
}

/** What is assumed of a history that went back stands for requests that nobody can name. */
const assumed = 'lost history'

/** From the debit of a request to its arrival, ms: a grant lives for two seconds, and the network delays by ten at most. */
const onItsWay = 12_000

interface Dated {
  readonly app: string
  readonly operation: string
  /** Where it is counted. */
  readonly counter: string
  /** By the world's clock, ms since the epoch. */
  readonly at: number
  /** By the ledger's, and when it was settled; null of one that is not. */
  readonly sentAt: number
  readonly settledAt: number | null
}

/**
 * Each request has a debit of its own, made just before it. One that nobody used stands for no later request: whoever was
 * held up in between must ask the ledger anew. Undefined where nobody dated the debits by the world's clock.
 */
async function examineArrivals(examination: Examination): Promise<readonly Finding[] | undefined> {
  const { sandbox, rows, isShared = false, isPaused = false, rewound = [] } = examination
  const [watched] = await rows<{ is: boolean }>(`select to_regclass('simulated.debited') is not null as is`)
  if (!watched?.is) return undefined
  const debits = await rows<Dated>(
    `select d.app_id as app, d.operation, d.scope || ' ' || d.limit_group as counter, extract(epoch from w.at)::float8 * 1000 as at,
            extract(epoch from d.sent_at)::float8 * 1000 as "sentAt", extract(epoch from d.settled_at)::float8 * 1000 as "settledAt"
     from ingest.debit d join simulated.debited w using (scope, limit_group, n) order by w.at`,
  )
  const made = Map.groupBy(debits, ({ app, operation }) => `${app} ${operation.split('.').at(-1)!}`)
  const arrivals = sandbox.arrivals.list(0, sandbox.arrivals.count).filter(({ operation = '' }) => {
    return debited.has(operation) && !(isShared && byOthers.has(operation))
  })
  const asked = Map.groupBy(arrivals, ({ app = '', operation = '' }) => `${app} ${operation}`)
  const lost = new Map<string, number>()
  const findings: Finding[] = []
  for (const [key, own] of asked) {
    const known = made.get(key) ?? []
    const times = own.map(each => each.time).sort((a, b) => a - b)
    const unheard = withoutDebit(times, known)
    const [early] = unheard.length > 0 || isPaused || rewound.length > 0 ? [] : afterSettled(times, known)
    if (early !== undefined)
      findings.push({
        kind: 'debit',
        text: `${key} arrived at ${say(early)}, and its debit was settled before`,
      })
    for (const time of unheard) {
      const wentBack = rewound.some(({ from, to }) => from <= time && time <= to + onItsWay)
      const counter = known[0]?.counter
      if (!wentBack)
        findings.push({ kind: 'debit', text: `${key} arrived at ${say(time)}, and nobody had debited it` })
      else if (counter !== undefined) lost.set(counter, (lost.get(counter) ?? 0) + 1)
    }
  }
  return [...findings.slice(0, 20), ...forgottenOf(lost, debits, examination)]
}

/** Of times that rise those for which no debit was made just before; each debit stands for one. */
function withoutDebit(times: readonly number[], debits: readonly Dated[]): readonly number[] {
  let next = 0
  return times.filter(time => {
    while (next < debits.length && debits[next]!.at < time - onItsWay) next += 1
    const isOwn = next < debits.length && debits[next]!.at <= time
    if (isOwn) next += 1
    return !isOwn
  })
}

/**
 * Of times that rise those at which no debit stood open that was made just before: an answer settles it, and none comes before
 * its request. Of several the one that is settled first is that of the first request. Where the ledger's clock was ever
 * beside the world's, so may be what it says of an answer.
 */
function afterSettled(times: readonly number[], debits: readonly Dated[]): readonly number[] {
  const isExact = debits.every(({ at, sentAt }) => Math.abs(at - sentAt) < 1)
  const slack = isExact ? 1 : longestWay
  const ends = debits.map(({ settledAt }) => settledAt ?? Number.POSITIVE_INFINITY)
  const open = new Set<number>()
  let next = 0
  return times.filter(time => {
    for (; next < debits.length && debits[next]!.at <= time; next += 1) open.add(next)
    for (const n of open) if (debits[n]!.at < time - onItsWay || ends[n]! < time - slack) open.delete(n)
    const [first] = [...open].sort((one, other) => ends[one]! - ends[other]!)
    if (first !== undefined) open.delete(first)
    return first === undefined
  })
}

/**
 * Whatever may have been debited in a history that is gone counts as debited: of call analytics, whose requests of a day
 * are limited, no request may be forgotten by who counts on.
 */
function forgottenOf(
  lost: ReadonlyMap<string, number>,
  debits: readonly Dated[],
  { rewound = [] }: Examination,
): readonly Finding[] {
  const since = Math.max(...rewound.map(({ to }) => to))
  return [...lost].flatMap(([counter, requests]) => {
    const own = debits.filter(debit => debit.counter === counter)
    const isCounted = own.some(({ at, operation }) => at > since && operation !== assumed)
    const isOfAnalytics = own.some(({ operation }) => (operation.split('.').at(-1) ?? '') in groupOf)
    const known = own.filter(({ operation }) => operation === assumed).length
    if (!isCounted || !isOfAnalytics || requests <= known) return []
    const text = `${counter}: ${requests} requests of a history that is gone, and ${known} were assumed`
    return [{ kind: 'debit', text } as const]
  })
}

function say(time: number): string {
  return new Date(time).toISOString()
}

/**
 * Nothing arrives that was not debited before. `wasted`: how many debits of an app and operation may stand for requests
 * that never arrived, because who made them was killed or the line broke; not judged where it is not said. Debits older
 * than two days are not kept, so that a longer run is counted by its heads.
 */
export async function examineDebits(examination: Examination, wasted?: number): Promise<readonly Finding[]> {
  const { sandbox, rows, isShared = false } = examination
  const unsettled = [
    ...(await examineDates(examination)),
    ...(await examineSettled(examination)),
    ...(await examineStored(examination)),
  ]
  const arrived = new Map<string, number>()
  for (const { app = '', operation = '' } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    if (debited.has(operation) && !(isShared && byOthers.has(operation)))
      arrived.set(`${app} ${operation}`, (arrived.get(`${app} ${operation}`) ?? 0) + 1)
  }
  const heads = await rows<{ forgotten: boolean; total: number }>(
    `select coalesce(bool_or(b.last_n > coalesce(d.kept, 0)), false) as forgotten, coalesce(sum(b.last_n), 0)::float8 as total
     from ingest.budget b
     left join lateral (select count(*) as kept from ingest.debit d
                        where d.scope = b.scope and d.limit_group = b.limit_group) d on true`,
  )
  const { forgotten, total } = heads[0]!
  const untimely = forgotten ? undefined : await examineArrivals(examination)
  if (forgotten) {
    const all = [...arrived.values()].reduce((sum, count) => sum + count, 0)
    return all > total
      ? [...unsettled, { kind: 'debit', text: `${all} requests arrived and ${total} were debited` }]
      : unsettled
  }
  const made = await rows<Debited>(
    `select app_id as app, operation, count(*)::float8 as debits from ingest.debit group by 1, 2`,
  )
  const debits = new Map<string, number>()
  for (const { app, operation, debits: count } of made)
    debits.set(`${app} ${operation.split('.').at(-1)!}`, count)
  const spare = made
    .filter(({ operation }) => operation === assumed)
    .reduce((sum, { debits }) => sum + debits, 0)
  const findings: Finding[] = [...unsettled, ...(untimely ?? [])]
  for (const key of new Set([...arrived.keys(), ...debits.keys()])) {
    const [came = 0, counted = 0] = [arrived.get(key), debits.get(key)]
    if (!untimely && came > counted + spare)
      findings.push({ kind: 'debit', text: `${key}: ${came} requests arrived and ${counted} were debited` })
    if (wasted !== undefined && !key.endsWith(` ${assumed}`) && counted - came > wasted)
      findings.push({
        kind: 'debit',
        text: `${key}: ${counted} were debited and only ${came} requests arrived`,
      })
  }
  return findings
}
