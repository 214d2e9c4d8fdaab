import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startEmbedded } from '../../embedded-postgres/src/start.ts'
import manifest from '../../package.json' with { type: 'json' }
import { demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { loadConfig } from '../../src/config/load.ts'
import { penstock } from '../commands/penstock.ts'
import { databaseUrl, execute } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { execForm, readDockerfile, stageOf } from './dockerfile.ts'
import { repository, textOf } from './image.ts'

interface Service {
  readonly image: string
  readonly build?: string | { readonly context: string; readonly target: string }
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly mem_limit?: string
  readonly [key: string]: unknown
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, null>>
}

const at = (path: string) => join(repository, path)
const text = readFileSync(at('compose.yaml'), 'utf8')
const { services, volumes } = parse(text, { merge: true }) as Compose
const all = Object.entries(services)
const ours = all.filter(([, service]) => service.build !== undefined)

function optionOf(command: readonly string[], name: string): string | undefined {
  const place = command.indexOf(name)
  return place < 0 ? undefined : command[place + 1]
}

/** `source:target[:ro]`; a source that begins with a dot is a path, any other a volume. */
function mountsOf({ volumes: mounts = [] }: Service) {
  return mounts.map(mount => {
    const [source = '', target = '', mode = 'rw'] = mount.split(':')
    return { source, target, mode }
  })
}

describe('compose.yaml', () => {
  test('has what an operator looks for', () => {
    expect(Object.keys(services)).toEqual([
      ...['postgres', 'migrate', 'sandbox', 'penstock', 'prometheus', 'grafana'],
    ])
  })

  test('says nothing that a reader of compose files does not know', () => {
    const known = new Set([
      ...['image', 'build', 'command', 'environment', 'volumes', 'ports', 'depends_on', 'healthcheck'],
      ...['restart', 'read_only', 'cap_drop', 'security_opt', 'mem_limit', 'shm_size', 'stop_grace_period'],
    ])
    expect(all.flatMap(([, service]) => Object.keys(service)).filter(key => !known.has(key))).toEqual([])
  })

  test('takes every image of others at one exact version, and builds our own', () => {
    for (const [name, { image, build }] of all) {
      const isDemo = name === 'sandbox'
      const own = isDemo ? `penstock-demo:${manifest.version}` : `penstock:${manifest.version}`
      const from = isDemo ? { context: '.', target: 'demo' } : '.'
      if (build) expect({ name, image, build }).toEqual({ name, image: own, build: from })
      else expect(image, name).toMatch(/^[\w./-]+:v?\d+\.\d+(\.\d+)?$/)
    }
    expect(ours.map(([name]) => name)).toEqual(['migrate', 'sandbox', 'penstock'])
  })

  test('gives our own containers no right that they do not need', () => {
    for (const [, service] of ours) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
    }
  })

  test('every variable has a default, so that it starts as it is', () => {
    const variables = [...text.matchAll(/\$\{(\w+)(:-[^}]+)?\}/g)]
    expect(variables.length).toBeGreaterThan(0)
    expect(variables.filter(([, , fallback]) => !fallback).map(([whole]) => whole)).toEqual([])
  })

  test('every file that is mounted is there or made by this repository, and every volume is declared', () => {
    const mounts = all.flatMap(([, service]) => mountsOf(service))
    const files = mounts.filter(({ source }) => source.startsWith('./'))
    expect(files.filter(({ source }) => !existsSync(at(source))).map(({ source }) => source)).toEqual([])
    expect(files.filter(({ mode }) => mode !== 'ro')).toEqual([])
    const named = mounts.filter(({ source }) => !source.startsWith('./')).map(({ source }) => source)
    expect(new Set(named)).toEqual(new Set(Object.keys(volumes)))
  })

  test('nothing waits for a service that is not there or never well', () => {
    for (const [name, { depends_on: needs = {} }] of all) {
      for (const [other, { condition }] of Object.entries(needs)) {
        const service = services[other]
        expect(service, `${name} needs ${other}`).toBeDefined()
        if (condition === 'service_healthy') expect(service!.healthcheck?.test, other).toBeDefined()
        else expect(condition).toBe('service_completed_successfully')
      }
    }
  })

  test('every port is open to this machine alone', () => {
    const ports = all.flatMap(([, { ports: open = [] }]) => open)
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  test('has room for the health check beside what the chart allows, and stops later than the daemon drains', () => {
    const values = parse(readFileSync(at('helm/penstock/values.yaml'), 'utf8'))
    const mebibytes = (text: string) => Number(/^(\d+)Mi?$/i.exec(text)![1])
    const allowed = mebibytes(values.resources.limits.memory)
    expect(mebibytes(services.penstock!.mem_limit!)).toBeGreaterThanOrEqual(allowed + 40)
    expect(services.penstock!.stop_grace_period).toBe(`${values.terminationGracePeriodSeconds}s`)
  })
})

describe('what compose.yaml starts', () => {
  test('the daemon: the configuration is right, and is that of the sandbox', async () => {
    const [mount] = mountsOf(services.penstock!)
    const config = await loadConfig(at(mount!.source), { env: { DATABASE_URL: 'postgres://a:b@postgres/c' } })
    const [app] = config.apps
    const { classroom, analytics, players } = config.provider
    expect(new Set([classroom, analytics, players].map(service => service?.url)).size).toBe(1)
    expect({ id: app!.id, plan: app!.plan, url: config.provider.classroom?.url }).toEqual({
      id: demoApp.id,
      plan: optionOf(services.sandbox!.command!, '--plan'),
      url: `http://sandbox:${optionOf(services.sandbox!.command!, '--port')}`,
    })
    const secrets = [
      ...[app!.classroom!.uid, app!.classroom!.token, app!.rest!.key, app!.rest!.secret],
      app!.notifications!.secret,
    ]
    expect(await Promise.all(secrets.map(secret => secret.reveal()))).toEqual([
      ...[demoApp.uid, demoApp.token, demoApp.rest.key, demoApp.rest.secret],
      demoApp.notifications.secret,
    ])
    expect(optionOf(services.sandbox!.command!, '--notify')).toBe(
      `http://penstock:${config.notifications.listen.port}/notifications`,
    )
  })

  test('the daemon listens where the ports lead, and its file is where the image looks', async () => {
    const [mount] = mountsOf(services.penstock!)
    const { http } = parse(await readFile(at(mount!.source), 'utf8'))
    expect(services.penstock!.ports).toEqual([`127.0.0.1:9464:${http.listen.split(':')[1]}`])
    const last = stageOf(readDockerfile(at('Dockerfile')), 'daemon')
    expect(execForm(textOf(last, 'CMD'))).toEqual(['run', '--config', mount!.target])
    expect(services.migrate!.command).toEqual(['migrate', 'up', '--config', mount!.target])
  })

  test.each(['migrate', 'sandbox'])('%s: the command is one that there is', async name => {
    const { code, stderr } = await penstock([...services[name]!.command!, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('Prometheus: it scrapes the daemon and reads every rule of the chart', async () => {
    const { prometheus } = services
    const mounts = mountsOf(prometheus!)
    const file = mounts.find(({ target }) => target === '/etc/prometheus/prometheus.yml')
    expect(prometheus!.command).toContain(`--config.file=${file!.target}`)
    const config = parse(await readFile(at(file!.source), 'utf8'))
    expect(config.scrape_configs[0].static_configs[0].targets).toEqual(['penstock:9464'])
    const rules = mounts.find(({ source }) => source === './helm/penstock/rules')
    expect(config.rule_files).toEqual([`${rules!.target}/*.yaml`])
  })

  test('Grafana: it asks the services that are there, and shows every dashboard of the chart', async () => {
    const mounts = mountsOf(services.grafana!)
    const provisioned = (kind: string) => {
      const { source } = mounts.find(({ target }) => target === `/etc/grafana/provisioning/${kind}`)!
      return readFile(at(`${source}/penstock.yaml`), 'utf8').then(parse)
    }
    const { datasources } = await provisioned('datasources')
    for (const { url } of datasources) {
      const [, host] = /^(?:http:\/\/)?(\w+):\d+$/.exec(url)!
      expect(Object.keys(services)).toContain(host)
    }
    const { providers } = await provisioned('dashboards')
    const dashboards = mounts.find(({ source }) => source === './helm/penstock/dashboards')
    expect(providers.map(({ options }: { options: { path: string } }) => options.path)).toEqual([
      dashboards!.target,
    ])
  })
})

describe('the roles that deploy/compose/postgres makes', () => {
  const script = 'deploy/compose/postgres/roles.sh'
  const passwords = { migration: 'one', runtime: 'two', grafana: 'three' }
  let folder: string
  let server: { readonly url: string; readonly stop: () => Promise<void> }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-compose-'))
    server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'test' })
    await execute(server.url, 'create database trial')
    await execute(databaseUrl(server.url, 'trial'), statements())
  })

  afterAll(async () => {
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** What psql would send, its variables put in. */
  function statements(): string {
    const [, sql] = /<<'SQL'\n([\s\S]*)\nSQL\n/.exec(readFileSync(at(script), 'utf8'))!
    return sql!
      .replaceAll(':"database"', 'trial')
      .replaceAll(/:'(\w+)_password'/g, (_, who: keyof typeof passwords) => `'${passwords[who]}'`)
  }

  function urlOf(user: string, password: string): string {
    const url = new URL(databaseUrl(server.url, 'trial'))
    return Object.assign(url, { username: user, password }).href
  }

  const inCompose = (command: readonly string[], url: string) => {
    const words = command.map(word =>
      word.startsWith('/etc/penstock') ? at('deploy/compose/penstock.yaml') : word,
    )
    return penstock(words, { DATABASE_URL: url })
  }

  test('is a script that Postgres can run', () => {
    expect(statSync(at(script)).mode & 0o111).toBe(0o111)
    expect(readFileSync(at(script), 'utf8')).toMatch(/^#!\/bin\/sh\n/)
    const named = [...readFileSync(at(script), 'utf8').matchAll(/"\$(\w+)"/g)].map(([, name]) => name!)
    const given = new Set([...Object.keys(services.postgres!.environment!), 'POSTGRES_USER'])
    expect(named.filter(name => !given.has(name))).toEqual([])
  })

  test('the migrating one can prepare the database, as compose tells it to', async () => {
    const { code, stdout } = await inCompose(
      services.migrate!.command!,
      urlOf('penstock_migration', passwords.migration),
    )
    expect({ code, last: stdout.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      last: 'the database is up to date',
    })
  })

  test('the daemon has the rights it needs, and cannot change a table', async () => {
    const url = urlOf('penstock', passwords.runtime)
    const { stdout } = await inCompose(['check', '--json', '--config', '/etc/penstock/penstock.yaml'], url)
    const { checks } = JSON.parse(stdout) as { checks: { subject: string; result: string; text: string }[] }
    const role = checks.find(({ subject }) => subject === 'role')
    expect(role).toEqual({
      subject: 'role',
      result: 'ok',
      text: 'penstock_runtime may write rows and change no table',
    })
  })

  test('the one of Grafana can read, and nothing else', async () => {
    const url = urlOf('grafana', passwords.grafana)
    expect(await ask(url, 'select count(*)::int as rooms from classroom.room')).toEqual([{ rooms: 0 }])
    await expect(execute(url, 'delete from classroom.room')).rejects.toThrow(/permission denied/)
  })
})
