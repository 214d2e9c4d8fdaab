import { areOf, byCall, type CallJudge, inGroups, type StoredSeries } from './by-call.ts'
import type { Examination, Finding } from './examination.ts'
import { judgeSamples } from './samples.ts'
import { judgeSummaries } from './summaries.ts'

/** The values of calls, and what is made of them: read once for both, as nothing else there is so much of. */
export async function examineMeasured(
  examination: Examination,
  opened = [judgeSamples, judgeSummaries],
): Promise<readonly Finding[]> {
  const judges: CallJudge[] = []
  for (const open of opened) judges.push(await open(examination))
  for (const { id: app } of examination.apps) {
    const analytics = examination.sandbox.analytics(app)
    const keyOf = (callId: string) => `${app} ${callId}`
    const wanted = [...analytics.calls()]
      .map(({ callId }) => callId)
      .filter(callId => judges.some(({ calls }) => calls.has(keyOf(callId))))
    for (const group of inGroups(wanted)) {
      const where = areOf(app, group)
      const series = await readSeries(examination, where)
      for (const callId of group) {
        const key = keyOf(callId)
        const call = { key, callId, where, series: series(callId), truth: [...analytics.series(callId)] }
        for (const { calls, judge } of judges) if (calls.has(key)) await judge(call)
      }
    }
  }
  return judges.flatMap(({ findings }) => findings())
}

function readSeries(examination: Examination, where: string) {
  // Of what date_part answers, a double, the text is made at once; extract would reckon with decimals.
  return byCall<StoredSeries>(
    examination,
    `select call_id, sid, peer_uid as peer, mid,
            string_agg(date_part('epoch', at)::text || '=' || value::text, ',' order by at) as pairs,
            case when bool_or(extra is not null) then string_agg(coalesce(extra::text, ''), chr(10) order by at) end as extras
     from analytics.session_metric ${where} group by 1, 2, 3, 4`,
  )
}
