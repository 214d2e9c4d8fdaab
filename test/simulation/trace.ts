import { hash } from 'node:crypto'

/** What happened, in order: time, process, call, outcome. Equal seeds must give equal traces. */
export interface Trace {
  readonly add: (time: number, process: string, call: string, outcome: unknown) => void
  /** What was ready where one of several was chosen: who came too early or too late is seen here first. */
  readonly choose: (time: number, ready: readonly string[]) => void
  readonly entries: readonly string[]
  readonly choices: readonly string[]
  readonly hash: () => string
}

export function createTrace(): Trace {
  const entries: string[] = []
  const choices: string[] = []
  return {
    entries,
    choices,
    choose: (time, ready) => {
      choices.push(copyOf(`${time} ${ready.length} ready: ${ready.slice(0, mostTold).join(', ')}`))
    },
    add: (time, process, call, outcome) => {
      const told = ofTransactions.has(call) || ofPlaces.test(call) ? 'told' : describe(outcome)
      entries.push(copyOf(`${time} ${process} ${call} ${told}`))
    },
    hash: () => digest(entries.join('\n')),
  }
}

type Pair = readonly [one: string, other: string]

/** Where two traces differ first, as both tell it: what was done, and from what it was chosen; empty when they are equal. */
export function firstDifferences(one: Trace, other: Trace): readonly Pair[] {
  const done = firstPair(one.entries, other.entries)
  const chosen = done && firstPair(one.choices, other.choices)
  return [done, chosen].filter(pair => pair !== undefined)
}

function firstPair(one: readonly string[], other: readonly string[]): Pair | undefined {
  const length = Math.max(one.length, other.length)
  for (let index = 0; index < length; index++) {
    const pair = [one[index] ?? '(end)', other[index] ?? '(end)'] as const
    if (pair[0] !== pair[1]) return pair
  }
  return undefined
}

/** The same words in memory of their own: V8 keeps a long answer as a whole for as long as a piece of it is kept. */
function copyOf(text: string): string {
  return Buffer.from(text).toString()
}

/** Statements that answer with numbers of transactions, which the server counts for all of its databases. */
const ofTransactions: ReadonlySet<string> = new Set(['replay_mark'])
/** And with where rows lie: what is dead beside them the server tidies away in its own time. */
const ofPlaces = /^select t\.(?:tableoid|ctid)\b/
const longestOutcome = 120
/** Of what was ready at one time. */
const mostTold = 4

function describe(outcome: unknown): string {
  if (typeof outcome === 'string') return outcome
  if (outcome instanceof Error) return `${outcome.name}: ${outcome.message}`
  const text = JSON.stringify(rowsOf(outcome), readable)
  if (text === undefined || text.length <= longestOutcome) return text ?? 'nothing'
  return `${text.slice(0, longestOutcome)} ${digest(text).slice(0, 8)}`
}

/** Of an answer of the database its rows: the rest of it tells how, and not what. Of bytes, which are many, their digest. */
function rowsOf(outcome: unknown): unknown {
  if (typeof outcome !== 'object' || outcome === null) return outcome
  if ('bytes' in outcome) return { ...outcome, bytes: digest(outcome.bytes as Uint8Array).slice(0, 8) }
  return 'rows' in outcome ? outcome.rows : outcome
}

function readable(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function digest(text: string | Uint8Array): string {
  return hash('sha256', text)
}
