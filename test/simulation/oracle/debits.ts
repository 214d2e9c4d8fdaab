import { groupOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

interface Debited {
  readonly app: string
  readonly operation: string
  readonly debits: number
}

/** By name of the operation; requests of other operations have no ledger. */
const debited: ReadonlySet<string> = new Set([
  ...Object.keys(groupOf),
  ...['appEvents', 'createPlayer', 'deletePlayer', 'listPlayers'],
])

/** What others do who know nothing of the ledger. */
const byOthers: ReadonlySet<string> = new Set(['createPlayer', 'deletePlayer'])

/** From the end of the faults until nobody stands still, is away or takes over any more, ms. */
const calmAfter = 3 * 60_000
/** In the calm an answer is stored and settled within this, ms. */
const soon = 60_000

/** When nothing goes wrong any more every answer is settled soon, and each of the feed as stored. */
async function examineSettled(examination: Examination): Promise<readonly Finding[]> {
  const { rows, healed, end, isEnd, rewound = [] } = examination
  // Where a history went back, debits are dated later than they were made.
  if (!isEnd || rewound.length > 0) return []
  const open = await rows<{ text: string }>(
    `select concat_ws(' ', app_id, operation, n, coalesce(outcome, 'unsettled')) as text from ingest.debit
     where extract(epoch from sent_at) * 1000 between ${healed + calmAfter} and ${end - soon}
       and (outcome is null or settled_at > sent_at + interval '${soon} ms'
            or outcome = 'unread' and limit_group = 'classroom-feed')
     limit 20`,
  )
  return open.map(({ text }) => ({ kind: 'debit', text: `${text}, though nothing goes wrong any more` }))
}

/** By how much the ledger's time may differ from a clock that goes as it should, ms: a question takes less to arrive. */
const longestWay = 500

/** The ledger keeps the time of the database's clock, where that never jumps and nobody stood still. */
async function examineDates({ rows, isPaused }: Examination): Promise<readonly Finding[]> {
  const [watched] = await rows<{ is: boolean }>(`select to_regclass('simulated.debited') is not null as is`)
  if (!watched?.is || isPaused) return []
  const wrong = await rows<{ text: string }>(
    `select concat_ws(' ', d.app_id, d.operation, d.n, 'is dated', d.sent_at, 'and was made at', w.at) as text
     from ingest.debit d join simulated.debited w using (scope, limit_group, n)
     where d.operation <> '${assumed}' and abs(extract(epoch from w.at - d.sent_at)) * 1000 > ${longestWay}
     order by w.at limit 20`,
  )
  return wrong.map(({ text }) => ({ kind: 'debit', text }))
}

/** What is assumed of a history that went back stands for requests that nobody can name. */
const assumed = 'lost history'

/**
 * Nothing arrives that was not debited before. `wasted`: how many debits of an app and operation may stand for requests
 * that never arrived, because who made them was killed or the line broke; not judged where it is not said. Debits older
 * than two days are not kept, so that a longer run is counted by its heads.
 */
export async function examineDebits(examination: Examination, wasted?: number): Promise<readonly Finding[]> {
  const { sandbox, rows, isShared = false } = examination
  const unsettled = [...(await examineDates(examination)), ...(await examineSettled(examination))]
  const arrived = new Map<string, number>()
  for (const { app = '', operation = '' } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    if (debited.has(operation) && !(isShared && byOthers.has(operation)))
      arrived.set(`${app} ${operation}`, (arrived.get(`${app} ${operation}`) ?? 0) + 1)
  }
  const heads = await rows<{ forgotten: boolean; total: number }>(
    `select coalesce(bool_or(b.last_n > coalesce(d.kept, 0)), false) as forgotten, coalesce(sum(b.last_n), 0)::float8 as total
     from ingest.budget b
     left join lateral (select count(*) as kept from ingest.debit d
                        where d.scope = b.scope and d.limit_group = b.limit_group) d on true`,
  )
  const { forgotten, total } = heads[0]!
  if (forgotten) {
    const all = [...arrived.values()].reduce((sum, count) => sum + count, 0)
    return all > total
      ? [...unsettled, { kind: 'debit', text: `${all} requests arrived and ${total} were debited` }]
      : unsettled
  }
  const made = await rows<Debited>(
    `select app_id as app, operation, count(*)::float8 as debits from ingest.debit group by 1, 2`,
  )
  const debits = new Map<string, number>()
  for (const { app, operation, debits: count } of made)
    debits.set(`${app} ${operation.split('.').at(-1)!}`, count)
  const spare = made
    .filter(({ operation }) => operation === assumed)
    .reduce((sum, { debits }) => sum + debits, 0)
  const findings: Finding[] = [...unsettled]
  for (const key of new Set([...arrived.keys(), ...debits.keys()])) {
    const [came = 0, counted = 0] = [arrived.get(key), debits.get(key)]
    if (came > counted + spare)
      findings.push({ kind: 'debit', text: `${key}: ${came} requests arrived and ${counted} were debited` })
    if (wasted !== undefined && !key.endsWith(` ${assumed}`) && counted - came > wasted)
      findings.push({
        kind: 'debit',
        text: `${key}: ${counted} were debited and only ${came} requests arrived`,
      })
  }
  return findings
}
