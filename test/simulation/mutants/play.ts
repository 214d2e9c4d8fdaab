import type { Plant } from './plant.ts'

/** What a simulation said in the end. */
export interface Played {
  /** Null where it was stopped from outside. */
  readonly exitCode: number | null
  /** All that it wrote for people. */
  readonly said: string
}

/** What is played: a seed, of the usual length or of so many days, or a tour with its chances. */
export interface World {
  readonly seed: number
  readonly days?: string
  readonly tour?: string
}

export function nameOf({ seed, days, tour }: World): string {
  return `seed ${seed}${tour ? `, tour ${tour}` : days ? `, ${days} days` : ''}`
}

/** Plays one world. `planted`: with the bug. */
export type Play = (world: World, planted: boolean) => Promise<Played>

/** `found`: something is not as it must be; `broken`: the simulation did not come to its end, which says nothing. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'found'; readonly finding: string }
  | { readonly kind: 'broken'; readonly why: string }

/** The line that tells that a run failed; the first finding stands below it. */
const failed = /\bFAILED\b/
const longestFinding = 160

/** What a run shows. A process that dies without saying what it found has found nothing. */
export function outcomeOf({ exitCode, said }: Played): Outcome {
  if (exitCode === 0) return { kind: 'passed' }
  const lines = said.split('\n')
  const place = lines.findIndex(line => failed.test(line))
  if (exitCode !== 1 || place < 0) {
    const last = said.trimEnd().split('\n').at(-1) ?? ''
    return { kind: 'broken', why: `exit ${exitCode}: ${short(last)}` }
  }
  const below = lines[place + 1] ?? ''
  return { kind: 'found', finding: short(/^\s+\S/.test(below) ? below : lines[place]!) }
}

function short(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').slice(0, longestFinding)
}

/** What became of one plant. */
export interface Verdict {
  readonly plant: string
  readonly caught: boolean
  /** So many were played, the one that caught it at the end. */
  readonly worlds: number
  readonly seconds: number
  /** Of one that was caught, what was found first; of one that was not, why worlds said nothing, if any did not. */
  readonly text: string
}

/** What is known of worlds without a plant, by their names. */
export type Baseline = Map<string, Promise<Outcome>>

export interface JudgePorts {
  readonly play: Play
  readonly baseline: Baseline
  /** Monotonic, ms. */
  readonly now: () => number
  readonly signal: AbortSignal
}

/**
 * Plays these worlds until one finds something that it does not find without the plant too.
 * Undefined where `signal` ended it.
 */
export async function judge(
  plant: Plant,
  worlds: readonly World[],
  ports: JudgePorts,
): Promise<Verdict | undefined> {
  const { play, now, signal } = ports
  const began = now()
  const seconds = () => Math.round((now() - began) / 1_000)
  const broken = new Map<string, string>()
  for (const [n, world] of worlds.entries()) {
    const name = nameOf(world)
    const outcome = outcomeOf(await play(world, true))
    if (signal.aborted) return undefined
    if (outcome.kind === 'broken') broken.set(outcome.why, name)
    if (outcome.kind !== 'found') continue
    const well = await withoutPlant(world, ports)
    if (signal.aborted) return undefined
    if (well.kind !== 'passed') continue
    const text = `${name}: ${outcome.finding}`
    return { plant: plant.name, caught: true, worlds: n + 1, seconds: seconds(), text }
  }
  const text = [...broken].map(([why, name]) => `${name} ended with ${why}`).join('; ')
  return { plant: plant.name, caught: false, worlds: worlds.length, seconds: seconds(), text }
}

async function withoutPlant(
  world: World,
  { play, baseline, signal }: Pick<JudgePorts, 'play' | 'baseline' | 'signal'>,
): Promise<Outcome> {
  const name = nameOf(world)
  const outcome = baseline.get(name) ?? play(world, false).then(outcomeOf)
  baseline.set(name, outcome)
  const known = await outcome
  // What was broken off says nothing of the world.
  if (signal.aborted) baseline.delete(name)
  return known
}

/** Worlds that do not pass without a plant either. */
export async function unfit(baseline: Baseline): Promise<readonly string[]> {
  const outcomes = await Promise.all(
    [...baseline].map(async ([name, outcome]) => ({ name, outcome: await outcome })),
  )
  return outcomes.flatMap(({ name, outcome }) => {
    if (outcome.kind === 'passed') return []
    return [`without a plant ${name} ends with ${outcome.kind === 'found' ? outcome.finding : outcome.why}`]
  })
}

/** The line of figures at the end. */
export function figures(verdicts: readonly Verdict[], plants: readonly Plant[], minutes: number): string {
  const fromContract = new Set(plants.filter(({ from }) => from === 'contract').map(({ name }) => name))
  const caught = verdicts.filter(verdict => verdict.caught)
  const ofContract = verdicts.filter(({ plant }) => fromContract.has(plant))
  const worlds = verdicts.reduce((sum, verdict) => sum + verdict.worlds, 0)
  return [
    `plants: ${caught.length} of ${verdicts.length} caught`,
    `from the contract ${ofContract.filter(verdict => verdict.caught).length} of ${ofContract.length}`,
    `${plants.length} in all`,
    `${worlds} worlds`,
    `${minutes.toFixed(1)} minutes`,
  ].join(', ')
}

/** The plants in an order that begins elsewhere for each commit and mixes their groups. */
export function rotated(plants: readonly Plant[], commit: string): readonly Plant[] {
  const mixed = plants.toSorted((a, b) => mark(a.name) - mark(b.name))
  const start = mixed.length === 0 ? 0 : Number.parseInt(commit.slice(0, 8), 16) % mixed.length
  return [...mixed.slice(start), ...mixed.slice(0, start)]
}

/** FNV-1a. */
function mark(text: string): number {
  let sum = 0x811c9dc5
  for (const letter of text) sum = Math.imul(sum ^ letter.charCodeAt(0), 0x01000193)
  return sum >>> 0
}
