import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { helmValuesSchemaText } from '../../scripts/helm-values.ts'
import { engineSettings } from '../../src/commands/engine-settings.ts'
import { readConfig } from '../../src/config/load.ts'
import { readDockerfile, stageOf } from '../container/dockerfile.ts'
import { repository, textOf } from '../container/image.ts'
import {
  chart,
  helm,
  objectOf,
  type Release,
  type Rendered,
  reasonToSkip,
  render,
  sets,
  valuesFile,
} from './helm.ts'
import { daemonPod, podOf, podsOf } from './pods.ts'
import { complaintOf, misspelledIn } from './schemas.ts'

const read = (path: string) => readFileSync(join(chart, path), 'utf8')

describe('the files of the chart', () => {
  test('the schema of its values is that of the configuration', async () => {
    expect(await helmValuesSchemaText(), 'run npm run generate').toBe(read('values.schema.json'))
  })

  test('its page says of each value what stands above that value alone', () => {
    expect(read('README.md')).toContain('| `replicaCount` | `2` | Pods, each with one process. Each takes')
  })

  test('its version and that of its app are those of the package', () => {
    const { version, appVersion } = parse(read('Chart.yaml'))
    expect({ version, appVersion }).toEqual({ version: manifest.version, appVersion: manifest.version })
  })

  test('its user is that of the image', () => {
    const { podSecurityContext } = parse(read('values.yaml'))
    const [uid, gid] = textOf(stageOf(readDockerfile(join(repository, 'Dockerfile')), 'daemon'), 'USER')
      .split(':')
      .map(Number)
    expect(podSecurityContext).toEqual({ runAsUser: uid, runAsGroup: gid, fsGroup: gid })
  })
})

/** Names of most kinds become labels or host names. */
function isTooLong(kindAndName: string): boolean {
  const [kind, name] = kindAndName.split('/')
  return name!.length > (kind === 'ConfigMap' ? 253 : 63)
}

describe.skipIf(reasonToSkip)('rendered by helm', () => {
  const releases = new Map<string, Release>()

  beforeAll(() => {
    for (const set of sets) releases.set(set, render(set))
  })

  const each = () => [...releases.values()]

  test.each(sets)('lint has nothing to say of the values %s', set => {
    const files = set === 'default' ? [] : ['--values', valuesFile(set)]
    const { status, stdout } = helm(['lint', '--strict', chart, ...files])
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed')
    expect(status).toBe(0)
  })

  test.each([
    ['default', 9],
    ['smallest', 9],
    ['production', 13],
    ['everything', 14 + readdirSync(join(chart, 'dashboards')).filter(name => name.endsWith('.json')).length],
  ])('the values %s make all that they ask for', (set, count) => {
    const kinds = releases.get(set)!.objects.map(({ kind }) => kind)
    expect(kinds, kinds.join(', ')).toHaveLength(count)
    const always = [
      ...['ConfigMap', 'Deployment', 'Job', 'Pod', 'PodDisruptionBudget', 'Service', 'ServiceAccount'],
    ]
    expect(kinds).toEqual(expect.arrayContaining(always))
    const asked = ['NetworkPolicy', 'PrometheusRule', 'ServiceMonitor'].filter(kind => kinds.includes(kind))
    expect(asked).toHaveLength(['production', 'everything'].includes(set) ? 3 : 0)
  })

  test('every object is what the schemas of Kubernetes and the Prometheus operator allow', async () => {
    for (const { objects } of each()) {
      for (const object of objects) {
        expect(await complaintOf(object), `${object.kind} ${object.metadata.name}`).toBeUndefined()
      }
    }
  })

  test('no object has a field that its kind does not know', () => {
    expect(misspelledIn(each().flatMap(({ objects }) => objects))).toEqual([])
  })

  test('the two judges above find what is wrong', async () => {
    const deployment = objectOf(releases.get('default')!, 'Deployment')
    const wrong = structuredClone(deployment) as { spec: { replicas: unknown; replica?: number } }
    wrong.spec.replicas = 'two'
    expect(await complaintOf(wrong as unknown as Rendered)).toMatch(/replicas must be integer/)
    wrong.spec.replicas = 2
    wrong.spec.replica = 2
    expect(misspelledIn([wrong as unknown as Rendered]).join('\n')).toMatch(
      /"replica"' does not exist in type 'IDeploymentSpec'/,
    )
  })

  test('no two objects have the same name, and none has one that is too long', () => {
    const long = render('everything', { fullnameOverride: 'x'.repeat(63) })
    for (const { objects } of [...each(), long]) {
      const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
      expect(new Set(names).size).toBe(names.length)
      expect(names.filter(isTooLong)).toEqual([])
    }
  })

  test('every object bears the labels that Kubernetes recommends', () => {
    for (const { name, objects } of each()) {
      for (const { kind, metadata } of objects) {
        expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject({
          'app.kubernetes.io/name': expect.stringMatching(/^(penstock|drain)$/),
          'app.kubernetes.io/instance': name,
          'app.kubernetes.io/component': expect.stringMatching(/^(daemon|migration|test|dashboards)$/),
          'app.kubernetes.io/part-of': 'penstock',
          'app.kubernetes.io/version': manifest.version,
          'app.kubernetes.io/managed-by': 'Helm',
          'helm.sh/chart': `penstock-${manifest.version}`,
        })
      }
    }
  })

  test('whatever selects the daemon selects its pods, and not those of migration and test', () => {
    for (const release of each()) {
      const labelsOf = (kind: string) =>
        (objectOf(release, kind).spec as { template: { metadata: { labels: object } } }).template.metadata
          .labels
      const selectors = [
        (objectOf(release, 'Service').spec as { selector: object }).selector,
        ...['Deployment', 'PodDisruptionBudget'].map(
          kind =>
            (objectOf(release, kind).spec as { selector: { matchLabels: object } }).selector.matchLabels,
        ),
      ]
      for (const selector of selectors) {
        expect(labelsOf('Deployment')).toMatchObject(selector)
        expect(labelsOf('Job')).not.toMatchObject(selector)
        expect(objectOf(release, 'Pod').metadata.labels).not.toMatchObject(selector)
      }
    }
  })

  test('the ServiceMonitor finds the Service and its port', () => {
    for (const set of ['production', 'everything']) {
      const release = releases.get(set)!
      const { selector, endpoints } = objectOf(release, 'ServiceMonitor').spec as {
        selector: { matchLabels: object }
        endpoints: readonly { port: string; path: string }[]
      }
      const { metadata, spec } = objectOf(release, 'Service')
      expect(metadata.labels).toMatchObject(selector.matchLabels)
      const { ports } = spec as { ports: readonly { name: string }[] }
      expect(endpoints).toMatchObject([{ port: ports[0]!.name, path: '/metrics' }])
    }
  })

  test('the Service leads to the notifications where an app takes them, and to no such port otherwise', () => {
    const portsIn = (set: string) => {
      const { spec } = objectOf(releases.get(set)!, 'Service')
      return (spec as { ports: readonly object[] }).ports.slice(1)
    }
    expect(portsIn('everything')).toEqual([
      { name: 'notifications', port: 9465, targetPort: 'notifications' },
    ])
    expect(portsIn('production')).toEqual([])
    const { ports } = daemonPod(releases.get('everything')!).containers[0]!
    expect(ports!.at(-1)).toEqual({ name: 'notifications', containerPort: 9465 })
  })

  test('every mount has its volume, and every volume its object or a Secret that the values name', () => {
    for (const release of each()) {
      const maps = release.objects
        .filter(({ kind }) => kind === 'ConfigMap')
        .map(({ metadata }) => metadata.name)
      for (const [name, { containers, initContainers = [], volumes = [] }] of podsOf(release)) {
        const mounted = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) =>
          volumeMounts.map(mount => mount.name),
        )
        expect(new Set(mounted), name).toEqual(new Set(volumes.map(volume => volume.name)))
        for (const { configMap, secret } of volumes) {
          if (configMap) expect([...maps, 'company-authorities'], name).toContain(configMap.name)
          else if (secret) expect(secret.secretName, name).toMatch(/^(penstock|drain)/)
        }
      }
    }
  })

  test('a changed configuration starts the daemon anew, and nothing else does', () => {
    const checksum = (release: Release) =>
      (
        objectOf(release, 'Deployment').spec as {
          template: { metadata: { annotations: Record<string, string> } }
        }
      ).template.metadata.annotations['checksum/config']
    const before = checksum(releases.get('smallest')!)
    expect(before).toMatch(/^[0-9a-f]{64}$/)
    expect(checksum(render('smallest', { config: { log: { level: 'debug' } } }))).not.toBe(before)
    expect(checksum(render('smallest', { replicaCount: 3 }))).toBe(before)
  })

  test('the configuration is what the values say, and the daemon understands it', async () => {
    for (const [set, release] of releases) {
      const text = objectOf(release, 'ConfigMap', 'daemon').data!['penstock.yaml']!
      const said = set === 'default' ? undefined : parse(readFileSync(valuesFile(set), 'utf8')).config
      expect(parse(text)).toMatchObject(said ?? parse(read('values.yaml')).config)
      const problems = await readConfig(text, { name: set, env: {}, folder: '/' }).then(
        () => '',
        (error: Error) => error.message,
      )
      // The Secret is not there, and that is all that is wrong.
      const others = problems
        .split('\n')
        .filter(line => line && !/the file cannot be read: no such file/.test(line))
      expect(others, set).toEqual([])
      expect(problems).toContain('database.url')
    }
  })

  test('the migration is asked for before anything else is there, and knows the database alone', async () => {
    for (const release of each()) {
      const job = objectOf(release, 'Job')
      const map = objectOf(release, 'ConfigMap', 'migration')
      for (const { metadata } of [job, map]) {
        expect(metadata.annotations!['helm.sh/hook']).toBe('pre-install,pre-upgrade')
      }
      const weight = ({ metadata }: Rendered) => Number(metadata.annotations!['helm.sh/hook-weight'])
      expect(weight(map)).toBeLessThan(weight(job))
      const text = map.data!['penstock.yaml']!
      expect(text).not.toMatch(/token:(?! none)|secretFile|keyFile|tokenFile/)
    }
  })

  test('the migration goes to one address, whichever others the daemon has', () => {
    const file = (name: string) => `/run/secrets/penstock/${name}`
    const database = { directUrlFile: file('direct-url'), readUrlFile: file('read-url') }
    const values = { config: { database }, migration: { existingSecret: 'penstock-migration' } }
    const map = objectOf(render('smallest', values), 'ConfigMap', 'migration')
    expect(parse(map.data!['penstock.yaml']!).database).toEqual({ urlFile: file('database-url') })
  })

  test('whoever names other services alone is rid of the placeholder', () => {
    const provider = { analytics: { url: 'https://calls.example.com:8443' } }
    const credentials = { keyFile: '/run/secrets/penstock/key', secretFile: '/run/secrets/penstock/secret' }
    const app = { id: 'a', region: 'ap', plan: 'premium', rest: credentials }
    const values = { config: { provider, apps: [app] }, networkPolicy: { enabled: true } }
    for (const classroom of [{}, { classroom: null }]) {
      const given = { ...values, config: { ...values.config, provider: { ...provider, ...classroom } } }
      const release = render('default', given)
      const text = objectOf(release, 'ConfigMap', 'daemon').data!['penstock.yaml']!
      expect(parse(text).provider).toEqual(provider)
      const { egress } = objectOf(release, 'NetworkPolicy', 'daemon').spec as {
        egress: readonly { ports: readonly { port: number }[] }[]
      }
      expect(egress).toContainEqual({ ports: [{ port: 8443 }] })
      const { stdout } = helm(['install', 'school', chart, '--dry-run=client'], given)
      expect(stdout).toContain('NOTES:')
      expect(stdout).not.toContain('NOTHING')
    }
  })

  test('the migration has a role of its own where it is given one', () => {
    const { volumes } = [
      ...podsOf({
        ...releases.get('production')!,
        objects: [objectOf(releases.get('production')!, 'Job')],
      }).values(),
    ][0]!
    expect(volumes!.find(({ name }) => name === 'secrets')!.secret).toMatchObject({
      secretName: 'penstock-migration',
      items: [
        { key: 'url', path: 'database-url' },
        { key: 'ca.crt', path: 'ca.crt' },
      ],
    })
    expect(daemonPod(releases.get('production')!).volumes).toContainEqual(
      expect.objectContaining({ secret: expect.objectContaining({ secretName: 'penstock-credentials' }) }),
    )
  })

  test('the migration sees of a Secret what it was given by name, by default the address alone', () => {
    for (const set of ['default', 'smallest'] as const) {
      const { volumes } = podOf(objectOf(releases.get(set)!, 'Job'))!
      expect(volumes!.find(({ name }) => name === 'secrets')!.secret!.items).toEqual([
        { key: 'database-url', path: 'database-url' },
      ])
    }
  })

  test('a pod gets longer to end than the daemon takes to drain', async () => {
    const text = objectOf(releases.get('smallest')!, 'ConfigMap', 'daemon').data!['penstock.yaml']!
    const inline = text.replaceAll(/tokenFile: \S+/g, 'token: t').replaceAll(/urlFile: \S+/g, 'url: embedded')
    const { drainDeadline } = engineSettings(await readConfig(inline, { name: 'x', env: {}, folder: '/' }))
    for (const release of each()) {
      expect(daemonPod(release).terminationGracePeriodSeconds! * 1_000).toBeGreaterThan(drainDeadline + 5_000)
    }
    expect(() => render('smallest', { terminationGracePeriodSeconds: drainDeadline / 1_000 })).toThrow(
      /minimum/,
    )
  })

  test('a new process waits beside the old one, which goes when the new one is ready and no sooner', () => {
    for (const release of each()) {
      const { strategy } = objectOf(release, 'Deployment').spec as { strategy: { rollingUpdate: object } }
      expect(strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
    }
  })

  test('what helm says afterwards tells what is missing', () => {
    const notesOf = (set: 'default' | 'production') => {
      const files = set === 'default' ? [] : ['--values', valuesFile(set)]
      const { stdout } = helm([
        'install',
        'school',
        chart,
        '--dry-run=client',
        '--namespace',
        'data',
        ...files,
      ])
      return stdout.slice(stdout.indexOf('NOTES:'))
    }
    const first = notesOf('default')
    expect(first).toContain('It drains NOTHING yet')
    expect(first).toContain('kubectl --namespace data create secret generic penstock')
    expect(first).toContain('Give it a Secret of its own')
    expect(first).toContain('Nobody is alerted yet: alerts.enabled.')
    expect(first).toContain(
      'kubectl --namespace data exec deployment/school-penstock -- penstock status --config /etc/penstock/penstock.yaml',
    )
    const second = notesOf('production')
    expect(second).not.toMatch(/NOTHING|Give it a Secret|Nobody/)
    expect(second).toContain('create secret generic penstock-credentials')
    expect(second).toContain('helm --namespace data test school --logs')
  })
})
