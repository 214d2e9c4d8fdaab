import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { streamNames } from '../support/streams.ts'
import { unknownIn } from './measured.ts'
import { canRun, promtool } from './promtool.ts'
import {
  allAlerts,
  allRules,
  queriesOf,
  readYaml,
  ruleFiles,
  thresholdNames,
  unitTestFiles,
} from './rule-files.ts'

describe.skipIf(!canRun)('promtool', () => {
  it.each(named(ruleFiles()))('can read $name as it lies there', async ({ path }) => {
    expect(await promtool('check', 'rules', '--lint=all', '--lint-fatal', path)).toMatchObject({ status: 0 })
  })

  it.each(named(unitTestFiles()))(
    'sees the alerts of $name fire and resolve as they should',
    async ({ path }) => {
      expect(await promtool('test', 'rules', path)).toMatchObject({ status: 0 })
    },
  )
})

function named(paths: readonly string[]): readonly { readonly name: string; readonly path: string }[] {
  return paths.map(path => ({ name: basename(path), path }))
}

interface UnitTest {
  readonly alert_rule_test?: readonly {
    readonly alertname: string
    readonly exp_alerts: readonly unknown[]
  }[]
}

describe('the unit tests', () => {
  const tests = unitTestFiles().flatMap(
    path => (readYaml(path) as { readonly tests: readonly UnitTest[] }).tests,
  )
  const outcomesOf = (alert: string) =>
    tests
      .map(({ alert_rule_test = [] }) =>
        alert_rule_test
          .filter(({ alertname }) => alertname === alert)
          .map(({ exp_alerts }) => exp_alerts.length > 0),
      )
      .filter(outcomes => outcomes.length > 0)

  it.each(allAlerts().map(({ alert }) => alert))('see %s fire, stay silent and resolve', alert => {
    const outcomes = outcomesOf(alert)
    expect(outcomes.flat(), 'a moment at which it fires').toContain(true)
    expect(
      outcomes.some(
        fires => fires.indexOf(false) === 0 && fires.lastIndexOf(false) > fires.lastIndexOf(true),
      ),
      'a course of events that fires it in the middle: silent at first, silent again at the end',
    ).toBe(true)
  })

  it('name no alert that is none', () => {
    const known = new Set(allAlerts().map(({ alert }) => alert))
    const named = tests.flatMap(({ alert_rule_test = [] }) =>
      alert_rule_test.map(({ alertname }) => alertname),
    )
    expect(named.filter(name => !known.has(name))).toEqual([])
  })
})

describe('the alerts', () => {
  const alerts = allAlerts()

  it.each(alerts)(
    '$alert says how grave it is, what it is and where to read on',
    ({ alert, labels, annotations }) => {
      expect(['critical', 'warning']).toContain(labels.severity)
      expect(annotations.summary!.length).toBeLessThan(100)
      expect(annotations.description!.length).toBeGreaterThan(annotations.summary!.length)
      expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    },
  )

  it('have names of their own', () => {
    const names = alerts.map(({ alert }) => alert)
    expect(names).toEqual([...new Set(names)])
  })

  it('belong to one job wherever they select, so that the chart can give it another name', () => {
    const bare = allRules()
      .flatMap(queriesOf)
      .flatMap(query => [
        ...query.matchAll(/\b(?:penstock[_:][\w:]+|process_\w+|up)\b(?!\{job="penstock"[,}])/g),
      ])
      .map(([metric]) => metric)
    expect(bare).toEqual([])
  })

  it('hold no number beside the thresholds but 0 and the lengths of what is looked back at', () => {
    const numbers = alerts.flatMap(({ alert, expr }) => {
      const code = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '[]')
      return [...code.matchAll(/[<>=]\s*(-?\d[\d.]*)/g)].map(([, number]) => `${alert} ${number}`)
    })
    // The last two tell a process that has just begun.
    const allowed = ['PenstockRefusals 900', 'PenstockDeadLetters 3600']
    expect(numbers.filter(each => !each.endsWith(' 0') && !allowed.includes(each))).toEqual([])
  })

  it('use every threshold, and none that is not there', () => {
    const used = allRules()
      .flatMap(queriesOf)
      .flatMap(query => [...query.matchAll(/penstock_threshold\{job="penstock",name="(\w+)"\}/g)])
      .map(([, name]) => name!)
    expect([...new Set(used)].toSorted()).toEqual(thresholdNames().toSorted())
  })
})

describe('what the rules select', () => {
  it('is what the daemon measures, by labels that it has', async () => {
    expect(await unknownIn(allRules().flatMap(queriesOf))).toEqual([])
  })

  it('are streams that there are, each of them by one pattern', () => {
    const named = allRules()
      .flatMap(({ expr }) => [...expr.matchAll(/stream(=~|!~)"([^"]*)"/g)])
      .flatMap(([, , pattern]) => pattern!.split('|'))
    const dead = named.filter(part => !streamNames.some(name => new RegExp(`^(?:${part})$`).test(name)))
    expect(dead).toEqual([])
    const { expr } = allAlerts().find(({ alert }) => alert === 'PenstockStreamLagging')!
    const patterns = [...expr.matchAll(/stream(=~|!~)"([^"]*)"/g)]
    const limitsOf = (name: string) =>
      patterns.filter(([, how, text]) => new RegExp(`^(?:${text})$`).test(name) === (how === '=~')).length
    expect(streamNames.filter(name => limitsOf(name) !== 1)).toEqual([])
  })
})
