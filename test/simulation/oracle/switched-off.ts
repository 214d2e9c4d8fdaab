import { operationOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

/** A stream of an app that an operator switches off from one moment to another, ms. */
export interface Off {
  readonly app: string
  readonly stream: string
  readonly from: number
  readonly to: number
}

/** A change of the configuration is taken over within this, and what was under way before it has come to its end, ms. */
export const takenOver = 60_000

type Asking = Pick<Examination, 'sandbox' | 'switchedOff' | 'start' | 'end'>

/** Nobody asks for what an operator has switched off, and what was switched on again is asked for. */
export function examineSwitchedOff(examination: Asking): readonly Finding[] {
  const { sandbox, switchedOff = [], end } = examination
  return switchedOff.flatMap(({ app, stream, from, to }) => {
    const times = sandbox.arrivals
      .list(0, sandbox.arrivals.count)
      .filter(arrival => arrival.app === app && arrival.operation === operationOf[stream])
      .map(({ time }) => time)
    const vain = times.find(time => time > from + begunBy(examination, from) && time < to)
    const said = `${app} ${stream}`
    const isLeft = end > to + soonAgain && !times.some(time => time >= to && time <= to + soonAgain)
    return [
      ...(vain === undefined
        ? []
        : [`${said} is asked for at ${new Date(vain).toISOString()}, while it is switched off`]),
      ...(isLeft ? [`${said} is switched on, and nobody asks for it`] : []),
    ].map(text => ({ kind: 'owed', text }) as const)
  })
}

/** What is switched on has something to ask for within this, whichever stream it is, ms. */
const soonAgain = 15 * 60_000

/** What is off from the start was never asked for. */
function begunBy({ start }: Asking, from: number): number {
  return from <= start ? 0 : takenOver
}

/** Whether nobody ever wanted a stream of an app. */
export function isOffThroughout(
  { switchedOff = [], start, end }: Omit<Asking, 'sandbox'>,
  app: string,
  stream: string,
): boolean {
  return switchedOff.some(
    off => off.app === app && off.stream === stream && off.from <= start && off.to >= end,
  )
}

/** Whether an operator had switched a stream of an app off at some time between these moments. */
export function wasOff(
  { switchedOff = [] }: Pick<Examination, 'switchedOff'>,
  { app, stream }: Pick<Off, 'app' | 'stream'>,
  from: number,
  to: number,
): boolean {
  return switchedOff.some(
    one => one.app === app && one.stream === stream && one.from - takenOver < to && from < one.to + takenOver,
  )
}

/** A time of a stream, Unix seconds. */
interface Time {
  readonly app: string
  readonly stream: string
  readonly from: number
  readonly to: number
}

/** Whether a stream was off while that happened: `partly` also where its being off was being taken over. */
export function howFarOff(
  { switchedOff = [] }: Pick<Asking, 'switchedOff'>,
  { app, stream, from, to }: Time,
): 'not' | 'partly' | 'wholly' {
  const [first, last] = [from * 1_000, to * 1_000]
  const own = switchedOff.filter(off => off.app === app && off.stream === stream)
  if (own.some(off => off.from + takenOver <= first && last <= off.to)) return 'wholly'
  return own.some(off => off.from < last && first < off.to + takenOver) ? 'partly' : 'not'
}
