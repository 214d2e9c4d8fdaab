import { decodeSteps } from '../src/http/json.ts'
import { encodeSamples, slicesOf } from '../src/postgres/commit/samples.ts'
import { callMetrics } from '../src/streams/call-metrics.ts'

export interface BodiesFigures {
  /** CPU time of the longest turn of the loop that any body took, ms. */
  readonly worst_turn_ms: number
  readonly worst_body: string
  readonly turns_ms: Readonly<Record<string, number>>
}

const mebibyte = 1_048_576
const most = 16 * mebibyte

/** As many of something as a body of 16 MiB holds, and not more than so many. */
function list(
  one: (n: number) => string,
  count: number,
  [open, close]: readonly [string, string] = ['[', ']'],
): Buffer {
  const pieces: Buffer[] = [Buffer.from(open)]
  let size = 2
  for (let n = 0; n < count; ) {
    let text = ''
    for (let k = 0; k < 1_024 && n < count; k++, n++) text += `${n > 0 ? ',' : ''}${one(n)}`
    size += text.length
    if (size > most) break
    pieces.push(Buffer.from(text))
  }
  return Buffer.concat([...pieces, Buffer.from(close)])
}

const text = (piece: string, times: number) => Buffer.from(`"${piece.repeat(times)}"`)
const members = ['{', '}'] as const

/** Bodies that come close to the caps, each in another way. */
const bodies: Readonly<Record<string, () => Buffer>> = {
  'more ones than there may be values': () => list(() => '1', 8_000_000),
  ones: () => list(() => '1', 999_999),
  'pairs of doubles': () => list(() => '[1763809200,0.30000000000000004]', 480_000),
  'integers beyond 2^53': () => list(() => '12345678901234567', 100_000),
  'integers of a thousand digits': () => list(() => '1'.repeat(1_000), 16_000),
  'numbers that no double holds': () => list(() => '1e400', 100_000),
  'one number of 16 million digits': () => Buffer.from(`[${'7'.repeat(most - 2)}]`),
  'one text': () => text('a', most - 2),
  'one text of escapes': () => text('\\u20ac', Math.floor(most / 6) - 1),
  'one text beyond ASCII': () => text('\u20ac', Math.floor(most / 3) - 1),
  'short texts': () => list(n => `"text ${n}"`, 999_999),
  'members of one object': () => list(n => `"a key of some length ${n}":${n}`, 50_000, members),
  'objects of one member each': () => list(n => `{"k${n}":1}`, 249_000),
  'sixty levels': () => list(() => `${'['.repeat(60)}${']'.repeat(60)}`, 8_000),
  spaces: () => Buffer.from(`[${' '.repeat(most - 2)}]`),
}

/** How long one turn of the loop takes at most, whatever a body holds: in CPU time, since machines are shared. */
export async function readBodies({ say }: { readonly say: (line: string) => void }): Promise<BodiesFigures> {
  const turns: Record<string, number> = {}
  for (const [name, make] of Object.entries(bodies)) {
    const body = make()
    longestTurn(decodeSteps(body))
    turns[name] = longestTurn(decodeSteps(body))
    say(`${name}: ${turns[name]} ms`)
  }
  Object.assign(turns, page(480_000))
  const [worst] = Object.entries(turns).toSorted(([, a], [, b]) => b - a)
  return { worst_turn_ms: worst![1], worst_body: worst![0], turns_ms: turns }
}

/** What becomes of a page of metrics after it has been read; each of these is a turn of its own. */
function page(pairs: number): Readonly<Record<string, number>> {
  const kvs = Array.from({ length: pairs / 400 }, (_, n) => [1_763_809_200 + 2 * n, n / 7])
  const items = Array.from({ length: 20 }, (_, n) => ({
    sid: `S${n}`,
    data: Array.from({ length: 20 }, (_, m) => ({ mid: 20_001 + m, peer_uid: 0, kvs })),
  }))
  const item = { stream: 'call-metrics', key: 'call', part: '', from: 0, to: 1, ask: null } as const
  const harvest = () => callMetrics.toRows({ item, number: 1, asked: {}, items, now: 0 }, null)
  harvest()
  const began = cpu()
  const rows = harvest().rows['analytics.session_series']!
  const harvested = cpu()
  const slice = slicesOf(rows)[0]!
  encodeSamples(slice)
  return {
    'rows of a page of 480,000 values': round(harvested - began),
    'a slice of it for the database': round(cpu() - harvested),
  }
}

function longestTurn(steps: Generator<undefined, unknown, void>): number {
  let longest = 0
  for (let isDone = false; !isDone; ) {
    const began = cpu()
    try {
      isDone = steps.next().done === true
    } catch {
      isDone = true
    }
    longest = Math.max(longest, cpu() - began)
  }
  return round(longest)
}

/** Of this thread, ms. */
function cpu(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
