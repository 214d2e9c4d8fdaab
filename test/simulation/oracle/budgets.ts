import type { Findings } from './asked.ts'
import { type AnalyticsGroup, allowanceOf, analyticsLimits, perDay, spared } from './contract.ts'
import type { Examination } from './examination.ts'

/** Of the requests of a day of each group how much is used, as shares of what the credential that is worst off may ask. */
type Spent = ReadonlyMap<string, { readonly least: number; readonly most: number }>

/** A budget is looked at before each request of it: of what is older than this, seconds, a few that were under way may not be told yet. */
const looked = 600
const sinceTheLook = 4

interface Row {
  readonly group: string
  readonly apps: readonly string[]
  readonly all: number
  readonly before: number
}

/** What the debits of the last day say; undefined where some of them went with a history of the database. */
async function readSpent({
  rows,
  apps,
  end,
  spares,
  sandbox,
  rewound = [],
}: Examination): Promise<Spent | undefined> {
  if (rewound.length > 0) return undefined
  const now = end / 1_000
  const debits = await rows<Row>(
    `select limit_group as group, array_agg(distinct app_id) as apps, count(*)::float8 as all,
            count(*) filter (where sent_at < to_timestamp(${now - looked}))::float8 as before
     from ingest.debit where sent_at > to_timestamp(${now - perDay}) group by scope, limit_group`,
  )
  const keyOf = (app: string) => sandbox.settings.apps.find(({ id }) => id === app)?.rest?.key ?? app
  const ofEach = debits.flatMap(({ group, apps: sharing, all, before }) => {
    if (!isOfAnalytics(group)) return []
    // Whoever has the same key counts, also one that asks nothing.
    const keys = new Set(sharing.map(keyOf))
    const plans = apps.filter(({ id }) => keys.has(keyOf(id))).map(({ plan }) => plan)
    const rates = plans.flatMap(plan => allowanceOf(group, plan)?.rates ?? [])
    const ofDay = (spares ? spared(rates) : rates).filter(({ window }) => window === perDay)
    const most = Math.min(...ofDay.map(({ requests }) => requests))
    return Number.isFinite(most)
      ? [{ group, least: Math.max(0, before - sinceTheLook) / most, most: all / most }]
      : []
  })
  const worst = [...Map.groupBy(ofEach, ({ group }) => group)].map(([group, members]) => {
    const [least, most] = (['least', 'most'] as const).map(end => Math.max(...members.map(each => each[end])))
    return [group, { least: least!, most: most! }] as const
  })
  return new Map(worst)
}

function isOfAnalytics(group: string): group is AnalyticsGroup {
  return Object.hasOwn(analyticsLimits, group)
}

const rounding = 1e-9

/** What is told of one group by one process. */
interface Ratio {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Of a budget the credential that is worst off is told of: never more than that, and no less by a process that had all of them. */
export async function judgeSpent(
  found: Findings,
  ratios: readonly Ratio[],
  examination: Examination,
): Promise<void> {
  const spent = await readSpent(examination)
  const told = Map.groupBy(ratios, ({ labels }) => labels.group!)
  for (const group of new Set([...told.keys(), ...(spent?.keys() ?? [])])) {
    const { least, most } = spent?.get(group) ?? { least: 0, most: 1 }
    const shares = (told.get(group) ?? []).map(({ value }) => value)
    const lowest = (examination.askers ?? []).length === 1 ? least : 0
    const wrong = shares.find(share => share < 0 || share > most + rounding)
    const is = wrong ?? Math.max(0, ...shares)
    if (wrong !== undefined || is < lowest - rounding)
      found.add('metric', 'budget_used_ratio', `${group} is ${is}, and ${lowest} to ${most} were used`)
  }
}
