import { fork } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { systemClock } from '../../src/clock/system.ts'
import { wanted } from './coverage.ts'
import { type Drawn, draw } from './draw.ts'
import { say, type Told, type Wish } from './play.ts'
import { nameOfSpell } from './spells.ts'
import { tours, troubles } from './tours.ts'

const day = 86_400_000
/** What makes a tenant-day. */
export const eventsADay = 20_000
export const callsADay = 200

/** What is played, and until when; `seed` is the first. */
export interface GateOptions extends Wish {
  readonly jobs: number
  readonly tenantDays: number
  readonly minutes: number
  /** A file of what was played before, and will have been. */
  readonly record: string | undefined
}

/** What has not happened in any of these runs. */
export function missed(told: readonly Told[]): readonly string[] {
  const happened = new Set(told.flatMap(one => one.happened))
  return wanted.filter(what => !happened.has(what))
}

export function tenantDays(told: readonly Told[]): number {
  const sum = (of: (one: Told) => number) => told.reduce((all, one) => all + of(one), 0)
  return Math.min(sum(({ events }) => events) / eventsADay, sum(({ calls }) => calls) / callsADay)
}

type Length = Pick<Wish, 'seed' | 'days' | 'tour'>

/** Seeds that failed once, each with the length at which it did. */
function regressions(): readonly Length[] {
  return JSON.parse(readFileSync(new URL('regressions.json', import.meta.url), 'utf8')) as Length[]
}

function recorded(file: string | undefined): readonly Told[] {
  if (!file || !existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(text => JSON.parse(text) as Told)
}

/** A gate in which something has not happened by then has missed it. */
const mostRuns = 400
/** So many crowded worlds come before all others. */
const crowds = 16
/** One that was drawn whole takes as long as three of them. */
const crowdsBetween = 8
/** So many seeds are looked at for which to play first. */
const candidates = 60

export interface Candidate {
  readonly kinds: ReadonlySet<string>
  /** How long it takes to play, beside others. */
  readonly cost: number
}

/** What a seed holds of trouble, and what that costs. */
export function candidate(seed: number, days: number): Candidate {
  const { classes, spells, switches, apps, profile } = draw(seed, days * day, {})
  const isOneByOne = switches.listShape === 'item' || switches.feedShape.startsWith('object')
  // All of a log is read again where its end is refused.
  const requests = (switches.tail === 'refused' ? 2 : 1) * (isOneByOne ? 4 : 1)
  return {
    kinds: new Set([...classes, ...spells.map(nameOfSpell)]),
    cost: apps.length * (4 + profile.classes) * requests,
  }
}

/**
 * First the worlds made for what is rare, then crowded ones, then those that are played quickly, the liveliest before all
 * others, then the rest in their order.
 */
function* lengthsFrom({ seed: first, days, plan }: GateOptions): Generator<Length> {
  yield* regressions()
  for (const tour of Object.keys(troubles)) yield { seed: first, days, tour }
  const seeds = Array.from({ length: candidates }, (_, n) => first + n)
  const worlds = new Map(seeds.map(seed => [seed, draw(seed, days * day, { ...(plan && { plan }) })]))
  const lively = (seed: number) => livelinessOf(worlds.get(seed)!)
  const quick = seeds.filter(seed => isQuick(worlds.get(seed)!)).sort((a, b) => lively(b) - lively(a))
  // Worth as much as many each, and between them what was drawn whole.
  for (let n = 0; n < crowds; n++) {
    yield { seed: first + n, days, tour: 'crowd' }
    if (n % crowdsBetween === crowdsBetween - 1) yield { seed: quick.shift()!, days }
  }
  for (const tour of Object.keys(tours))
    if (!(tour in troubles) && tour !== 'crowd') yield { seed: first, days, tour }
  for (const seed of quick) yield { seed, days }
  for (const seed of seeds) if (!isQuick(worlds.get(seed)!)) yield { seed, days }
  for (let seed = first + candidates; ; seed++) yield { seed, days }
}

/** Not where each answer holds one event, or all of a log is read again because its end is refused. */
function isQuick({ switches: { listShape, feedShape, tail } }: Drawn): boolean {
  return listShape !== 'item' && !feedShape.startsWith('object') && tail !== 'refused'
}

/** How many classes of an app go on at a time share what a minute of a run costs beside them; more apps take longer to end. */
function livelinessOf({ switches, profile, apps }: Drawn): number {
  return profile.classes / (switches.roomReuse === 'on' ? 3 : 1) - apps.length / 10
}

/** Plays until enough was played. */
export async function playGate(asked: GateOptions): Promise<readonly Told[]> {
  const told = [...recorded(asked.record)]
  const key = ({ seed, days, tour }: Length) => `${seed} ${tour ?? days}`
  const known = new Set(told.map(key))
  const end = systemClock.monotonic() + asked.minutes * 60_000
  const drawn = lengthsFrom(asked)
  const next = (): Length | undefined => {
    const isEnough = tenantDays(told) >= asked.tenantDays && missed(told).length === 0
    if (isEnough || told.length >= mostRuns || systemClock.monotonic() > end) return undefined
    let { value: one } = drawn.next() as { readonly value: Length }
    while (known.has(key(one))) one = drawn.next().value as Length
    return one
  }
  const heard = async (one: Told) => {
    told.push(one)
    if (asked.record) await appendFile(asked.record, `${JSON.stringify(one)}\n`)
  }
  const left = new AbortController()
  const timeUp = new AbortController()
  void systemClock.sleep(asked.minutes * 60_000, left.signal).then(() => timeUp.abort())
  await Promise.all(
    Array.from({ length: asked.jobs }, () => employ({ asked, next, heard, signal: timeUp.signal })),
  )
  left.abort()
  return told
}

interface Employment {
  readonly asked: GateOptions
  readonly next: () => Length | undefined
  readonly heard: (told: Told) => Promise<void>
  /** Time is up: what is being played is broken off. */
  readonly signal: AbortSignal
}

/** One player plays one seed after the other for as long as there is a next. */
function employ({ asked, next, heard, signal }: Employment): Promise<void> {
  const player = fork(new URL('player.ts', import.meta.url))
  return new Promise((resolve, reject) => {
    let playing: Length | undefined
    const breakOff = () => {
      if (playing) {
        const { seed, tour } = playing
        say(`seed ${seed}${tour ? `, tour ${tour}` : ''}: broken off, as time is up`)
      }
      player.disconnect()
    }
    player.on('message', async (message: 'ready' | Told) => {
      if (message !== 'ready') await heard(message)
      if (signal.aborted) return
      playing = next()
      if (playing) player.send({ ...asked, tour: undefined, ...playing })
      else player.disconnect()
    })
    signal.addEventListener('abort', breakOff, { once: true })
    player.on('exit', code => {
      signal.removeEventListener('abort', breakOff)
      if (code === 0) resolve()
      else reject(new Error(`a player ended with ${code}`))
    })
  })
}
