import { describe, expect, test } from 'vitest'
import { objectOf, type Release, type Rendered, reasonToSkip, render } from './helm.ts'
import { type Container, daemonPod, type PodSpec, podOf } from './pods.ts'

/** The keys that people know from other charts, and what becomes of each. */

const pods = (release: Release) => ({
  daemon: daemonPod(release),
  migration: podOf(objectOf(release, 'Job'))!,
  test: podOf(objectOf(release, 'Pod'))!,
})

type Scheduled = PodSpec & {
  readonly serviceAccountName?: string
  readonly nodeSelector?: object
  readonly tolerations?: readonly object[]
  readonly affinity?: object
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: object }[]
  readonly priorityClassName?: string
}

describe.skipIf(reasonToSkip)('the values by convention', () => {
  const everything = reasonToSkip ? undefined! : render('everything')
  const templateOf = (object: Rendered) => (object.spec as { template: Rendered }).template

  test('replicaCount is the number of pods, two unless told otherwise', () => {
    const replicasOf = (release: Release) =>
      (objectOf(release, 'Deployment').spec as { replicas: number }).replicas
    expect([replicasOf(render('default')), replicasOf(everything)]).toEqual([2, 3])
  })

  test('podAnnotations and podLabels are those of the pods of the daemon', () => {
    const { metadata } = templateOf(objectOf(everything, 'Deployment'))
    expect(metadata.labels).toMatchObject({ team: 'data' })
    expect(metadata.annotations).toMatchObject({ 'example.com/owner': 'data' })
    expect(templateOf(objectOf(everything, 'Job')).metadata.labels).not.toHaveProperty('team')
  })

  test('where pods may run is said for all of them, and how they spread for the daemon alone', () => {
    const { daemon, migration, test: check } = pods(everything) as Readonly<Record<string, Scheduled>>
    for (const pod of [daemon, migration, check]) {
      expect(pod).toMatchObject({
        nodeSelector: { 'kubernetes.io/arch': 'arm64' },
        tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'data', effect: 'NoSchedule' }],
        priorityClassName: 'high',
      })
    }
    expect(daemon!.affinity).toHaveProperty('podAntiAffinity')
    for (const pod of [migration, check]) {
      expect(pod).not.toHaveProperty('affinity')
      expect(pod).not.toHaveProperty('topologySpreadConstraints')
    }
  })

  test('a constraint of spreading counts the pods of the daemon, unless it says which', () => {
    const { topologySpreadConstraints } = daemonPod(everything) as Scheduled
    expect(topologySpreadConstraints).toEqual([
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: {
          matchLabels: {
            'app.kubernetes.io/name': 'drain',
            'app.kubernetes.io/instance': 'school',
            'app.kubernetes.io/component': 'daemon',
          },
        },
      },
      {
        maxSkew: 2,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { team: 'data' } },
      },
    ])
  })

  test('variables, volumes and containers that run first are in every pod, as all of them need the database', () => {
    for (const [name, { containers, initContainers = [], volumes = [] }] of Object.entries(
      pods(everything),
    )) {
      expect(
        initContainers.map(container => container.name),
        name,
      ).toEqual(['database-proxy'])
      expect(volumes, name).toEqual(
        expect.arrayContaining([
          { name: 'company', configMap: { name: 'company-authorities' } },
          { name: 'socket', emptyDir: {} },
        ]),
      )
      const own = containers.filter(container => container.name !== 'log-shipper') as readonly (Container & {
        readonly envFrom?: readonly object[]
      })[]
      expect(own.length).toBeGreaterThan(0)
      for (const { env, envFrom, volumeMounts } of own) {
        expect(env).toEqual([{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/company/ca.crt' }])
        expect(envFrom).toEqual([{ configMapRef: { name: 'company-proxy' } }])
        expect(volumeMounts).toContainEqual({ name: 'company', mountPath: '/etc/company', readOnly: true })
      }
    }
  })

  test('containers beside the daemon are in its pods alone, after it', () => {
    const namesOf = ({ containers }: PodSpec) => containers.map(({ name }) => name)
    const { daemon, migration, test: check } = pods(everything)
    expect(namesOf(daemon)).toEqual(['penstock', 'log-shipper'])
    expect(namesOf(migration)).toEqual(['migration'])
    expect(namesOf(check)).toEqual(['check', 'ready'])
  })

  describe('serviceAccount', () => {
    const accountsOf = ({ objects }: Release) => objects.filter(({ kind }) => kind === 'ServiceAccount')
    const namesOf = (release: Release) =>
      Object.values(pods(release)).map(pod => (pod as Scheduled).serviceAccountName)

    test('makes one for the daemon and one for the migration, which is there before it, with annotations', () => {
      const [daemon, migration] = accountsOf(everything)
      expect(daemon).toMatchObject({
        metadata: { name: 'classroom-drain', annotations: { 'example.com/role': 'drain' } },
        automountServiceAccountToken: false,
      })
      expect(daemon!.metadata.annotations).not.toHaveProperty('helm.sh/hook')
      const job = objectOf(everything, 'Job').metadata.annotations!
      const { annotations = {} } = migration!.metadata
      expect(annotations).toMatchObject({
        'example.com/role': 'drain',
        'helm.sh/hook': job['helm.sh/hook'],
      })
      expect(Number(annotations['helm.sh/hook-weight'])).toBeLessThan(Number(job['helm.sh/hook-weight']))
      expect(namesOf(everything)).toEqual(['classroom-drain', 'classroom-drain-migration', 'classroom-drain'])
    })

    test('makes none where one is named that is there, or where that of the namespace is wished for', () => {
      const named = render('smallest', { serviceAccount: { create: false, name: 'school' } })
      expect([accountsOf(named), namesOf(named)]).toEqual([[], ['school', 'school', 'school']])
      const without = render('smallest', { serviceAccount: { create: false } })
      expect([accountsOf(without), namesOf(without)]).toEqual([[], [undefined, undefined, undefined]])
    })

    test('makes none for a migration that is switched off', () => {
      const release = render('smallest', { migration: { enabled: false } })
      expect(accountsOf(release).map(({ metadata }) => metadata.name)).toEqual(['school-penstock'])
    })
  })

  test('the ingress leads to the port for notifications alone, at their path unless another is named', () => {
    const { metadata, spec } = objectOf(everything, 'Ingress')
    expect(metadata.annotations).toEqual({ 'example.com/issuer': 'internal' })
    const backend = { service: { name: 'classroom-drain', port: { name: 'notifications' } } }
    expect(spec).toEqual({
      ingressClassName: 'nginx',
      tls: [{ secretName: 'notices-tls', hosts: ['notices.example.com'] }],
      rules: [
        {
          host: 'notices.example.com',
          http: { paths: [{ path: '/notifications', pathType: 'Exact', backend }] },
        },
        {
          host: 'gateway.example.com',
          http: { paths: [{ path: '/drain/notifications', pathType: 'Prefix', backend }] },
        },
      ],
    })
  })

  test('the disruption budget is what may be away, or what must stay, and never both', () => {
    const budgetOf = (podDisruptionBudget: object) =>
      objectOf(render('smallest', { podDisruptionBudget }), 'PodDisruptionBudget').spec as object
    expect(budgetOf({})).toMatchObject({ maxUnavailable: 1 })
    expect(budgetOf({ maxUnavailable: '34%' })).toMatchObject({ maxUnavailable: '34%' })
    for (const minAvailable of [0, 2, '50%']) {
      expect(budgetOf({ minAvailable })).toMatchObject({ minAvailable })
      expect(budgetOf({ minAvailable })).not.toHaveProperty('maxUnavailable')
    }
    const { objects } = render('smallest', { podDisruptionBudget: { enabled: false } })
    expect(objects.map(({ kind }) => kind)).not.toContain('PodDisruptionBudget')
  })

  test('the ServiceMonitor lies where the values say, looks where the release is, and labels anew', () => {
    const { metadata, spec } = objectOf(everything, 'ServiceMonitor')
    expect(metadata).toMatchObject({ name: 'classroom-drain', namespace: 'monitoring' })
    expect(spec).toMatchObject({
      namespaceSelector: { matchNames: ['data'] },
      endpoints: [
        {
          interval: '15s',
          scrapeTimeout: '12s',
          basicAuth: {
            username: { name: 'page-access', key: 'user' },
            password: { name: 'page-access', key: 'password' },
          },
          relabelings: [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }],
          metricRelabelings: [{ sourceLabels: ['__name__'], regex: 'nodejs_.*', action: 'drop' }],
        },
      ],
    })
    const plain = objectOf(render('production'), 'ServiceMonitor')
    expect(plain.metadata).not.toHaveProperty('namespace')
    expect(plain.metadata.labels).toMatchObject({ release: 'monitoring' })
  })
})
