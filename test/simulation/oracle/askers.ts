import type { Arrival } from '../../../sandbox/src/index.ts'
import type { Examination, Finding } from './examination.ts'
import { type Standstill, stoodBetween } from './standstills.ts'

/** How long whoever lost a shard may go on while it does not stand still: it asks whose it is, and had a request on its way, ms. */
const untilItKnows = 60_000
/** How long a process may ask on after the database went: what was admitted, and is on its way for ten seconds, ms. */
const untilItIsMissed = 15_000

interface Owned {
  readonly app: string
  readonly owner: string
  readonly since: number
}

/** Only who owns an app asks about it, all of its feeds, and nobody while nothing can be stored. */
export async function examineAskers(examination: Examination): Promise<readonly Finding[]> {
  const { rows, apps, sandbox, askers = [], outages = [], rewound = [] } = examination
  const shards = apps.map(({ id }) => `('${id}', simulated.shard('${id}'))`).join(', ')
  // Where history went back, what it knew of owners went with it.
  const owned =
    rewound.length > 0 || askers.length === 0
      ? []
      : await rows<Owned>(`
    select a.app, o.owner, extract(epoch from o.since)::float8 * 1000 as since
    from simulated.owned o join (values ${shards}) a(app, shard) using (shard) order by o.since`)
  const byApp = Map.groupBy(owned, ({ app }) => app)
  const away = outages.filter(({ from, to }) => to - from > untilItIsMissed)
  const wrong = askers.flatMap(({ name, arrived, stoodStill = [] }) => {
    const requests = arrived.flatMap(n => sandbox.arrivals.list(n - 1, 1))
    const strange = requests.find(({ app = '', time }) =>
      isOfOther(byApp.get(app) ?? [], { name, stoodStill }, time),
    )
    const vain = requests.find(({ time }) =>
      away.some(({ from, to }) => {
        // Who stood still meanwhile has missed nothing yet.
        const since = Math.max(from, ...stoodStill.filter(still => still.from < time).map(still => still.to))
        return time > since + untilItIsMissed && time < to
      }),
    )
    return [
      ...(strange
        ? [
            {
              kind: 'fence',
              text: `${name} asks ${strange.operation} of ${strange.app}, which another one owns`,
            } as const,
          ]
        : []),
      ...(vain
        ? [
            {
              kind: 'fence',
              text: `${name} asks ${vain.operation} of ${vain.app} while nothing can be stored`,
            } as const,
          ]
        : []),
    ]
  })
  const left = [
    ...unasked(examination),
    ...keptAway(examination),
    ...tooSeldom(examination),
    ...usersLeft(examination),
  ]
  return [...wrong, ...takenAway(examination, owned), ...left]
}

/** From the end of the faults until whoever was away is back, and has its share, ms. */
const untilAllAreBack = 4 * 60_000

/** When all is well nobody takes a shard from somebody who lives. */
function takenAway({ isEnd, healed, end }: Examination, owned: readonly Owned[]): readonly Finding[] {
  const taken = isEnd
    ? owned.find(({ since }) => since > healed + untilAllAreBack && since <= end)
    : undefined
  if (!taken) return []
  const text = `${taken.owner} took ${taken.app} at ${new Date(taken.since).toISOString()}, when all was well`
  return [{ kind: 'fence', text }]
}

/** How long after the faults all feeds are asked again, and how often at least from then on, ms. */
const allAsk = 60_000
const feedRound = 4 * 60_000
/** Nobody who watches a school leaves its feed alone for longer, whatever it answers, ms. */
const longestAlone = 5 * 60_000

/** Whoever is named in the configuration is asked for, however many they are. */
function usersLeft({ sandbox, apps, users = [], isEnd }: Examination): readonly Finding[] {
  if (!isEnd || users.length === 0) return []
  const questions = sandbox.arrivals
    .list(0, sandbox.arrivals.count)
    .filter(({ operation }) => operation === 'realtimeQuality')
    .map(({ app, target }) => ({ app, query: new URL(target, 'http://provider').searchParams }))
  return apps.flatMap(({ id }) => {
    const asked = questions
      .filter(({ app }) => app === id)
      .flatMap(({ query }) => (query.get('uids') ?? '').split(','))
    const left = users.filter(uid => !asked.includes(String(uid)))
    return left.map(
      uid => ({ kind: 'owed', text: `nobody asks for user ${uid} of ${id} in real time` }) as const,
    )
  })
}

/**
 * Each feed of an app is asked when all is well, and again and again where no process breaks, as one may forget what it would
 * have told: of one that nobody asks, others may know much, and never all.
 */
function unasked({
  sandbox,
  apps,
  start,
  healed,
  end,
  isEnd,
  isCalm,
  streams,
}: Examination): readonly Finding[] {
  if (!(streams?.includes('app-events') ?? true)) return []
  const isWell = isEnd && end - healed >= allAsk + feedRound
  const asked = Map.groupBy(
    sandbox.arrivals
      .list(0, sandbox.arrivals.count)
      .filter(({ operation }) => operation === 'appEvents')
      .map(({ app, target, time }) => ({ feed: `${app} ${target.split('/')[1]}`, time })),
    ({ feed }) => feed,
  )
  return apps.flatMap(({ id, regions }) =>
    regions.flatMap((region): readonly Finding[] => {
      const times = [start, ...(asked.get(`${id} ${region}`) ?? []).map(({ time }) => time), end]
      const isLeft = isWell && !times.slice(1, -1).some(time => time >= end - feedRound)
      const isAlone = isCalm && times.some((time, n) => n > 0 && time - times[n - 1]! > longestAlone)
      return isLeft || isAlone ? [{ kind: 'owed', text: `nobody asks the feed of ${id} in ${region}` }] : []
    }),
  )
}

/** A feed that was answered is asked again within its interval, however others fare, ms: what it tells it may forget. */
const usualRound = 75_000
/** One failure may be chance, whatever went before: within this the feed is tried again, ms. */
const triedAgain = 20_000

/** A feed that is answered waits for nothing else, and one that fails once after that not as if it had failed all along. */
function keptAway(examination: Examination): readonly Finding[] {
  const { sandbox, healed, isCalm, isPrompt, outages = [], streams } = examination
  if (!isCalm || !isPrompt || !(streams?.includes('app-events') ?? true)) return []
  const feeds = Map.groupBy(
    sandbox.arrivals
      .list(0, sandbox.arrivals.count)
      .filter(({ app, operation, time }) => operation === 'appEvents' && time < healed && app !== undefined),
    ({ app, target }) => `${app} in ${target.split('/')[1]}`,
  )
  return [...feeds].flatMap(([feed, asked]) => {
    const late = asked.find((arrival, n) => {
      const [before, next] = [asked[n - 1], asked[n + 1]]
      if (!next || outages.some(({ from, to }) => from < next.time && to > arrival.time)) return false
      const isFirst = before !== undefined && isAnswered(before) && hasFailed(arrival)
      const longest = isAnswered(arrival) ? usualRound : isFirst ? triedAgain : Number.POSITIVE_INFINITY
      return next.time - arrival.time > longest
    })
    if (!late) return []
    const text = `the feed of ${feed} is asked at ${new Date(late.time).toISOString()} and then left alone for too long`
    return [{ kind: 'owed', text }]
  })
}

function isAnswered({ status, fault, refusal }: Arrival): boolean {
  return status === 200 && fault === undefined && refusal === undefined
}

/** Said by the provider itself, so that whoever asked knows it at once. */
function hasFailed({ status = 0, fault }: Arrival): boolean {
  return fault === 'status' && status >= 500
}

/** What the network and the next question take, ms. */
const onItsWay = 3_000

/** A feed that told something is asked again at its usual pace, however long it was silent before. */
function tooSeldom({
  sandbox,
  apps,
  feedEvery,
  isUnbroken,
  isPrompt,
  healed,
}: Examination): readonly Finding[] {
  if (feedEvery === undefined || !isUnbroken || !isPrompt) return []
  const arrivals = sandbox.arrivals.list(0, sandbox.arrivals.count)
  const events = [...sandbox.truth()].filter(line => line.kind === 'event')
  return apps.flatMap(({ id, regions }) =>
    regions.flatMap((region): readonly Finding[] => {
      const rooms = sandbox.universe.app(id)?.rooms.filter(room => (room.region ?? regions.join()) === region)
      // Of what all regions know one alone may tell.
      const known = new Set(rooms?.map(({ uuid }) => uuid))
      const happened = events.filter(({ app, roomUuid }) => app === id && known.has(roomUuid))
      const asked = arrivals
        .filter(({ app, operation, time }) => app === id && operation === 'appEvents' && time < healed)
        .filter(({ target }) => target.split('/')[1] === region)
        .map(({ time }) => time)
      const late = asked.find((time, n) => {
        const [before, next] = [asked[n - 1], asked[n + 1] ?? time]
        const hasTold = before !== undefined && happened.some(({ at }) => before < at && at < time)
        return hasTold && next - time > feedEvery + onItsWay
      })
      if (late === undefined) return []
      const when = new Date(late).toISOString()
      const text = `the feed of ${id} in ${region} told something at ${when} and is left alone`
      return [{ kind: 'owed', text }]
    }),
  )
}

interface Asker {
  readonly name: string
  readonly stoodStill: readonly Standstill[]
}

/** Whether the app has been another's for so long. */
function isOfOther(owned: readonly Owned[], { name, stoodStill }: Asker, time: number): boolean {
  const place = owned.findLastIndex(({ since }) => since <= time)
  const mine = owned.findLastIndex(({ owner, since }) => owner === name && since <= time)
  const next = owned[mine + 1]
  if (next === undefined || mine < 0 || place <= mine) return false
  return time - next.since - stoodBetween(stoodStill, next.since, time) > untilItKnows
}
