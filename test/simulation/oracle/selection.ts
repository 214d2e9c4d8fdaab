import type { TrueCall } from '../../../sandbox/src/index.ts'
import { askedOf, Findings, onceEach } from './asked.ts'
import { allowanceOf } from './contract.ts'
import { areDetailsDue, callsGivenUp, hasRoom, readListed } from './details.ts'
import type { Examination, Finding } from './examination.ts'
import { takenOver } from './switched-off.ts'

/** Of which calls an operator has the metrics fetched. */
export interface Selection {
  readonly app: string
  readonly minUsers: number
  /** From when on it is another number, ms: of a run, or since the epoch. */
  readonly narrowed?: { readonly at: number; readonly minUsers: number }
}

/** Whether the metrics of a call are to be fetched: by who was in it, or because somebody asked for them by its ID. */
export function isMeasured(examination: Examination, app: string, call: TrueCall): boolean {
  return standingOf(examination, app, call) === 'measured'
}

/**
 * A call is decided when its sessions are listed first, and what was asked for once stays asked for. Where that was while the
 * configuration was changed, nobody can say.
 */
function standingOf(
  examination: Examination,
  app: string,
  { callId, sessions }: TrueCall,
): 'measured' | 'left out' | 'unsure' {
  const { selection, wanted = [] } = examination
  if (selection?.app !== app) return 'measured'
  const isWanted = wanted.some(one => one.app === app && one.stream === 'call-metrics' && one.call === callId)
  const users = new Set(sessions.map(({ uid }) => uid)).size
  const { minUsers, narrowed } = selection
  if (isWanted || users >= Math.max(minUsers, narrowed?.minUsers ?? 0)) return 'measured'
  if (!narrowed || users < minUsers) return 'left out'
  const listed = firstListed(examination).get(`${app} ${callId}`) ?? Number.POSITIVE_INFINITY
  if (listed < narrowed.at) return 'measured'
  return listed < narrowed.at + takenOver ? 'unsure' : 'left out'
}

/** When the sessions of each call were listed first. */
const firstListed = onceEach(examination => {
  const first = new Map<string, number>()
  for (const { app, operation, query, time, answer } of askedOf(examination)) {
    const key = `${app} ${query.get('call_id')}`
    if (operation === 'callSessions' && answer === 'served' && !first.has(key)) first.set(key, time)
  }
  return first
})

interface Told {
  readonly id: string
  readonly leftOut: boolean
  readonly partial: boolean
  readonly values: boolean
}

/** Calls that are left out on purpose are not asked for, have no values, and are told; others are not told to be. */
export async function examineSelection(examination: Examination): Promise<readonly Finding[]> {
  const { selection, sandbox, rows, apps, isEnd } = examination
  const found = new Findings()
  const plan = apps.find(({ id }) => id === selection?.app)?.plan
  const allowance = plan && allowanceOf('call-details', plan)
  if (!isEnd || !selection || !allowance || !hasRoom(examination, selection.app, 'callSessions')) return []
  const { app } = selection
  const lost = await callsGivenUp(examination)
  const isListed = await readListed(examination)
  const asked = new Set(
    askedOf(examination)
      .filter(one => one.app === app && one.operation === 'callMetrics')
      .map(({ query }) => query.get('call_id')),
  )
  const told = new Map(
    (
      await rows<Told>(
        `select q.call_id as id, q.left_out as "leftOut", q.partial,
                exists (select from analytics.session_series s where s.app_id = q.app_id and s.call_id = q.call_id) as values
         from analytics.call_quality q where q.app_id = '${app}'`,
      )
    ).map(row => [row.id, row]),
  )
  for (const call of sandbox.analytics(app).calls()) {
    const { callId, sessions } = call
    const row = told.get(callId)
    const isGivenUp = ['call-sessions', 'call-metrics'].some(each => lost.has(`${app} ${each} ${callId}`))
    if (!row || sessions.length === 0 || isGivenUp || !areDetailsDue(examination, call, allowance)) continue
    if (!isListed(call)) continue
    const wrong = (text: string) => found.add('different', `${app} selection`, `${callId} ${text}`)
    const standing = standingOf(examination, app, call)
    if (standing === 'unsure') continue
    const isLeftOut = standing === 'left out'
    if (row.leftOut !== isLeftOut) wrong(isLeftOut ? 'is not told to be left out' : 'is told to be left out')
    if (!isLeftOut) continue
    if (asked.has(callId)) wrong('is left out, and its metrics are asked for')
    if (row.values) wrong('is left out, and has values')
    if (row.partial) wrong('is left out on purpose, and said to be partial')
  }
  return found.list()
}
