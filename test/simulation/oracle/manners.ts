import type { Arrival } from '../../../sandbox/src/index.ts'
import type { Spell } from '../spells.ts'
import { groupOf, playerLimits } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

const second = 1_000
const minute = 60 * second
/** Requests that were on their way when the answer was heard: a network delays by ten seconds at most, if it delays. */
const onTheirWay = { slow: 12 * second, prompt: second } as const
/** Longer than this nobody is kept away by one answer: a run is over by then. */
const longestAsked = 3_600
/** A day's requests that are spent, and a service that was not bought: neither is otherwise within this, seconds. */
const lasting = /^(qpd limit error$|you have no auth)/
const shortestLasting = 12 * 60
/** Who is turned away without being told for how long stays away for a minute; what is heard of at one time may be two things. */
const shortestAway = 45
/** Credentials that are refused are read anew and tried once more, at once; what follows within this is another time, ms. */
const triedAgain = 75 * second
/**
 * How often a process may be turned away from one operation within a minute: as many as are under way at one time, and a few
 * that look whether it is over. Each room has a log of its own, so that many may be unknown at one time.
 */
const mostRefused = 12
const mostFailed = 40
/** A muted room is refused by itself, and so is every other one; the feed's news of it may have it tried once more. */
const mostMuted = 6

/** Rules that keep a provider in trouble from being asked all the more. */
export function examineManners(examination: Examination): readonly Finding[] {
  const { sandbox, askers = [], isCalm = false, isPrompt = false, faults, start } = examination
  // An answer without data may be half of one, and the same is asked at once.
  const areHalves = sandbox.settings.switches.emptyRoomLists === 'no-data'
  const slack = onTheirWay[isPrompt ? 'prompt' : 'slow']
  const byAskers = new Set(askers.flatMap(({ arrived }) => arrived))
  const services = Map.groupBy(
    sandbox.arrivals.list(0, sandbox.arrivals.count).filter(({ n }) => byAskers.has(n)),
    serviceOf,
  )
  return askers.flatMap(({ name, arrived }) => {
    const arrivals = arrived.flatMap(n => sandbox.arrivals.list(n - 1, 1))
    const groups = Map.groupBy(arrivals, ({ app, operation, target }) => {
      // The feeds of several regions have nothing to do with each other.
      return `${app} ${operation} ${target.split('/')[1]}`
    })
    const own = new Set(arrived)
    const pressed = [...services].flatMap(([about, asked]) => pressing(`${name} ${about}`, asked, own))
    const each = [...groups].flatMap(([about, own]) => {
      const said = `${name} ${about}`
      return [
        ...tooMany(
          said,
          own.filter(arrival => isRefused(arrival) && !isMuted(arrival)),
          mostRefused,
        ),
        ...[...Map.groupBy(own.filter(isMuted), ({ target }) => roomOf(target))].flatMap(([room, refused]) =>
          tooMany(`${said} ${room}`, refused, mostMuted),
        ),
        ...[...Map.groupBy(own.filter(isCircle), ({ target }) => roomOf(target))].flatMap(([room, led]) =>
          tooMany(`${said} ${room}`, led, mostRefused),
        ),
        ...tooMany(
          said,
          own.filter(arrival => isFailed(arrival) && !isCircle(arrival)),
          mostFailed,
        ),
        // Where processes stand still or are killed, nobody knows what they heard.
        ...(isCalm ? tooSoon(said, own, { faults, start, slack }) : []),
        ...(isCalm && isPrompt && !areHalves ? inVain(said, own) : []),
        ...(isCalm ? undivided(said, own) : []),
      ]
    })
    return [...pressed, ...each]
  })
}

/** What is answered by one service of an app, and is away with it. */
function serviceOf({ app, operation = '', target }: Arrival): string {
  const service = groupOf[operation] ?? (operation in playerLimits ? 'players' : 'classrooms')
  return `${app} ${service} ${target.split('/')[1]}`
}

/** Pauses that double from a second have grown to a minute after so long, ms; then a request or two a minute look whether it is over. */
const untilPatient = 3 * minute
const mostAsPatient = 6

/**
 * A service that has answered nothing for minutes is asked a few times a minute, however much waits for it. Who takes an app over
 * from others that asked meanwhile begins anew.
 */
function pressing(said: string, arrivals: readonly Arrival[], own: ReadonlySet<number>): readonly Finding[] {
  const late: number[] = []
  let since = Number.POSITIVE_INFINITY
  for (const arrival of arrivals) {
    const { time, n } = arrival
    const isOwnFailure = own.has(n) && (isFailed(arrival) || isRefused(arrival)) && !isUnknown(arrival)
    since = isOwnFailure ? Math.min(since, time) : Number.POSITIVE_INFINITY
    if (time - since > untilPatient) late.push(time)
  }
  return tooManyTimes(said, late, mostAsPatient)
}

/** Asked too often, or without being allowed to. */
function isRefused({ status, fault, refusal }: Arrival): boolean {
  const isTurnedAway = status === 429 || status === 401 || status === 403
  return isTurnedAway || (fault === 'status' && status === 200) || refusal !== undefined
}

/** What the contract calls muted: an answer about one room. */
function isMuted({ status, fault, refusal, operation = '' }: Arrival): boolean {
  return status === 403 && fault === undefined && refusal === undefined && ofRooms.test(operation)
}

/** That a room or a call is not known is an answer about this one: its service is there. */
function isUnknown({ status, operation = '' }: Arrival): boolean {
  return status === 404 && (ofRooms.test(operation) || ofCalls.test(operation))
}

const ofRooms = /^(roomEvents|recordings|resources|popupQuiz|poll)$/

function roomOf(target: string): string {
  return /\/rooms\/([^/?]*)/.exec(target)?.[1] ?? ''
}

function isFailed(arrival: Arrival): boolean {
  return arrival.fault !== undefined && harmful.has(arrival.fault) && !isRefused(arrival)
}

/** A log that leads in a circle can be read, page by page: it says nothing of the logs of other rooms. */
function isCircle({ fault, operation = '' }: Arrival): boolean {
  return fault === 'looping-next-id' && ofRooms.test(operation)
}

const harmful: ReadonlySet<string> = new Set([
  ...[
    'status',
    'html',
    'malformed',
    'truncated',
    'redirect',
    'reset',
    'lost-response',
    'wrong-types',
    'unknown-code',
    'looping-next-id',
  ],
])

function tooMany(said: string, arrivals: readonly Arrival[], most: number): readonly Finding[] {
  return tooManyTimes(
    said,
    arrivals.map(({ time }) => time).sort((a, b) => a - b),
    most,
  )
}

function tooManyTimes(said: string, times: readonly number[], most: number): readonly Finding[] {
  const last = times.find((time, n) => time - (times[n - most] ?? Number.NEGATIVE_INFINITY) < minute)
  if (last === undefined) return []
  const text = `${said}: turned away more than ${most} times within a minute, until ${new Date(last).toISOString()}`
  return [{ kind: 'limit', text }]
}

/** What is asked about a call one by one, and answered whole as what is asked about a room. */
const ofCalls = /^(callSessions|callMetrics)$/
/** After an answer that could be stored nobody asks the same again within this, ms, but for some by chance. */
const justAnswered = 1_200
const mostInVain = 8

/** Where nothing went wrong with an answer, and nothing with storing it, whoever asks the same at once has not made use of it. */
function inVain(said: string, arrivals: readonly Arrival[]): readonly Finding[] {
  const again = [...Map.groupBy(arrivals, ({ target }) => target).values()].flatMap(own =>
    own.filter(({ operation = '', time }, n) => {
      const before = own[n - 1]
      const isUseful = before && before.status === 200 && before.fault === undefined && !before.refusal
      return (
        isUseful && (ofRooms.test(operation) || ofCalls.test(operation)) && time - before.time < justAnswered
      )
    }),
  )
  const [first] = again
  if (!first || again.length <= mostInVain) return []
  const text = `${said}: asked ${again.length} times what was just answered, first at ${new Date(first.time).toISOString()}`
  return [{ kind: 'limit', text }]
}

const severalSids = /[?&]sids=[^&]*(,|%2C)/

/** What was answered without an end is asked for in parts, where it is of several. */
function undivided(said: string, arrivals: readonly Arrival[]): readonly Finding[] {
  const endless = new Map<string, number>()
  for (const { fault, target, n } of arrivals)
    if ((fault === 'endless' || fault === 'weighty') && severalSids.test(target) && !endless.has(target))
      endless.set(target, n)
  const again = arrivals.find(({ target, n }) => n > (endless.get(target) ?? Number.POSITIVE_INFINITY))
  if (!again) return []
  const at = new Date(again.time).toISOString()
  return [{ kind: 'limit', text: `${said}: asked at ${at} what had been answered without an end` }]
}

/** Whoever is told how long to stay away stays away so long. */
function tooSoon(
  said: string,
  arrivals: readonly Arrival[],
  {
    faults,
    start,
    slack,
  }: { readonly faults: readonly Spell[]; readonly start: number; readonly slack: number },
): readonly Finding[] {
  const early = arrivals.flatMap(told => {
    const asked = askedToWait(told, arrivals, { faults, start }) * second
    const [from, until] = [told.time + slack, told.time + asked]
    return arrivals.filter(({ time }) => from < time && time < until).slice(0, 1)
  })
  const [first] = early
  if (!first) return []
  const at = new Date(first.time).toISOString()
  return [{ kind: 'limit', text: `${said}: asked at ${at}, while the provider had said to stay away` }]
}

/** Seconds that the answer named, or that what it says lasts; 0 where others are to blame, or nobody knows. */
function askedToWait(
  told: Arrival,
  arrivals: readonly Arrival[],
  { faults, start }: { readonly faults: readonly Spell[]; readonly start: number },
): number {
  const { fault, time, app, operation, status } = told
  if (fault !== 'status') return 0
  const spell = faults.find(({ from, to, rules: [rule] }) => {
    const isOf = (rule?.operation ?? operation) === operation && (rule?.app ?? app) === app
    return rule?.kind === 'status' && isOf && start + from <= time && time < start + to
  })
  const [rule] = spell?.rules ?? []
  if (rule?.kind === 'status' && lasting.test(rule.message ?? '')) return shortestLasting
  if (status === 401) return isSecond(told, arrivals) ? shortestAway : 0
  const asked = rule?.retryIn ?? Number(rule?.retryAfter ?? 0)
  if (asked > 0 && asked <= longestAsked) return asked
  return status === 429 && spell ? shortestAway : 0
}

/** Whether the same was refused just before: new credentials would have been taken. */
function isSecond({ time, n }: Arrival, arrivals: readonly Arrival[]): boolean {
  return arrivals.some(
    other =>
      other.status === 401 && other.n < n && other.time + second < time && time - other.time < triedAgain,
  )
}
