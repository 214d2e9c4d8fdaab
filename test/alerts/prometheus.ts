import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock/system.ts'

/** Debian's package prometheus; where it must be there, its absence is a failure. */
export const hasPrometheus =
  spawnSync('prometheus', ['--version']).status === 0 || process.env.REQUIRE_PROMTOOL !== undefined

export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface Prometheus {
  /** Alerts that fire at this moment; those that only might soon are left out. */
  readonly firing: () => Promise<readonly FiringAlert[]>
  /** Names of the rules whose last evaluation failed, with the error. */
  readonly brokenRules: () => Promise<readonly string[]>
  /** What a path of its HTTP interface answers, without the envelope. */
  readonly ask: (path: string) => Promise<unknown>
  /** How many series an instant query answers. */
  readonly count: (query: string) => Promise<number>
  readonly close: () => Promise<void>
}

/** Starts a Prometheus that scrapes `target` (host:port) and evaluates the rules every second. `rules`: text by name. */
export async function startPrometheus(
  target: string,
  rules: Readonly<Record<string, string>>,
): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-prometheus-'))
  await mkdir(join(folder, 'rules'))
  for (const [name, text] of Object.entries(rules)) await writeFile(join(folder, 'rules', name), text)
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules/*.yaml'],
    scrape_configs: [{ job_name: 'penstock', static_configs: [{ targets: [target] }] }],
  }
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const said: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text))
  const ended = once(child, 'exit')

  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://${address}${path}`)
    if (!answer.ok) throw new Error(`Prometheus answers ${answer.status}: ${await answer.text()}`)
    return ((await answer.json()) as { readonly data: unknown }).data
  }
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const isReady = async () =>
    await fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  if (!(await eventually(isReady, 120_000))) {
    await close()
    throw new Error(`Prometheus does not get ready: ${said.join('')}`)
  }

  return {
    ask,
    firing: async () => {
      const { alerts } = (await ask('/api/v1/alerts')) as {
        readonly alerts: readonly (FiringAlert & { readonly state: string })[]
      }
      return alerts.filter(({ state }) => state === 'firing')
    },
    brokenRules: async () => {
      const { groups } = (await ask('/api/v1/rules')) as {
        readonly groups: readonly {
          readonly rules: readonly {
            readonly name: string
            readonly health: string
            readonly lastError?: string
          }[]
        }[]
      }
      return groups
        .flatMap(group => group.rules)
        .filter(({ health }) => health !== 'ok')
        .map(({ name, health, lastError }) => `${name}: ${lastError ?? health}`)
    },
    count: async query => {
      const { result } = (await ask(`/api/v1/query?query=${encodeURIComponent(query)}`)) as {
        readonly result: readonly unknown[]
      }
      return result.length
    },
    close,
  }
}

/** Whether something becomes true within `patience` ms. */
export async function eventually(check: () => Promise<boolean>, patience: number): Promise<boolean> {
  const deadline = systemClock.monotonic() + patience
  for (;;) {
    if (await check()) return true
    if (systemClock.monotonic() > deadline) return false
    await systemClock.sleep(200)
  }
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
