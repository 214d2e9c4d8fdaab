import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canRun, promtool } from '../alerts/promtool.ts'
import { type Dashboard, panelsOf, readDashboards } from './files.ts'
import { putVariables } from './macros.ts'

const { operations } = readDashboards() as { readonly operations: Dashboard }

interface Scene {
  /** Series with the value that each has all the time, or how it goes, as promtool writes it. */
  readonly series: Readonly<Record<string, number | string>>
  readonly chosen?: Readonly<Record<string, string>>
}

/** Whether the first query of a panel answers these samples, as promtool says it. */
async function shows(
  title: string,
  { series, chosen = {} }: Scene,
  samples: Readonly<Record<string, number>>,
) {
  const { expr = '' } = panelsOf(operations).find(one => one.title === title)!.targets![0]!
  const values = { job: 'penstock', namespace: '.*', instance: '.*', ...chosen }
  const test = {
    interval: '1m',
    input_series: Object.entries(series).map(([name, value]) => {
      return { series: name, values: typeof value === 'string' ? value : `${value}+0x120` }
    }),
    promql_expr_test: [
      {
        expr: putVariables(expr, values).replaceAll('$__range', '24h'),
        eval_time: '90m',
        exp_samples: Object.entries(samples).map(([labels, value]) => ({ labels, value })),
      },
    ],
  }
  const folder = await mkdtemp(join(tmpdir(), 'penstock-panels-'))
  try {
    const path = join(folder, 'panel.yaml')
    await writeFile(path, JSON.stringify({ evaluation_interval: '1m', tests: [test] }))
    const { status, text } = await promtool('test', 'rules', path)
    expect({ status, text }, title).toEqual({ status: 0, text: expect.anything() })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe.skipIf(!canRun)('a panel of operations', () => {
  const threshold = (name: string) => `penstock_threshold{job="penstock",name="${name}"}`

  it('calls no shard unowned that a process owns which is not chosen', async () => {
    const series = {
      [threshold('shards')]: 64,
      'penstock_shards_owned{job="penstock",instance="a:9464"}': 30,
      'penstock_shards_owned{job="penstock",instance="b:9464"}': 34,
    }
    await shows('Shards without an owner', { series, chosen: { instance: 'a:9464' } }, { '{}': 0 })
  })

  it('says that there is no process where Prometheus knows of none', async () => {
    await shows('Processes', { series: { 'up{job="other"}': 1 } }, { '{}': 0 })
  })

  it('tells alerts of no other namespace than the chosen one', async () => {
    const series = {
      'ALERTS{job="penstock",namespace="one",alertname="PenstockDown",alertstate="firing"}': 1,
      'ALERTS{job="penstock",namespace="two",alertname="PenstockDown",alertstate="firing"}': 1,
      'ALERTS{job="penstock",namespace="two",alertname="PenstockDataLost",alertstate="firing"}': 1,
      'ALERTS{job="penstock",alertname="PenstockRefusals",alertstate="firing"}': 1,
    }
    await shows('Alerts that fire', { series, chosen: { namespace: 'one' } }, { '{}': 2 })
    await shows(
      'Alerts that fire, or soon will',
      { series, chosen: { namespace: 'one' } },
      {
        'ALERTS{job="penstock",namespace="one",alertname="PenstockDown",alertstate="firing"}': 1,
        // Rules that are loaded without the chart know of no namespace where they sum over processes.
        'ALERTS{job="penstock",alertname="PenstockRefusals",alertstate="firing"}': 1,
      },
    )
  })

  it('shows what has left the reach of the plan as the nearest to loss', async () => {
    const series = {
      [threshold('expiry_seconds')]: 21_600,
      [threshold('expiry_realtime_seconds')]: 300,
      'penstock_backlog_expires_seconds{job="penstock",app="a",stream="calls"}': -120,
      'penstock_backlog_expires_seconds{job="penstock",app="a",stream="call-metrics"}': 43_200,
      'penstock_backlog_expires_seconds{job="penstock",app="a",stream="realtime-usage"}': -5,
    }
    await shows(
      'Nearness of loss',
      { series },
      { '{stream="calls"}': 21_600, '{stream="call-metrics"}': 0.5, '{stream="realtime-usage"}': 300 },
    )
  })

  it('counts no refusal or failure of a request as a dead letter, as its alert does not, and tells the reasons of all', async () => {
    const letters = (reason: string) =>
      `penstock_dead_letters_total{job="penstock",stream="calls",reason="${reason}"}`
    const series = {
      [letters('unavailable')]: '0+3x120',
      [letters('qps_limit')]: '0+3x120',
      [letters('malformed')]: 0,
    }
    await shows('Dead letters within 24 hours', { series }, { '{}': 0 })
    await shows(
      'Dead letters by reason',
      { series },
      { '{stream="calls",reason="unavailable"}': 270, '{stream="calls",reason="qps_limit"}': 270 },
    )
  })
})
