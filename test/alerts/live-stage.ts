import { basename } from 'node:path'
import { createSandbox, demoApp, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { type DaemonProcess, startDaemonProcess } from '../e2e/daemon.ts'
import { openSetting } from '../e2e/setting.ts'
import { databaseUrl, execute } from '../support/databases.ts'
import { freePort, type Prometheus, startPrometheus } from './prometheus.ts'
import { groupsIn, type Rule, ruleFiles } from './rule-files.ts'

/** A daemon on the sandbox, watched by a Prometheus with the rules. */
export interface LiveStage {
  readonly sandbox: Sandbox
  readonly prometheus: Prometheus
  /** Whether the provider says from now on that audio freezes, whatever it does. */
  readonly quality: { audio: 'as it is' | 'bad' }
  /** The database refuses every connection and ends those that there are, until `bringBack`. */
  readonly takeDatabaseAway: () => Promise<void>
  readonly bringDatabaseBack: () => Promise<void>
  /** kill -9. */
  readonly killDaemon: () => Promise<void>
  readonly startDaemon: () => Promise<void>
  readonly close: () => Promise<void>
}

const realtimeQuality = '/beta/realtime/quality/by_time_20sec'

export async function openLiveStage(): Promise<LiveStage> {
  const port = await freePort()
  const quality: LiveStage['quality'] = { audio: 'bad' }
  const setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock: systemClock, seed: 'alerts', apps: [{ ...demoApp, plan: 'enterprise' }] },
        profile: {
          ...{ kind: 'school', classes: 2, students: 4, lessonMinutes: 30, breakMinutes: 5 },
          ...{ eventsPerMinute: 20, historyMinutes: 10 },
        },
      }),
    serve: sandbox => ({
      ...sandbox,
      fetch: async (request, hangUp) => {
        const answer = await sandbox.fetch(request, hangUp)
        const isSpoilt = quality.audio === 'bad' && new URL(request.url).pathname === realtimeQuality
        return isSpoilt ? spoil(answer) : answer
      },
    }),
    configOf: ({ databaseUrl: url, providerUrl }) => configOf(url, providerUrl, port),
  })
  const prometheus = await startPrometheus(`127.0.0.1:${port}`, quickRules())
  let daemon: DaemonProcess | undefined
  const name = new URL(setting.databaseUrl).pathname.slice(1)
  const elsewhere = databaseUrl(setting.databaseUrl, 'postgres')
  const bringDatabaseBack = () => execute(elsewhere, `alter database ${name} with allow_connections true`)

  return {
    sandbox: setting.sandbox,
    prometheus,
    quality,
    takeDatabaseAway: async () => {
      await execute(elsewhere, `alter database ${name} with allow_connections false`)
      await execute(
        elsewhere,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      )
    },
    bringDatabaseBack,
    killDaemon: async () => daemon?.kill(),
    startDaemon: async () => {
      daemon = startDaemonProcess(setting.config)
      await daemon.ready
    },
    close: async () => {
      await daemon?.kill()
      await prometheus.close()
      await bringDatabaseBack()
      await setting.close()
    },
  }
}

/** The same answer, in which audio froze for more than half of the time. */
async function spoil(answer: Response): Promise<Response> {
  const text = (await answer.text()).replaceAll(/"audioFreezeRate":[\d.]+/g, '"audioFreezeRate":60')
  return new Response(text, { status: answer.status, headers: answer.headers })
}

/**
 * The rules as they lie there, but with seconds in the place of minutes: what lasts must last for one, and what is
 * looked back at is ten of them. A stream may be silent for as long.
 */
function quickRules(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ruleFiles().map(path => {
      const groups = groupsIn(path).map(group => ({ ...group, rules: group.rules.map(quicken) }))
      // JSON is YAML too.
      return [basename(path), JSON.stringify({ groups })]
    }),
  )
}

function quicken(rule: Rule): Rule {
  if (rule.labels?.name === 'stall_seconds') return { ...rule, expr: 'vector(10)' }
  const expr = rule.expr.replaceAll(/\[\d+[mh]\]/g, '[10s]').replaceAll(/ < (?:900|3600)\b/g, ' < 10')
  return { ...rule, expr, ...(rule.for && { for: '1s' }) }
}

function configOf(database: string, provider: string, port: number): object {
  const { id, uid, token, rest } = demoApp
  return {
    database: { url: database, poolSize: 4 },
    http: { listen: `127.0.0.1:${port}` },
    provider: {
      classroom: { url: provider, deadline: '2s' },
      analytics: { url: provider, deadline: '2s' },
      players: { url: provider, deadline: '2s' },
    },
    streams: {
      'app-events': { every: '500ms' },
      'cloud-players': { every: '5s' },
      calls: { every: '10s' },
      'realtime-usage': 'off',
      'realtime-quality': { every: '20s', metrics: ['audioFreezeRate'] },
    },
    apps: [{ id, region: 'ap', plan: 'enterprise', rest, classroom: { uid, token } }],
  }
}
