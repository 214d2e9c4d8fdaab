import { type AnalyticsGroup, allowanceOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { takenOver } from './switched-off.ts'

/** Who comes back takes over what was changed meanwhile, ms. */
const longestPause = 5 * 60_000

/** What a plan has to hold for a stream to be asked. */
const groupOf: Readonly<Record<string, AnalyticsGroup>> = {
  ...{ calls: 'call-search', 'call-sessions': 'call-details', 'call-metrics': 'call-details' },
  ...{ 'usage-insight': 'usage-insight', 'quality-insight': 'quality-insight' },
  ...{ 'realtime-usage': 'realtime', 'realtime-quality': 'realtime' },
}

interface Told {
  readonly key: string
  readonly off: number
  readonly on: number | null
}

/**
 * What is off is told with its times, app by app: what its plan does not hold and what somebody switched off, and nothing else.
 * Of rooms that were first used meanwhile nobody judges the stream.
 */
export async function examineStreamOff(examination: Examination): Promise<readonly Finding[]> {
  const { rows, apps, start, end, switchedOff = [], isInterrupted, streams } = examination
  if (streams) return []
  const late = isInterrupted ? longestPause : takenOver
  const told = await rows<Told>(
    `select app_id || ' ' || stream as key, round(extract(epoch from off_at) * 1000)::float8 as off,
            round(extract(epoch from on_at) * 1000)::float8 as on from ingest.stream_off`,
  )
  const known = await rows<{ app: string }>('select app_id as app from ingest.app')
  const byKey = Map.groupBy(told, ({ key }) => key)
  const findings: Finding[] = []
  const add = (text: string) => void findings.push({ kind: 'complete', text: `stream_off: ${text}` })
  const unheld = apps
    .filter(({ id }) => known.some(({ app }) => app === id))
    .flatMap(({ id: app, plan }) =>
      Object.entries(groupOf).flatMap(([stream, group]) =>
        allowanceOf(group, plan) ? [] : [{ app, stream, from: start, to: Number.POSITIVE_INFINITY }],
      ),
    )
  for (const { app, stream, from, to } of [...unheld, ...switchedOff]) {
    const key = `${app} ${stream}`
    const own = byKey.get(key) ?? []
    byKey.delete(key)
    const isBegun = from + late < end
    if (own.length > 1 || (isBegun && own.length === 0)) add(`${key} has ${own.length} rows`)
    for (const { off: since, on } of own) {
      const isOfPlan = to === Number.POSITIVE_INFINITY
      if (!isOfPlan && (since < from - late || since > from + late)) add(`${key} since ${since}, not ${from}`)
      if (on === null ? to + late < end : on < to - late || on > to + late)
        add(`${key} until ${on}, not ${to}`)
    }
  }
  for (const key of byKey.keys()) add(`${key} was never off`)
  return [...findings, ...(await examineUnjudged(examination))]
}

/** Of rooms whose class began well within such a time. */
async function examineUnjudged({ rows, switchedOff = [] }: Examination): Promise<readonly Finding[]> {
  if (switchedOff.length === 0) return []
  const told = await rows<{ app: string; stream: string; place: string; at: number }>(
    `select c.app_id as app, c.stream, c.room_uuid || ' ' || c.incarnation as place,
            extract(epoch from coalesce(r.started_at, r.valid_from)) * 1000 as at
     from ingest.room_complete c join classroom.room r using (app_id, room_uuid, incarnation)
     union all
     select c.app_id, x.stream, c.room_uuid || ' ' || c.incarnation, extract(epoch from coalesce(r.started_at, r.valid_from)) * 1000
     from classroom.class_complete c join classroom.room r using (app_id, room_uuid, incarnation)
     cross join lateral string_to_table(c.lacking, ', ') x(stream)`,
  )
  return told.flatMap(({ app, stream, place, at }) => {
    const isUnjudged = switchedOff.some(
      one =>
        one.app === app &&
        one.stream === stream &&
        one.from + takenOver < Number(at) &&
        Number(at) < one.to - takenOver,
    )
    return isUnjudged
      ? [
          {
            kind: 'complete',
            text: `${app} ${place} ${stream}: judged, and was off when the class began`,
          } as const,
        ]
      : []
  })
}
