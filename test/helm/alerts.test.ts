import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { chart, objectOf, reasonToSkip, render } from './helm.ts'

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface Group {
  readonly name: string
  readonly rules: readonly Rule[]
}

const folder = join(chart, 'rules')
const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
const written: readonly Group[] = files.flatMap(
  name => parse(readFileSync(join(folder, name), 'utf8')).groups,
)

/** What the chart should make of a rule: the series of its own job, its own thresholds, links that lead somewhere, and where it is. */
function expected(rule: Rule, thresholds: Readonly<Record<string, number>>, prefix: string): Rule {
  const own = (text: string) => text.replaceAll('job="penstock"', 'job="school-penstock",namespace="data"')
  const annotations = Object.entries(rule.annotations ?? {}).map(([name, text]) => [
    name,
    name === 'runbook_url' ? `${prefix}${text}` : own(text),
  ])
  const value = rule.record === 'penstock_threshold' ? thresholds[rule.labels!.name!] : undefined
  return {
    ...rule,
    expr: value === undefined ? own(rule.expr) : `vector(${value})`,
    ...(rule.annotations && { annotations: Object.fromEntries(annotations) }),
    ...(rule.record === 'penstock_threshold' && {
      labels: { ...rule.labels, job: 'school-penstock', namespace: 'data' },
    }),
    ...(rule.alert && { labels: { ...rule.labels, namespace: 'data' } }),
  }
}

describe.skipIf(reasonToSkip)('the PrometheusRule', () => {
  const groups = () =>
    (objectOf(render('production'), 'PrometheusRule').spec as { groups: readonly Group[] }).groups

  test('is the files of rules, for the job and namespace of the release and with the numbers of the values', () => {
    const thresholds = { lag_seconds: 600, budget_spent_ratio: 0.9 }
    const wanted = written.map(group => ({
      ...group,
      rules: group.rules.map(rule => expected(rule, thresholds, 'https://wiki.example.com/penstock/')),
    }))
    expect(groups()).toEqual(wanted)
    expect(groups().flatMap(({ rules }) => rules).length).toBeGreaterThan(20)
  })

  test("judges nobody else's series", () => {
    const exprs = groups().flatMap(({ rules }) => rules.map(({ expr }) => expr))
    const selectors = exprs.flatMap(expr => expr.match(/\{[^}]*\}/g) ?? [])
    expect(selectors.length).toBeGreaterThan(20)
    expect(selectors.filter(text => !text.includes('job="school-penstock",namespace="data"'))).toEqual([])
  })

  test('a large number is written as one that Prometheus reads', () => {
    const { groups: all } = objectOf(render('everything'), 'PrometheusRule').spec as {
      groups: readonly Group[]
    }
    const rules = all.flatMap(({ rules }) => rules)
    const exprOf = (name: string) => rules.find(({ labels }) => labels?.name === name)!.expr
    expect(Number(/vector\((.*)\)/.exec(exprOf('gaps_open'))![1])).toBe(1_000_000)
    expect(Number(/vector\((.*)\)/.exec(exprOf('stall_seconds'))![1])).toBe(1_200)
  })

  const promtool = spawnSync('promtool', ['--version']).status === 0
  test.skipIf(!promtool && !process.env.REQUIRE_PROMTOOL)('promtool accepts it', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'penstock-rules-')), 'rules.json')
    writeFileSync(file, JSON.stringify({ groups: groups() }))
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    rmSync(dirname(file), { recursive: true })
    expect({ status, stderr }, stdout + stderr).toEqual({ status: 0, stderr: '' })
  })

  test('is not there unless it is asked for', () => {
    expect(render('smallest').objects.map(({ kind }) => kind)).not.toContain('PrometheusRule')
  })
})

describe.skipIf(reasonToSkip)('the dashboards', () => {
  test("are in a ConfigMap each, word for word, where Grafana's sidecar finds them", () => {
    const names = readdirSync(join(chart, 'dashboards')).filter(name => name.endsWith('.json'))
    const maps = render('everything').objects.filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'dashboards',
    )
    expect(maps.map(({ metadata }) => metadata.name)).toEqual(
      names.map(name => `classroom-drain-dashboard-${name.slice(0, -'.json'.length)}`),
    )
    for (const { metadata, data = {} } of maps) {
      expect(metadata).toMatchObject({
        labels: { grafana_dashboard: '1' },
        annotations: { grafana_folder: 'Classrooms' },
      })
      const [[key, text] = ['', '']] = Object.entries(data)
      const file = readFileSync(join(chart, 'dashboards', key.slice('penstock-'.length)), 'utf8')
      expect(text.trimEnd()).toBe(file.trimEnd())
      expect(Buffer.byteLength(text)).toBeLessThan(1_000_000)
    }
  })
})
