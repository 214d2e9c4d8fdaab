import type { TrueCall, TrueSession } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf, Findings } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

interface StoredSession {
  readonly app: string
  readonly call: string
  readonly sid: string
  readonly cname: string | null
  readonly uid: string | null
  readonly network: string | null
  readonly platform: string | null
  readonly speaker: boolean | null
  readonly sdk: string | null
  readonly device: string | null
  readonly joined: number | null
  readonly left: number | null
  readonly finished: boolean | null
  readonly extra: unknown
}

/** Every cell of analytics.call_session. Which sessions are missing, `details.ts` says. */
export async function examineSessions(examination: Examination): Promise<readonly Finding[]> {
  const { rows, apps, sandbox } = examination
  const found = new Findings()
  const asked = Map.groupBy(
    askedOf(examination).filter(({ operation }) => operation === 'callSessions'),
    ({ app, query }) => `${app} ${query.get('call_id')}`,
  )
  const stored = await rows<StoredSession>(
    `select app_id as app, call_id as call, sid, cname, uid, network, platform, speaker, sdk_version as sdk,
            device_type as device, extract(epoch from joined_at)::float8 as joined,
            extract(epoch from left_at)::float8 as left, finished, extra
     from analytics.call_session`,
  )
  const calls = new Map<string, TrueCall>()
  for (const { id } of apps)
    for (const call of sandbox.analytics(id).calls()) calls.set(`${id} ${call.callId}`, call)
  for (const [key, members] of Map.groupBy(stored, ({ app, call }) => `${app} ${call}`)) {
    const sessions = new Map((calls.get(key)?.sessions ?? []).map(session => [session.sid, session]))
    // Nobody leaves a world that stands still any later.
    const last = sandbox.universe.happened()
    const own = asked.get(key) ?? []
    const times = new Set(own.map(question => asOf(question, last, sandbox)))
    const isOnePage = sessions.size <= Math.min(sandbox.settings.switches.mostPerPage, fewestAPage)
    for (const row of members) {
      const session = sessions.get(row.sid)
      if (!session) {
        found.add('different', `${row.app} call-sessions`, `${row.call} ${row.sid} is of nobody`)
        continue
      }
      compare(found, session, row, times)
      // Where nothing breaks each answer that came was stored; of several pages nobody knows on which one somebody stands.
      if (examination.isCalm && isOnePage && !row.finished && isToldGone(session, own, sandbox))
        found.add(
          'different',
          `${row.app} call-sessions finished`,
          `${row.call} ${row.sid} was told to have left`,
        )
      if (examination.isCalm && isOnePage && !row.speaker && isToldToSpeak(session, own, sandbox))
        found.add('different', `${row.app} call-sessions speaker`, `${row.call} ${row.sid} was told to speak`)
    }
  }
  return found.list()
}

/** What is asked for on a page of sessions at least. */
const fewestAPage = 20

/** The moment as of which an answer tells who is there, Unix seconds. */
function asOf({ time, to }: Asked, last: number, { settings }: Examination['sandbox']): number {
  const answered = Math.floor(Math.min(time, last) / 1_000)
  return settings.switches.staysAsOf === 'question' ? Math.min(answered, to) : answered
}

/** Whether an answer about a range that the stay reaches into has told that it had ended; what happens in that second may not be told. */
function isToldGone(
  { item }: TrueSession,
  asked: readonly Asked[],
  sandbox: Examination['sandbox'],
): boolean {
  const { finished, leave_ts } = item
  return asked.some(question => {
    const isAbout = question.from <= leave_ts && item.join_ts <= question.to
    return (
      finished && question.answer === 'served' && isAbout && leave_ts < asOf(question, question.time, sandbox)
    )
  })
}

/** Whether an answer about a range that the stay reaches into has told that somebody speaks in it. */
function isToldToSpeak(
  { item, speaksFrom }: TrueSession,
  asked: readonly Asked[],
  sandbox: Examination['sandbox'],
): boolean {
  return asked.some(question => {
    const isAbout = question.from <= item.leave_ts && item.join_ts <= question.to
    const isSince = speaksFrom / 1_000 < asOf(question, question.time, sandbox)
    return item.speaker && question.answer === 'served' && isAbout && isSince
  })
}

/** `times`: as of when its call was asked about, Unix seconds. */
function compare(
  found: Findings,
  { item, isLeaveTold, speaksFrom, joinedAt }: TrueSession,
  row: StoredSession,
  times: ReadonlySet<number>,
): void {
  const pairs: readonly (readonly [column: string, is: unknown, should: unknown])[] = [
    ['cname', row.cname, item.cname],
    ['uid', row.uid, String(item.uid)],
    ['network', row.network, item.network],
    ['platform', row.platform, item.platform],
    speaksFrom > joinedAt && item.speaker
      ? ['speaker', row.speaker === null, false]
      : ['speaker', row.speaker, item.speaker],
    ['sdk_version', row.sdk, item.sdk_version],
    ['device_type', row.device, item.device_type],
    ['joined_at', row.joined, item.join_ts],
    ['extra', JSON.stringify(row.extra), 'null'],
    row.finished === true
      ? ['left_at', row.left, item.leave_ts]
      : ['left_at', row.left === null ? !isLeaveTold : isLeaveTold && times.has(row.left), true],
    ['finished', row.finished === true && !item.finished, false],
    ['finished', row.finished === null, false],
  ]
  for (const [column, is, should] of pairs) {
    if (is !== should)
      found.add(
        'different',
        `${row.app} call-sessions ${column}`,
        `${row.call} ${row.sid}: ${is} instead of ${should}`,
      )
  }
}
