import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { createSandbox, demoApp, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { freePort, type Prometheus, startPrometheus } from '../alerts/prometheus.ts'
import { ruleFiles } from '../alerts/rule-files.ts'
import { openSetting } from '../e2e/setting.ts'

/** A daemon on the sandbox, and a Prometheus that scrapes it every second and knows the rules as they are. */
export interface WatchedDaemon {
  readonly sandbox: Sandbox
  readonly prometheus: Prometheus
  readonly close: () => Promise<void>
}

export async function openWatchedDaemon(): Promise<WatchedDaemon> {
  const port = await freePort()
  const setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock: systemClock, seed: 'dashboards', apps: [{ ...demoApp, plan: 'enterprise' }] },
        profile: {
          ...{ kind: 'school', classes: 2, students: 4, lessonMinutes: 30, breakMinutes: 5 },
          ...{ eventsPerMinute: 20, historyMinutes: 10 },
        },
      }),
    configOf: ({ databaseUrl, providerUrl }) => configOf(databaseUrl, providerUrl, port),
  })
  const rules = Object.fromEntries(ruleFiles().map(path => [basename(path), readFileSync(path, 'utf8')]))
  const prometheus = await startPrometheus(`127.0.0.1:${port}`, rules)
  const close = async () => {
    await prometheus.close()
    await setting.close()
  }
  try {
    await setting.start().ready
    return { sandbox: setting.sandbox, prometheus, close }
  } catch (error) {
    await close()
    throw error
  }
}

function configOf(database: string, provider: string, port: number): object {
  const { id, uid, token, rest } = demoApp
  return {
    database: { url: database, poolSize: 4 },
    http: { listen: `127.0.0.1:${port}` },
    provider: { classroom: { url: provider }, analytics: { url: provider }, players: { url: provider } },
    streams: {
      'app-events': { every: '1s' },
      'cloud-players': { every: '5s' },
      calls: { every: '10s' },
      // A first start reads a month of insights, for hours; until then it is not well.
      'usage-insight': 'off',
      'quality-insight': 'off',
      'realtime-usage': 'off',
      'realtime-quality': { every: '30s', metrics: ['audioFreezeRate', 'joinSuccessRate', 'networkDelay'] },
    },
    apps: [{ id, region: 'ap', plan: 'enterprise', rest, classroom: { uid, token } }],
  }
}
