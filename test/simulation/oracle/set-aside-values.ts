import type { TrueSeries } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf, Findings, say } from './asked.ts'
import type { CallJudge, MeasuredCall } from './by-call.ts'
import type { Examination } from './examination.ts'

/** From the arrival of a question to its letters, ms. */
const untilStored = 120_000

/** What a letter has of one metric of a session: moments, Unix seconds, and how many of its pairs do not say theirs. */
interface Kept {
  readonly moments: Set<number>
  untimed: number
}

/** Values of calls that nobody can read are set aside, each as it came, whatever stands in its place; and nothing else is. */
export async function judgeSetAside(examination: Examination): Promise<CallJudge> {
  const { sandbox, rows, apps } = examination
  const found = new Findings()
  const { quirks, switches } = sandbox.settings
  const isTold = quirks.malformedValue > 0 && switches.kvs !== 'words'
  const letters = Map.groupBy(
    await rows<Letter>(
      `select app_id || ' ' || series as key, convert_from(body, 'UTF8') as body, occurrences::int as times
       from ingest.dead_letter where stream = 'call-metrics' and reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range')`,
    ),
    ({ key }) => key,
  )
  const due = Map.groupBy(await dueIn(examination), ({ app, query }) => `${app} ${query.get('call_id')}`)
  return {
    calls: new Set(
      isTold
        ? apps.flatMap(({ id }) => [...sandbox.analytics(id).calls()].map(({ callId }) => `${id} ${callId}`))
        : letters.keys(),
    ),
    judge: async ({ key, truth }: MeasuredCall) => {
      const kept = readLetters(letters.get(key) ?? [])
      for (const series of truth) {
        const name = nameOf(series.sid, series.mid, ownPeerOf(series, switches.ownPeer))
        const own = kept.get(name)
        kept.delete(name)
        compare(found, `${key} ${name}`, series, { own, asked: due.get(key) ?? [], end: switches.metricsEnd })
      }
      for (const name of kept.keys())
        found.add('different', 'call-metrics letter', `of nobody: ${key} ${name}`)
    },
    findings: () => found.list(),
  }
}

/** Questions of which the letters must be there. */
async function dueIn(examination: Examination): Promise<readonly Asked[]> {
  const { isCalm = false, rewound = [], closedLetters = 0, end, rows } = examination
  const unkept = await rows(`select 1 from ingest.unkept_letter where stream = 'call-metrics' limit 1`)
  if (!isCalm || rewound.length + closedLetters + unkept.length > 0) return []
  return askedOf(examination).filter(({ operation, answer, time }) => {
    return operation === 'callMetrics' && answer === 'served' && time + untilStored < end
  })
}

function ownPeerOf({ peer }: TrueSeries, ownPeer: string): number | undefined {
  return peer === 0 && ownPeer === 'absent' ? undefined : peer
}

function nameOf(sid: string, mid: number, peer: number | undefined): string {
  return [sid, mid, peer ?? ''].join(' ')
}

interface Letter {
  readonly key: string
  readonly body: string
  /** How often it came: what says no moment may be the same in two answers. */
  readonly times: number
}

interface Entry {
  readonly sid: string
  readonly data: readonly {
    readonly mid: number
    readonly peer_uid?: number
    readonly kvs: readonly unknown[]
  }[]
}

function readLetters(letters: readonly Letter[]): Map<string, Kept> {
  const kept = new Map<string, Kept>()
  for (const { body, times } of letters) {
    const { sid, data } = JSON.parse(body) as Entry
    for (const { mid, peer_uid, kvs } of data) {
      const name = nameOf(sid, mid, peer_uid)
      const known = kept.get(name) ?? { moments: new Set(), untimed: 0 }
      kept.set(name, known)
      for (const moment of kvs.map(momentOf)) {
        if (moment === undefined) known.untimed += times
        else known.moments.add(moment)
      }
    }
  }
  return kept
}

/** When a pair is of, by whatever stands in its place. */
function momentOf(pair: unknown): number | undefined {
  if (pair === null) return undefined
  if (typeof pair === 'string') return Number(pair.split(' ').at(-1))
  return Number(Array.isArray(pair) ? pair[0] : (pair as { readonly k: number }).k)
}

function compare(
  found: Findings,
  name: string,
  { sid, moments, values }: TrueSeries,
  {
    own = { moments: new Set(), untimed: 0 },
    asked,
    end,
  }: { readonly own: Kept | undefined; readonly asked: readonly Asked[]; readonly end: string },
): void {
  const words = moments.filter((_, n) => typeof values[n] === 'string')
  const strange = [...own.moments.difference(new Set(words))]
  if (strange.length > 0)
    found.add('different', 'call-metrics letter', `${name} ${say(strange[0]!)}: could be read`)
  const last = end === 'exclusive' ? 1 : 0
  const told = words.filter(moment =>
    asked.some(({ query, from, to }) => {
      return from <= moment && moment <= to - last && query.get('sids')?.split(',').includes(sid)
    }),
  )
  const missing = told.filter(moment => !own.moments.has(moment))
  if (missing.length > own.untimed)
    found.add(
      'lost',
      'call-metrics letter',
      `${name}: of ${missing.length} values, one of ${say(missing[0]!)}`,
    )
}
