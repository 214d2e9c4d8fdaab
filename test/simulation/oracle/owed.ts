import { Findings } from './asked.ts'
import { allowanceOf } from './contract.ts'
import { areDetailsDue, hasRoom } from './details.ts'
import type { Examination, Finding } from './examination.ts'

/** What could be had is not owed any more when all is over. */
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
  const isUnreadable = sandbox.settings.switches.kvs === 'words'
  for (const { id: app, plan } of apps) {
    const allowance = allowanceOf('call-details', plan)
    if (!allowance || !['callSessions', 'callMetrics'].every(each => hasRoom(examination, app, each)))
      continue
    const truth = sandbox.analytics(app)
    for (const call of truth.calls()) {
      const items = owed.get(`${app} ${call.callId}`) ?? []
      if (items.length === 0 || !areDetailsDue(examination, call, allowance)) continue
      const isSpoilt = isUnreadable || (truth.points(call.callId)?.malformed ?? 0) > 0
      for (const { stream, part } of items)
        if (!isSpoilt || stream !== 'call-metrics')
          found.add('owed', `${app} ${stream}`, `${call.callId} ${part}`)
    }
  }
  return found.list()
}
