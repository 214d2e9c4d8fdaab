import type { usageMetrics } from '../../../src/provider/analytics/index.ts'
import type { Call } from '../calls.ts'
import { hashOf } from '../hash.ts'

export type UsageMetric = (typeof usageMetrics)[number]
export type Usage = Readonly<Record<UsageMetric, number>>

interface Stay {
  readonly key: number
  readonly from: number
  readonly to: number
}

/** Of the people, one in five has no camera: their time counts as audio. */
const audioOnly = 5

/** What the stays of all calls come to from `from` up to and without `to`, Unix milliseconds; durations in minutes. */
export function usageOf(calls: Iterable<Call>, from: number, to: number): Usage {
  const channels = new Map<string, number>()
  const people: Stay[] = []
  const rooms: Stay[] = []
  let [audio, video] = [0, 0]
  for (const call of calls) {
    const bounds = clip(call.createdAt, call.destroyedAt, from, to)
    if (!bounds) continue
    if (!channels.has(call.cname)) channels.set(call.cname, channels.size)
    rooms.push({ key: channels.get(call.cname)!, ...bounds })
    for (const { uid, joinedAt, leftAt } of call.sessions) {
      const stay = clip(joinedAt, leftAt, from, to)
      if (!stay) continue
      people.push({ key: uid, ...stay })
      if (hashOf('camera', uid) % audioOnly === 0) audio += stay.to - stay.from
      else video += stay.to - stay.from
    }
  }
  return {
    userCount: new Set(people.map(({ key }) => key)).size,
    sessionCount: people.length,
    channelCount: channels.size,
    peakCurrentChannels: peakOf(rooms),
    peakCurrentUsers: peakOf(people),
    totalDuration: inMinutes(audio) + inMinutes(video),
    totalVideoDuration: inMinutes(video),
    totalAudioDuration: inMinutes(audio),
  }
}

/** The part of a stay inside the range; nothing where it lies outside. */
function clip(begin: number, end: number | undefined, from: number, to: number) {
  const isOverBefore = end !== undefined && end <= from && begin < from
  if (begin >= to || isOverBefore) return undefined
  return { from: Math.max(begin, from), to: Math.min(end ?? to, to) }
}

function inMinutes(milliseconds: number): number {
  return Math.round(milliseconds / 60_000)
}

/** The most different ones who are there at one moment; whoever leaves makes room for who comes. */
function peakOf(stays: readonly Stay[]): number {
  const changes = stays.flatMap(({ key, from, to }) => [
    { at: from, key, by: 1 },
    { at: to, key, by: -1 },
  ])
  changes.sort((a, b) => a.at - b.at || a.by - b.by)
  const present = new Map<number, number>()
  let [current, peak] = [0, 0]
  for (const { key, by } of changes) {
    const before = present.get(key) ?? 0
    present.set(key, before + by)
    if (before === 0 && by === 1) peak = Math.max(peak, ++current)
    if (before === 1 && by === -1) current--
  }
  return peak
}
