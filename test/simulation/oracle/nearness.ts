import { allowanceOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

const minute = 60_000
/** Refusals make a daemon ask for less; the longest wait until it tries again what is documented, after a few minutes of them, ms. */
const triedAgain = 45 * minute
/** The newest calls are searched for several times within this, ms. */
const lately = 20 * minute
/** Clocks are told to the second, and a question is made a little before it is sent, seconds. */
const nearest = 30

/**
 * When all is well again the newest is asked for as soon as the documents allow: what a refusal taught is not believed
 * for ever.
 */
export function examineNearness(examination: Examination): readonly Finding[] {
  const { isEnd, end, healed, apps, sandbox } = examination
  if (!isEnd || end - healed < triedAgain + lately) return []
  const recent = sandbox.arrivals
    .list(0, sandbox.arrivals.count)
    .filter(({ operation, time }) => operation === 'callSearch' && time > end - lately)
  return apps.flatMap(({ id, plan }) => {
    const allowance = allowanceOf('call-search', plan)
    const own = recent.filter(({ app }) => app === id)
    if (!allowance || own.length === 0 || isTight(examination, id)) return []
    const distances = own.map(({ target, time }) => {
      const to = Number(new URL(target, 'http://provider').searchParams.get('end_ts'))
      return Math.floor(time / 1_000) - allowance.dataDelay - to
    })
    const least = Math.min(...distances)
    if (least <= nearest) return []
    const text = `${id} callSearch: for ${lately / minute} minutes nothing was asked that is younger than ${least} s beyond the delay`
    return [{ kind: 'owed', text } as const]
  })
}

/** Whether the provider served less in one of the last hours. */
function isTight({ sandbox, end, healed }: Examination, app: string): boolean {
  const hour = 60 * minute
  const hours = Array.from({ length: Math.ceil((end - healed) / hour) + 2 }, (_, n) => end - n * hour)
  return hours.some(at => sandbox.analytics(app).isTightHour('call-search', at))
}
