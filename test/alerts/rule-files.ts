import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** Where the rule files lie, as they are loaded by Prometheus and by the chart. */
const rulesFolder = fileURLToPath(new URL('../../helm/penstock/rules/', import.meta.url))

export interface RuleGroup {
  readonly name: string
  readonly rules: readonly Rule[]
}

/** An alert has `alert`, a recorded series `record`. */
export interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export type Alert = Rule & Required<Pick<Rule, 'alert' | 'labels' | 'annotations'>>

/** Paths of the rule files. */
export function ruleFiles(): readonly string[] {
  return yamlFilesIn(rulesFolder)
}

/** Paths of promtool's unit tests. */
export function unitTestFiles(): readonly string[] {
  return yamlFilesIn(fileURLToPath(new URL('./', import.meta.url)))
}

function yamlFilesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .map(name => `${folder}${name}`)
}

export function readYaml(path: string): unknown {
  return parse(readFileSync(path, 'utf8'))
}

export function groupsIn(path: string): readonly RuleGroup[] {
  return (readYaml(path) as { readonly groups: readonly RuleGroup[] }).groups
}

export function allRules(): readonly Rule[] {
  return ruleFiles()
    .flatMap(groupsIn)
    .flatMap(({ rules }) => rules)
}

export function allAlerts(): readonly Alert[] {
  return allRules().filter((rule): rule is Alert => rule.alert !== undefined)
}

/** Names of the thresholds that are recorded. */
export function thresholdNames(): readonly string[] {
  return allRules()
    .filter(({ record }) => record === 'penstock_threshold')
    .map(({ labels }) => labels!.name!)
}

/** Every expression of a rule, and every query inside its annotations. */
export function queriesOf({ expr, annotations = {} }: Rule): readonly string[] {
  const inside = Object.values(annotations).flatMap(text => [...text.matchAll(/query `([^`]*)`/g)])
  return [expr, ...inside.map(([, query]) => query!)]
}
