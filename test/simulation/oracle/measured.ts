import { areOf, byCall, type CallJudge, inGroups, type StoredSeries } from './by-call.ts'
import type { Examination, Finding } from './examination.ts'
import { judgeSamples } from './samples.ts'
import { judgeSetAside } from './set-aside-values.ts'
import { judgeSummaries } from './summaries.ts'

/** The values of calls, and what is made of them: read once for both, as nothing else there is so much of. */
export async function examineMeasured(
  examination: Examination,
  opened = [judgeSamples, judgeSetAside, judgeSummaries],
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

type Read = Omit<StoredSeries, 'times'>

async function readSeries(examination: Examination, where: string) {
  // To have Postgres sort them costs half as much as all the rest: in the order of the key they are in that of their times.
  // Of what date_part answers, a double, the text is made at once; extract would reckon with decimals.
  const read = await byCall<Read>(
    examination,
    `select call_id, sid, peer_uid as peer, mid,
            string_agg(date_part('epoch', at)::text || '=' || value::text, ',') as pairs,
            case when bool_or(extra is not null) then string_agg(coalesce(extra::text, ''), chr(10)) end as extras
     from analytics.session_metric ${where} group by call_id, sid, mid, peer_uid`,
  )
  return (callId: string) => read(callId).map(inOrder)
}

/** With the times; sorted by them where they came otherwise. */
export function inOrder(series: Read): StoredSeries {
  const pairs = series.pairs.split(',')
  const times = pairs.map(pair => Number(pair.slice(0, pair.indexOf('='))))
  if (times.every((time, n) => n === 0 || times[n - 1]! <= time)) return { ...series, times }
  const order = [...times.keys()].sort((a, b) => times[a]! - times[b]!)
  const extras = series.extras?.split('\n')
  return {
    ...series,
    times: order.map(n => times[n]!),
    pairs: order.map(n => pairs[n]).join(','),
    extras: extras ? order.map(n => extras[n]).join('\n') : null,
  }
}
