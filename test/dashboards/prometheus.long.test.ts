import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, hasPrometheus } from '../alerts/prometheus.ts'
import { type Dashboard, type Panel, panelsOf, readDashboards, type Target } from './files.ts'
import { openWatchedDaemon, type WatchedDaemon } from './live-stage.ts'
import { askProm, labelValues, type Series, unknownLabels } from './promql.ts'

/** How long the slowest panel may take to show something, ms: real-time values come a minute late. */
const patience = 150_000

const { operations } = readDashboards() as { readonly operations: Dashboard }
type Queries = readonly (readonly [Panel, Target])[]
const queries = queriesOf(operations)
const values = { job: 'penstock', namespace: '.*', instance: '.*' }

function queriesOf(dashboard: Dashboard): Queries {
  return panelsOf(dashboard).flatMap(panel => (panel.targets ?? []).map(target => [panel, target] as const))
}

describe.skipIf(!hasPrometheus)('the dashboard of operations', { timeout: 2 * patience }, () => {
  let stage: WatchedDaemon
  beforeAll(async () => {
    stage = await openWatchedDaemon()
  })
  afterAll(() => stage?.close())

  const ask = (target: Pick<Target, 'expr' | 'instant'>) => askProm(stage.prometheus, target, values)

  /** What the panel of that title shows. */
  async function shown(title: string): Promise<readonly Series[]> {
    const panel = panelsOf(operations).find(one => one.title === title)!
    return (await Promise.all((panel.targets ?? []).map(ask))).flat()
  }

  /** The newest value of all lines of a panel together. */
  async function newest(title: string): Promise<number> {
    return (await shown(title)).reduce((sum, series) => sum + (series.values.at(-1) ?? 0), 0)
  }

  async function empty(asked: Queries = queries): Promise<readonly string[]> {
    const names = asked.map(async ([panel, target]): Promise<string[]> => {
      const series = await ask(target)
      return series.some(one => one.values.length > 0) ? [] : [`${panel.title}: ${target.expr}`]
    })
    return (await Promise.all(names)).flat()
  }

  it('fills every panel', async () => {
    await eventually(async () => (await empty()).length === 0, patience)
    expect(await empty()).toEqual([])
  })

  it('shows zeros while all is well, and not nothing', async () => {
    const zero = [
      ...[
        'Alerts that fire',
        'Shards without an owner',
        'Streams that are late',
        'Streams about to lose data',
      ],
      ...['Ranges lost within 24 hours', 'Refusals within an hour', 'Dead letters within 24 hours'],
      ...[
        'Refusals by kind',
        'Dead letters by reason',
        'Contradictions',
        'Pages that failed',
        'Gaps that are lost',
      ],
      ...['Notifications of players'],
    ]
    // A first start begins with what is about to leave the available data of the plan, and catches up.
    await eventually(async () => (await newest('Streams about to lose data')) === 0, patience)
    for (const title of zero) {
      const series = await shown(title)
      expect(series.length, title).toBeGreaterThan(0)
      expect(
        series.flatMap(one => one.values).filter(value => value !== 0),
        title,
      ).toEqual([])
    }
    expect((await shown('Alerts that fire, or soon will')).map(({ labels }) => labels.alertname)).toEqual([
      'none',
    ])
    expect(await newest('Processes')).toBe(1)
    expect(await newest('Database')).toBe(1)
  })

  it('offers the job and its processes, which are those that it shows', async () => {
    const offered: Record<string, readonly string[]> = {}
    for (const variable of operations.templating.list.filter(({ type }) => type === 'query')) {
      offered[variable.name] = await labelValues(stage.prometheus, variable, values)
    }
    const [{ labels }] = (await shown('What runs')) as readonly [Series]
    // Outside of a cluster nothing has a namespace: there is only All.
    expect(offered).toEqual({ job: ['penstock'], namespace: [], instance: [labels.instance] })
    expect(
      await askProm(stage.prometheus, { expr: 'up{job="$job"}', instant: true }, { job: 'other' }),
    ).toEqual([])
  })

  it('shows a refusal where it looks for refusals', async () => {
    stage.sandbox.faults.set([{ kind: 'status', status: 200, code: 300, operation: 'callSearch', at: [1] }])
    const kinds = async () => {
      const all = await shown('Refusals by kind')
      return all.filter(one => one.values.some(value => value > 0)).map(({ labels }) => labels)
    }
    const firing = async () => {
      const all = (await shown('Alerts that fire, or soon will')).map(({ labels }) => labels)
      return all.filter(one => one.alertname === 'PenstockRefusals' && one.alertstate === 'firing')
    }
    // Each of them is read from Prometheus at a moment of its own.
    await eventually(async () => (await kinds()).length > 0 && (await firing()).length > 0, patience)
    expect(await kinds()).toEqual([{ operation: 'callSearch', kind: 'limit_exceeded' }])
    expect(await firing()).toEqual([expect.objectContaining({ operation: 'callSearch' })])
    expect(await newest('Alerts that fire')).toBeGreaterThan(0)
    expect(await newest('Refusals within an hour')).toBeGreaterThan(0)
    expect(await unnamed()).toEqual([])
  })

  /** What legends and columns name and no series has. */
  async function unnamed(asked: Queries = queries): Promise<readonly string[]> {
    const found = asked.map(async ([panel, target]) =>
      unknownLabels(panel, target, await ask(target)).map(label => `${panel.title}: ${label}`),
    )
    return (await Promise.all(found)).flat()
  }

  it('marks the alert and the start of the process over time', async () => {
    const look = () =>
      Promise.all(
        operations.annotations.list.map(
          async ({ name, expr }) => [name, await ask({ expr: expr! })] as const,
        ),
      )
    await eventually(async () => (await look()).every(([, series]) => series.length > 0), patience)
    const marks = await look()
    const [[, starts], [, alerts]] = marks as unknown as [[string, Series[]], [string, Series[]]]
    expect(starts).toHaveLength(1)
    expect(alerts.map(({ labels }) => labels.alertname)).toContain('PenstockRefusals')
    const [start] = starts as [Series]
    expect(new Date(start.values.at(-1)!).getUTCFullYear()).toBeGreaterThan(2025)
    for (const { expr, target } of operations.annotations.list) expect(target.expr).toBe(expr)
  })

  it.each([
    ['a state that no gap has', 'state=\\"open\\"', 'state=\\"opened\\"', /^Gaps that are open/],
    [
      'a number that no rule records',
      'name=\\"lag_seconds\\"',
      'name=\\"lateness\\"',
      /^Lateness|^Lag of rooms/,
    ],
    [
      'a panel that is empty while all is well',
      ' or on () label_replace',
      ' and on () label_replace',
      /^Refusals by kind|^Notif/,
    ],
    ['a rate of what is no counter here', 'penstock_rows_total', 'penstock_rows', /^Rows written/],
    [
      'a join on what both sides do not have',
      '/ on () group_left ()',
      '/ on (stream) group_left ()',
      /^Lateness/,
    ],
    ['a legend with a label that is not there', '{{table}}', '{{tabel}}', /^Rows written: tabel/],
    [
      'a column of a label that is not there',
      '"severity":"Severity"',
      '"gravity":"Severity"',
      /soon will: gravity/,
    ],
    [
      'a label that was summed away',
      'sum by (operation, kind)',
      'sum by (kind)',
      /^Refusals by kind: operation/,
    ],
  ])('would not overlook %s', async (_, from, to, found) => {
    const text = JSON.stringify(operations)
    expect(text).toContain(from)
    const spoilt = queriesOf(JSON.parse(text.replaceAll(from, to)) as Dashboard)
    expect([...(await empty(spoilt)), ...(await unnamed(spoilt))].join('\n')).toMatch(new RegExp(found, 'm'))
  })
})
