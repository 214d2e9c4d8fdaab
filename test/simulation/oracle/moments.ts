import { askedOf, say } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** Within this after a moment, or after somebody began, the newest calls are searched for, seconds: the feeds of both apps go first. */
const atOnce = 60
/** A clock that is as much ahead, and a question that is planned and waits. */
const early = 5

/**
 * Where calls are searched for at moments that an operator chose, the newest of them are so at each of these and when a
 * process begins, and at no other time, but where that search was not answered.
 */
export function examineMoments(examination: Examination): readonly Finding[] {
  const { callsAt, apps, start, healed, end, isCalm } = examination
  if (!callsAt || !isCalm) return []
  const searches = askedOf(examination).filter(({ operation }) => operation === 'callSearch')
  const due = [start, ...callsAt].filter(at => at + atOnce * 1_000 < Math.min(end, healed))
  return apps.flatMap(({ id }) => {
    const newest = newestOf(searches.filter(({ app }) => app === id))
    const missed = due.filter(at => !newest.some(({ time }) => isAbout(time, at)))
    const strange = newest.filter(
      ({ time, isAgain }) => !isAgain && ![start, ...callsAt].some(at => isAbout(time, at)),
    )
    return [
      ...missed.slice(0, 1).map(at => `${id}: nobody searches for calls at ${say(at / 1_000)}`),
      ...strange
        .slice(0, 1)
        .map(({ time }) => `${id}: searches for new calls at ${say(time / 1_000)}, unasked`),
    ].map(text => ({ kind: 'owed', text }) as const)
  })
}

function isAbout(time: number, moment: number): boolean {
  return time > moment - early * 1_000 && time < moment + atOnce * 1_000
}

interface Search {
  readonly time: number
  /** The one before it was not answered. */
  readonly isAgain: boolean
}

/** Those that reach further than any that was answered before them. */
function newestOf(
  searches: readonly { readonly time: number; readonly to: number; readonly answer: string }[],
): readonly Search[] {
  const newest: Search[] = []
  let reached = Number.NEGATIVE_INFINITY
  let isAgain = false
  for (const { time, to, answer } of searches) {
    if (to <= reached) continue
    newest.push({ time, isAgain })
    isAgain = answer !== 'served'
    if (!isAgain) reached = to
  }
  return newest
}
