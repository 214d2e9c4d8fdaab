import type { TrueCall } from '../../../sandbox/src/index.ts'
import { type Gap, gapsOf } from './analytics-gaps.ts'
import { type Asked, askedOf, Findings, say } from './asked.ts'
import { allowanceOf } from './contract.ts'
import { areDetailsDue, extentOf, hasRoom, readListed } from './details.ts'
import type { Examination, Finding } from './examination.ts'

const streamOf = { callSessions: 'call-sessions', callMetrics: 'call-metrics' } as const
type Operation = keyof typeof streamOf

/** The least that can be asked for, seconds. */
const least = 1

/**
 * What cannot be had of a call though the rest of it can: the second that makes each answer too large, and sessions behind the
 * last page that is served. The ledger has that and nothing else of it, and of each part that was too large in any size there is
 * a letter.
 */
export async function examineHeavy(examination: Examination): Promise<readonly Finding[]> {
  const { heavySessions, heavyMetrics, cutSessions } = examination.sandbox.settings.quirks
  if (heavySessions + heavyMetrics + cutSessions === 0) return []
  const found = new Findings()
  const isListed = await readListed(examination)
  const ledger = {
    ...{ examination, found, letters: await readLetters(examination) },
    gaps: Map.groupBy(await gapsOf(examination, '^call-'), keyOf),
    asked: Map.groupBy(askedOf(examination), ({ app, operation, query }) =>
      [app, streamOf[operation as Operation], query.get('call_id')].join(' '),
    ),
  }
  for (const { id: app, plan } of examination.apps) {
    const allowance = allowanceOf('call-details', plan)
    if (!allowance) continue
    const isRoomy = (Object.keys(streamOf) as Operation[]).every(each => hasRoom(examination, app, each))
    for (const call of examination.sandbox.analytics(app).calls()) {
      const isDue = isRoomy && isListed(call) && areDetailsDue(examination, call, allowance)
      const isGone = extentOf(call).to + allowance.availableData + margin < examination.end / 1_000
      for (const operation of Object.keys(streamOf) as Operation[])
        judge(ledger, { app, call, operation, isOver: isDue && isGone })
    }
  }
  return found.list()
}

/** What can no longer be had is in the ledger within this, seconds. */
const margin = 600

interface Ledger {
  readonly examination: Examination
  readonly found: Findings
  readonly gaps: ReadonlyMap<string, readonly Gap[]>
  readonly asked: ReadonlyMap<string, readonly Asked[]>
  /** Letters of what was too large, by call. */
  readonly letters: ReadonlyMap<string, readonly string[]>
}

interface Judged {
  readonly app: string
  readonly call: TrueCall
  readonly operation: Operation
  /** All of it could be had, and what could not has left the reach. */
  readonly isOver: boolean
}

function judge(ledger: Ledger, { app, call, operation, isOver }: Judged): void {
  const { examination, found } = ledger
  const stream = streamOf[operation]
  const key = `${app} ${stream} ${call.callId}`
  const gaps = ledger.gaps.get(key) ?? []
  const lost = gaps.filter(({ reason }) => reason === 'too_large').map(nameOf)
  const { heavy } = call
  const isHeavy = heavy?.operation === operation
  for (const { from, to, reason } of gaps) {
    const isOfIt = isHeavy && to - from <= least && from <= heavy.at && heavy.at <= to
    if (reason === 'too_large' && !isOfIt)
      found.add('gap', key, `${say(from)} to ${say(to)} is too large, and could be had`)
  }
  const letters = ledger.letters.get(key) ?? []
  if (letters.length === 0 ? lost.length > 0 : !isHeavy)
    found.add('lost', key, `${letters.length} letters of what was too large`)
  judgeDeaths(ledger, key, lost)
  if (!isOver || !examination.isCalm) return
  const failed = (ledger.asked.get(key) ?? []).filter(({ from, to, isWeighty }) => {
    return isWeighty && to - from <= least
  })
  const owed = [...new Set(failed.map(nameOf))].toSorted()
  // Whose metrics they are may be on no page that is served.
  if (isHeavy && !call.isCut && owed.length === 0)
    found.add('gap', key, 'it was never asked for its second alone')
  if (owed.join() !== lost.toSorted().join())
    found.add('gap', key, `lost as too large are ${lost.join()} instead of ${owed.join()}`)
  if (isHeavy && letters.length !== failed.length)
    found.add('different', key, `${letters.length} letters instead of ${failed.length}`)
  judgeCut(ledger, key, call, gaps)
}

/**
 * What nobody lived to store is asked for in parts; and where there is no answer to keep the letter holds the question. What
 * was on its way when a process died of another answer is asked for once more.
 */
function judgeDeaths(
  { examination, found, asked, letters }: Ledger,
  key: string,
  lost: readonly string[],
): void {
  const { answerBytes, isInterrupted, healed } = examination
  if (answerBytes !== undefined) return
  const rangeOf = (question: string) => {
    const query = new URL(question, 'http://provider').searchParams
    return { from: Number(query.get('start_ts')), to: Number(query.get('end_ts')) }
  }
  const ranges = new Set((letters.get(key) ?? []).map(body => nameOf(rangeOf(body))))
  for (const range of lost)
    if (!ranges.has(range)) found.add('lost', key, `a letter with the question of ${range}`)
  if (!isInterrupted) return
  const weighty = (asked.get(key) ?? []).filter(({ isWeighty, time }) => isWeighty && time < healed)
  const alike = Map.groupBy(weighty, ({ query }) =>
    ['start_ts', 'end_ts', 'sids'].map(name => query.get(name)).join(' '),
  )
  for (const [question, { length }] of alike)
    if (length > mostDeaths)
      found.add('limit', key, `${length} processes had the answer to ${question} in their hands`)
}

const mostDeaths = 3

/** Sessions that are counted and on no page that is served: what is lost is each part of which more of them are told than a page holds. */
function judgeCut(
  { examination, found, asked }: Ledger,
  key: string,
  call: TrueCall,
  gaps: readonly Gap[],
): void {
  const { mostPerPage, sessionPages } = examination.sandbox.settings.switches
  // Where a further page is refused, that may be what it met last.
  const whys = sessionPages === 'refused' ? ['unreadable', 'refused'] : ['unreadable']
  const unreadable = gaps.filter(({ reason }) => whys.includes(reason))
  const mayBe = key.split(' ')[1] === 'call-sessions' && lacksPages(examination, call)
  const isFull = ({ from, to }: Pick<Gap, 'from' | 'to'>) =>
    call.sessions.filter(({ item }) => item.join_ts <= to && item.leave_ts >= from).length > mostPerPage
  for (const gap of unreadable)
    if (!mayBe || !isFull(gap)) found.add('gap', key, `${nameOf(gap)} is unreadable, and is on one page`)
  if (!mayBe) return
  const { from, to } = extentOf(call)
  const read = (asked.get(key) ?? []).filter(question => question.answer === 'served' && !isFull(question))
  const known = [...unreadable, ...read]
  for (let at = from; at < to; at++)
    if (!known.some(part => part.from <= at && at < part.to)) {
      found.add('gap', key, `${say(at)} is on no page that is served, and not unreadable`)
      return
    }
}

/** Whether some of the sessions of a call are on no page that is served, though they are counted. */
export function lacksPages({ sandbox }: Examination, call: TrueCall): boolean {
  const { mostPerPage } = sandbox.settings.switches
  return call.isCut && call.sessions.length > mostPerPage
}

/** Whether there are seconds of calls that make answers large. */
export function hasHeavySeconds({ sandbox }: Examination): boolean {
  const { heavySessions, heavyMetrics } = sandbox.settings.quirks
  return heavySessions + heavyMetrics > 0
}

/** Whether nobody can be told of the second: not of that session, or of none. */
export function isBeyond({ heavy }: TrueCall, sid: string, second: number): boolean {
  return heavy !== undefined && heavy.at === second && (heavy.sid ?? sid) === sid
}

function nameOf({ from, to }: Pick<Gap, 'from' | 'to'>): string {
  return `${say(from)} to ${say(to)}`
}

function keyOf({ app, stream, series }: Gap): string {
  return `${app} ${stream} ${series}`
}

async function readLetters({ rows }: Examination): Promise<ReadonlyMap<string, readonly string[]>> {
  const letters = await rows<{ key: string; body: string }>(
    `select app_id || ' ' || stream || ' ' || series as key, convert_from(body, 'latin1') as body
     from ingest.dead_letter where reason = 'too_large' and stream in ('call-sessions', 'call-metrics')`,
  )
  return new Map(
    [...Map.groupBy(letters, ({ key }) => key)].map(([key, own]) => [key, own.map(({ body }) => body)]),
  )
}
