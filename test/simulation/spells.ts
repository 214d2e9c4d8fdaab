import type { FaultRule } from '../../sandbox/src/index.ts'
import { pick, type Seed, share } from './world.ts'

/** Rules of faults that are in force between two moments, ms from the beginning. */
export interface Spell {
  readonly from: number
  readonly to: number
  readonly rules: readonly FaultRule[]
}

/** Always in force: the provider itself cannot tell of that moment. `endless` is more than anybody takes. */
export interface Unreadable extends FaultRule {
  readonly kind: 'malformed' | 'endless'
  readonly app: string
  readonly operation: string
  readonly covering: number
  readonly rate: 1
}

interface Kind {
  /** Told to the coverage of a gate. */
  readonly name: string
  readonly rule: Omit<FaultRule, 'operation' | 'app' | 'rate'>
  /** Operations of which one is struck; all where absent. */
  readonly of?: readonly string[]
  /** Share of the requests; all unless told. */
  readonly rate?: number
}

const minute = 60_000

const classroom = ['roomEvents', 'appEvents', 'recordings', 'resources', 'popupQuiz', 'poll'] as const
const rooms = classroom.filter(operation => operation !== 'appEvents')
const details = ['callSearch', 'callSessions', 'callMetrics'] as const
const values = ['usageInsight', 'qualityInsight', 'realtimeUsage', 'realtimeQuality'] as const
const analytics = [...details, ...values]
const all = [...classroom, ...analytics, 'listPlayers']

/** A plan's messages beside code 300, as the document writes them, and what may be struck without harm to a whole day. */
const refusals: readonly Kind[] = [
  ...(['qps limit error', 'query latency limit error', 'query time range limit error'] as const).map(
    (message): Kind => ({
      name: message,
      rule: { kind: 'status', status: 200, code: 300, message },
      of: details,
    }),
  ),
  ...(['qpd limit error', 'query time length limit error'] as const).map(
    (message): Kind => ({
      name: message,
      rule: { kind: 'status', status: 200, code: 300, message },
      of: ['usageInsight'],
    }),
  ),
  {
    name: 'no access',
    rule: {
      ...{ kind: 'status', status: 200, code: 300 },
      message: 'you have no auth to access this service, please buy or upgrade your service package',
    },
    of: ['qualityInsight'],
  },
]

/** What the provider may do amiss for some minutes. */
export const spellKinds: readonly Kind[] = [
  ...refusals,
  ...(['30', '-1', '1e9', 'abc', undefined] as const).map(
    (retryAfter): Kind => ({
      name: `429 with Retry-After ${retryAfter ?? 'absent'}`,
      rule: { kind: 'status', status: 429, ...(retryAfter && { retryAfter }) },
      of: retryAfter === '1e9' ? ['usageInsight'] : all,
      rate: 0.3,
    }),
  ),
  ...[500, 502, 503, 504].map(
    (status): Kind => ({ name: `${status}`, rule: { kind: 'status', status }, of: all }),
  ),
  { name: '400', rule: { kind: 'status', status: 400 }, of: [...details, 'usageInsight'] },
  { name: '401', rule: { kind: 'status', status: 401 }, of: all },
  { name: '404', rule: { kind: 'status', status: 404 }, of: ['appEvents'], rate: 0.2 },
  { name: 'maintenance', rule: { kind: 'html' } },
  { name: 'malformed', rule: { kind: 'malformed' }, of: all },
  { name: 'truncated', rule: { kind: 'truncated' }, of: all },
  { name: 'redirect', rule: { kind: 'redirect' }, of: all },
  { name: 'wrong types', rule: { kind: 'wrong-types' }, of: ['listPlayers'] },
  { name: 'no data', rule: { kind: 'no-data' }, of: rooms },
  { name: 'empty', rule: { kind: 'empty' }, of: ['usageInsight', 'qualityInsight'] },
  { name: 'looping nextId', rule: { kind: 'looping-next-id' }, of: ['listPlayers'] },
  { name: 'reset', rule: { kind: 'reset' }, of: all },
  { name: 'lost response', rule: { kind: 'lost-response' }, of: all },
]

/** What no seed draws. Whoever hears of it must wait for longer than anybody would by himself. */
const aimed: readonly Kind[] = [
  { name: '429 with Retry-After 150', rule: { kind: 'status', status: 429, retryAfter: '150' } },
  { name: '503 with Retry-After 150', rule: { kind: 'status', status: 503, retryAfter: '150' } },
  { name: '429 with a date', rule: { kind: 'status', status: 429, retryIn: 150 } },
  ...(['unlisted', 'miscounted', 'slipped', 'unfiled', 'strange', 'unknown-code'] as const).map(
    (kind): Kind => ({ name: kind, rule: { kind } }),
  ),
]
const known = [...spellKinds, ...aimed]

/** A room is remembered for twelve minutes, and read to its end after at most five. */
const longest = 3 * minute
const meanEvery = 12 * minute

/** Spells of a faulty phase of `length`, ms: one at a time, each of one kind and of one operation. */
export function drawSpells(seed: Seed, length: number, apps: readonly string[]): readonly Spell[] {
  const spells: Spell[] = []
  for (let n = 0, at = 0; ; n++) {
    const chance = (what: string) => share(seed, `spell ${n}/${what}`)
    at += 2 * longest + chance('wait') * 2 * (meanEvery - longest)
    if (at > length) return spells
    const { rule, of, rate = 1 } = pick(seed, `spell ${n}/kind`, spellKinds)
    const concerned = of && { operation: pick(seed, `spell ${n}/of`, of) }
    const app = chance('all apps') < 0.5 ? {} : { app: pick(seed, `spell ${n}/app`, apps) }
    const to = at + 20_000 + chance('length') * (longest - 20_000)
    spells.push({
      from: Math.round(at),
      to: Math.round(to),
      rules: [{ ...rule, ...concerned, ...app, rate }],
    })
    at = to
  }
}

/** When and of what a spell is; of every app and operation where absent. */
export interface Cast extends Pick<Spell, 'from' | 'to'> {
  readonly app?: string
  readonly operation?: string
}

/** The spell of that kind, which strikes each request that it concerns. */
export function spellOf(kind: string, { from, to, ...concerned }: Cast): Spell {
  const one = known.find(({ name }) => name === kind)
  if (!one) throw new TypeError(`no spell is called ${kind}`)
  return { from, to, rules: [{ ...one.rule, ...concerned, rate: 1 }] }
}

export function nameOfSpell({ rules: [rule] }: Spell): string {
  const { operation: _, app: __, rate: ___, ...said } = rule!
  const one = known.find(kind => JSON.stringify(kind.rule) === JSON.stringify(said))
  return one?.name ?? rule!.kind
}
