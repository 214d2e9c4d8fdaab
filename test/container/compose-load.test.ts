import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createSandbox, demoApp, profiles } from '../../sandbox/src/index.ts'
import { outlooksOf } from '../../src/commands/forecast/outlook.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { allAlerts } from '../alerts/rule-files.ts'
import { panelsOf, readDashboards } from '../dashboards/files.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { repository } from './image.ts'

const { services } = parse(readFileSync(join(repository, 'compose.yaml'), 'utf8'), { merge: true })
const command: readonly string[] = services.sandbox.command

let config: Config

beforeAll(async () => {
  config = await loadConfig(join(repository, 'deploy/compose/penstock.yaml'), {
    env: { DATABASE_URL: 'postgres://a:b@postgres/c' },
  })
})

describe('what compose plays', () => {
  const hours = 3

  /** Calls that began within so many hours. */
  async function playedCalls() {
    const clock = new VirtualClock()
    const profile = profiles[command[command.indexOf('--profile') + 1]!]!
    const sandbox = createSandbox({ clock, profile, apps: [{ ...demoApp, plan: 'enterprise' }] })
    const from = clock.now()
    await clock.advance(hours * 3_600_000)
    const calls = [...sandbox.truth()].flatMap(line => (line.kind === 'call' ? [line.call] : []))
    return calls.filter(({ createdAt }) => createdAt >= from)
  }

  test('is what the configuration expects, and leaves a tenth of the plan', async () => {
    const { callsPerDay, usersPerCall, callMinutes } = config.apps[0]!.expect!
    const calls = await playedCalls()
    const over = calls.flatMap(({ createdAt, destroyedAt, sessions }) =>
      destroyedAt === undefined
        ? []
        : [{ stays: sessions.length, minutes: (destroyedAt - createdAt) / 60_000 }],
    )
    const perDay = (calls.length * 24) / hours
    expect(Math.abs(perDay - callsPerDay)).toBeLessThan(0.05 * callsPerDay)
    expect(mean(over.map(({ stays }) => stays))).toBeLessThanOrEqual(usersPerCall)
    expect(mean(over.map(({ minutes }) => minutes))).toBeLessThanOrEqual(callMinutes)
    // One question for the stays of a call, and one for the metrics of each twenty of them; 10,000 a day are allowed.
    const perCall = mean(over.map(({ stays }) => 1 + Math.ceil(stays / 20)))
    expect(perDay * perCall).toBeLessThan(9_000)
  })

  test('fits in the plan of both sides: nothing is lost, and nothing is asked later than the file says', () => {
    const [app] = config.apps
    expect(app!.acceptLoss).toEqual([])
    expect(command[command.indexOf('--plan') + 1]).toBe(app!.plan)
    const [outlook] = outlooksOf(config)
    expect(outlook!.losses).toEqual([])
    const late = outlook!.groups.filter(({ wished, allowed }) => wished > 0.9 * allowed)
    expect(late.map(({ group }) => group)).toEqual([])
  })

  function mean(values: readonly number[]): number {
    return values.reduce((sum, each) => sum + each, 0) / values.length
  }
})

const sums = ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] as const
type Sums = (typeof sums)[number]

const streamOf: Readonly<Record<string, Sums>> = {
  'analytics.usage_insight': 'usage-insight',
  'analytics.quality_insight': 'quality-insight',
  'analytics.usage_realtime': 'realtime-usage',
  'analytics.quality_realtime': 'realtime-quality',
}

/** Metrics that a piece of SQL wants, by the table that it takes them from. */
function wantedBySql(sql: string): readonly (readonly [Sums, string])[] {
  return sql.split(/(?=analytics\.(?:usage|quality)_(?:insight|realtime)\b)/).flatMap(part => {
    const stream = streamOf[/^[\w.]+/.exec(part)?.[0] ?? '']
    if (stream === undefined) return []
    const [, one, several] = /\bmetric (?:= '(\w+)'|in \(([^)]+)\))/.exec(part) ?? []
    const names = one === undefined ? [...(several ?? '').matchAll(/\w+/g)].map(([name]) => name) : [one]
    return names.length > 0 ? names.map(name => [stream, name] as const) : [[stream, `? in ${part}`] as const]
  })
}

/** Metrics that a query of Prometheus wants; all that `joinSuccess.*` could mean, too. */
function wantedByProm(expr: string): readonly (readonly [Sums, string])[] {
  return [...expr.matchAll(/penstock_call_quality\{[^}]*\bmetric=~?"([^"]+)"/g)].flatMap(([, names]) =>
    names!.split('|').map(name => ['realtime-quality', name] as const),
  )
}

describe('what compose drains', () => {
  const isDrained = ([stream, wanted]: readonly [Sums, string]) => {
    const settings = config.apps[0]!.streams[stream]
    if (settings === undefined || settings === 'off') return false
    return (settings as { readonly metrics: readonly string[] }).metrics.some(name =>
      new RegExp(`^(?:${wanted})$`).test(name),
    )
  }

  test('is every metric that a panel shows', () => {
    const targets = Object.values(readDashboards())
      .flatMap(panelsOf)
      .flatMap(({ targets = [] }) => targets)
    const wanted = targets.flatMap(({ rawSql = '', expr = '' }) => [
      ...wantedBySql(rawSql),
      ...wantedByProm(expr),
    ])
    for (const stream of sums) expect(wanted.map(([from]) => from)).toContain(stream)
    expect(wanted.filter(each => !isDrained(each))).toEqual([])
  })

  test('is every metric that an alert judges', () => {
    const wanted = allAlerts().flatMap(({ expr }) => wantedByProm(expr))
    expect(wanted.length).toBeGreaterThanOrEqual(4)
    expect(wanted.filter(each => !isDrained(each))).toEqual([])
  })
})
