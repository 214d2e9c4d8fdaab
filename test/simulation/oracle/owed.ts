import { Findings } from './asked.ts'
import { allowanceOf } from './contract.ts'
import { areDetailsDue, callsGivenUp, hasRoom, readListed } from './details.ts'
import type { Examination, Finding } from './examination.ts'

const details = ['call-sessions', 'call-metrics'] as const

/** What could be had is not owed any more when all is over, and what cannot be read is as long as it is not given up. */
export async function examineOwed(examination: Examination): Promise<readonly Finding[]> {
  const { isEnd, rows, apps, sandbox } = examination
  if (!isEnd) return []
  const found = new Findings()
  const owed = Map.groupBy(
    await rows<{ app: string; stream: string; item: string; part: string }>(
      `select app_id as app, stream, item, part from ingest.work_item where state = 'pending'`,
    ),
    ({ app, item }) => `${app} ${item}`,
  )
  const lost = await callsGivenUp(examination)
  const isListed = await readListed(examination)
  const isUnreadable = sandbox.settings.switches.kvs === 'words'
  for (const { id: app, plan } of apps) {
    const allowance = allowanceOf('call-details', plan)
    if (!allowance || !['callSessions', 'callMetrics'].every(each => hasRoom(examination, app, each)))
      continue
    const truth = sandbox.analytics(app)
    for (const call of truth.calls()) {
      const items = owed.get(`${app} ${call.callId}`) ?? []
      if (!areDetailsDue(examination, call, allowance) || !isListed(call)) continue
      const isSpoilt = isUnreadable || (truth.points(call.callId)?.malformed ?? 0) > 0
      for (const { stream, part } of items)
        if (!isSpoilt || stream !== 'call-metrics')
          found.add('owed', `${app} ${stream}`, `${call.callId} ${part}`)
      const isGivenUp = details.some(stream => lost.has(`${app} ${stream} ${call.callId}`))
      // A call that is said to end before it begins is asked about at its begin alone.
      const isAsked = call.item.destroyed_ts >= call.item.created_ts
      if (isSpoilt && isAsked && items.length === 0 && !isGivenUp)
        found.add('lost', `${app} call-metrics`, `${call.callId}: not all can be read, and nobody owes it`)
    }
  }
  return found.list()
}
