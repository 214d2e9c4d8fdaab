import type { TrueCall } from '../../../sandbox/src/index.ts'
import { firstHad, type Gap, gapsOf, isTimely, tell } from './analytics-gaps.ts'
import { type Asked, askedOf, Findings, say } from './asked.ts'
import { firstReach } from './calls.ts'
import { type Allowance, allowanceOf } from './contract.ts'
import { extentOf, hasRoom, listable } from './details.ts'
import type { Examination, Finding } from './examination.ts'
import { hasHeavySeconds, lacksPages } from './heavy.ts'
import { margins } from './margins.ts'
import { longestUnbroken, openMinutes } from './open.ts'

/** What is about to leave the reach goes before all else, so that this many minutes in a row are enough for it. */
const enough = 15

/**
 * The gap ledger of calls and of their details: of what it says, nothing was answered, or not when it could no longer
 * change; nothing of it could be had for long; what was never asked for and has left the reach is in it.
 */
export async function examineCallGaps(examination: Examination): Promise<readonly Finding[]> {
  const found = new Findings()
  const asked = askedOf(examination)
  const gaps = Map.groupBy(await gapsOf(examination, '^call'), ({ app }) => app)
  for (const { id: app, plan } of examination.apps) {
    const own = gaps.get(app) ?? []
    const questions = asked.filter(each => each.app === app)
    const search = allowanceOf('call-search', plan)
    const details = allowanceOf('call-details', plan)
    if (search) judgeCalls({ examination, found, app, allowance: search, asked: questions }, own)
    if (details) judgeDetails({ examination, found, app, allowance: details, asked: questions }, own)
  }
  return found.list()
}

interface Ledger {
  readonly examination: Examination
  readonly found: Findings
  readonly app: string
  readonly allowance: Allowance
  readonly asked: readonly Asked[]
}

function judgeCalls(ledger: Ledger, gaps: readonly Gap[]): void {
  const { examination, found, app, allowance, asked } = ledger
  const { start, end, isInterrupted, callLateness = margins.callLateness } = examination
  const own = gaps.filter(({ stream }) => stream === 'calls')
  const served = asked.filter(({ operation, answer }) => operation === 'callSearch' && answer === 'served')
  const wrong = (text: string, gap: Gap) => found.add('gap', `${app} calls`, `${text}: ${tell(gap)}`)
  for (const gap of own) {
    const { from, to, reason } = gap
    if (reason === 'overflow') {
      if (!isOverfull(ledger, gap)) wrong('holds no more than is listed', gap)
      continue
    }
    if (!isTimely(gap, 1, allowance.availableData)) wrong('too early', gap)
    if (from < firstHad(examination, allowance.availableData)) wrong('before anything could be had', gap)
    const within = served.filter(each => each.from <= from && each.to >= to)
    const late = within.some(({ time }) => time / 1_000 > to + callLateness + margins.unknownClock)
    if (reason === 'expired' && within.length > 0 && !isInterrupted) wrong('was answered', gap)
    if (reason === 'unconfirmed' && within.length === 0 && !isInterrupted && !served.some(meets(gap)))
      wrong('was never answered', gap)
    if (reason === 'unconfirmed' && late && !isInterrupted && !isAllOfOpenCalls(ledger, gap))
      wrong('was answered when it could no longer change', gap)
    if (isAvoidable(ledger, 'callSearch', gap)) wrong('could be had', gap)
  }
  const first = start / 1_000 - allowance.availableData + firstReach
  const gone = end / 1_000 - allowance.availableData - margins.notice
  const known = [...served.map(({ from, to }) => ({ from, to })), ...own]
  for (let at = Math.ceil(first / 60) * 60; at < gone; at += 60) {
    if (!known.some(({ from, to }) => from <= at && at < to))
      found.add('gap', `${app} calls`, `missing: ${say(at)} was never answered`)
  }
}

/** Whether a search of that second alone matches more than its pages list; it asks for the end of the second too. */
function isOverfull({ examination, app }: Ledger, { from, to }: Gap): boolean {
  const { callSearch } = examination.sandbox.settings.switches
  const matches = [...examination.sandbox.analytics(app).calls()].filter(({ item }) => {
    const last = callSearch === 'overlap' ? Math.max(item.created_ts, item.destroyed_ts) : item.created_ts
    return item.created_ts <= to && last >= from
  })
  return to - from === 1 && matches.length > listable(examination)
}

function meets({ from, to }: Gap) {
  return (asked: Asked) => asked.from < to && asked.to > from
}

/** Whether in each of its seconds a call begins that went on for so long that its begin had to stay owed. */
function isAllOfOpenCalls({ examination, app }: Ledger, { from, to }: Gap): boolean {
  const open = [...examination.sandbox.analytics(app).calls()].flatMap(({ item }) => {
    const isWithin = item.created_ts >= from && item.created_ts < to
    return isWithin && (!item.finished || item.destroyed_ts > to) ? [item.created_ts] : []
  })
  return new Set(open).size === to - from
}

function judgeDetails(ledger: Ledger, gaps: readonly Gap[]): void {
  const { examination, found, app, allowance, asked } = ledger
  const calls = new Map([...examination.sandbox.analytics(app).calls()].map(call => [call.callId, call]))
  const byCall = Map.groupBy(asked, ({ operation, query }) => `${operation} ${query.get('call_id')}`)
  for (const gap of gaps) {
    const operation = { 'call-sessions': 'callSessions', 'call-metrics': 'callMetrics' }[gap.stream]
    if (!operation) continue
    const call = calls.get(gap.series)
    const wrong = (text: string) =>
      found.add('gap', `${app} ${gap.stream}`, `${text}: ${gap.series} ${tell(gap)}`)
    if (!call) {
      wrong('of nobody')
      continue
    }
    // What no process lives to store is given up at once.
    const isDeadly = gap.reason === 'too_large' && examination.isInterrupted && hasHeavySeconds(examination)
    if (!isDeadly && !isTimely({ ...gap, to: gap.from + 1 }, 1, allowance.availableData)) wrong('too early')
    const { from, to } = extentOf(call)
    // Whoever is told that a call goes on reckons with it until it is told otherwise.
    const { finished } = call.item
    // So it is where nobody says when it ended: as long as somebody stayed, the next slice is asked for.
    const last = call.isEndTold ? to : to + allowance.timeFrame
    const until = finished ? Math.max(last, from + allowance.timeFrame) : examination.end / 1_000
    if (gap.from < from || gap.to > until) wrong('of another range')
    const questions = byCall.get(`${operation} ${gap.series}`) ?? []
    if (!isReasonRight(ledger, gap, questions, call)) wrong('for another reason')
    if (hasRoom(examination, app, operation) && isAvoidable(ledger, operation, gap)) wrong('could be had')
  }
}

/** What was lost for its answers must have been asked for; what expired was not answered to its end. */
function isReasonRight(
  { examination }: Ledger,
  { from, to, reason, stream }: Gap,
  questions: readonly Asked[],
  call: TrueCall,
): boolean {
  const within = questions.filter(asked => asked.from <= from && asked.to >= to)
  switch (reason) {
    case 'expired': {
      // One question tells the sessions of a small call, and those of large ones take several pages.
      const isSmall = call.sessions.length < Math.min(20, examination.sandbox.settings.switches.mostPerPage)
      const isAnswered = within.some(({ answer }) => answer === 'served')
      return examination.isInterrupted || stream !== 'call-sessions' || !isSmall || !isAnswered
    }
    case 'unreadable': {
      const { quirks, switches } = examination.sandbox.settings
      const isCut = stream === 'call-sessions' && lacksPages(examination, call)
      return isCut || quirks.malformedValue > 0 || switches.kvs === 'words'
    }
    case 'refused':
    case 'vanished':
    case 'too_large':
      return questions.length > 0
    default:
      return false
  }
}

/** Whether all of it could be asked for long enough; of what processes were killed in, only once that was over. */
function isAvoidable(
  { examination, app, allowance }: Ledger,
  operation: string,
  { from, to, reason }: Gap,
): boolean {
  if (reason !== 'expired') return false
  const minutes = openMinutes(examination, app, operation, allowance)
  const start = examination.start / 1_000
  const begin = examination.isInterrupted ? examination.healed / 1_000 : start
  const isHad = (first: number, last: number) =>
    longestUnbroken(minutes, (open, n) => {
      const time = start + n * 60
      // Through the whole of the minute.
      return time >= begin && time > last + open.dataDelay && time + 60 < first + open.availableData
    }) >= enough
  if (operation !== 'callSearch') return isHad(from, to)
  if (!hasRoom(examination, app, operation)) return false
  for (let at = from; at < to; at += 60) if (isHad(at, Math.min(at + 60, to))) return true
  return false
}
