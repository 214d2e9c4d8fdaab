import { describe, expect, test } from 'vitest'
import { type Metadata, objectOf, type Release, reasonToSkip, render, sets } from './helm.ts'
import { type Container, type PodSpec, podsOf } from './pods.ts'

/** What the profile "restricted" of the Pod Security Standards has against a pod, one line each. */
function broken({ hostNetwork, securityContext = {}, volumes = [], ...pod }: PodSpec): readonly string[] {
  const allowed = [
    'configMap',
    'csi',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ]
  const { runAsNonRoot, runAsUser, seccompProfile } = securityContext
  const containers = [...pod.containers, ...(pod.initContainers ?? [])]
  const others = volumes.flatMap(volume =>
    Object.keys(volume).filter(key => key !== 'name' && !allowed.includes(key)),
  )
  return [
    ...(hostNetwork ? ['shares the network of its node'] : []),
    ...(runAsUser === 0 ? ['runs as root'] : []),
    ...(['RuntimeDefault', 'Localhost'].includes(seccompProfile?.type ?? '')
      ? []
      : ['has no seccomp profile']),
    ...others.map(kind => `has a volume of the kind ${kind}`),
    ...containers.flatMap(container => brokenBy(container, runAsNonRoot === true)),
  ]
}

function brokenBy(
  { name, securityContext = {}, ports = [] }: Container,
  isNonRoot: boolean,
): readonly string[] {
  const { allowPrivilegeEscalation, capabilities = {}, privileged, runAsNonRoot, runAsUser } = securityContext
  return [
    ...(privileged ? [`${name} is privileged`] : []),
    ...(allowPrivilegeEscalation === false ? [] : [`${name} may gain rights`]),
    ...((runAsNonRoot ?? isNonRoot) && runAsUser !== 0 ? [] : [`${name} may be root`]),
    ...(capabilities.drop?.includes('ALL') ? [] : [`${name} keeps capabilities`]),
    ...(capabilities.add ?? [])
      .filter(each => each !== 'NET_BIND_SERVICE')
      .map(each => `${name} has ${each}`),
    ...ports.filter(port => 'hostPort' in port).map(() => `${name} has a port of its node`),
  ]
}

describe.skipIf(reasonToSkip)('every pod of the chart', () => {
  const pods = () => sets.flatMap(set => [...podsOf(render(set))])

  test('keeps the restricted profile', () => {
    expect(pods().map(([name, pod]) => [name, broken(pod)])).toEqual(pods().map(([name]) => [name, []]))
    expect(pods()).toHaveLength(3 * sets.length)
  })

  test('cannot write anything and knows nothing of the cluster', () => {
    for (const [name, { automountServiceAccountToken, enableServiceLinks, containers }] of pods()) {
      expect({ automountServiceAccountToken, enableServiceLinks }, name).toEqual({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      })
      for (const { securityContext, volumeMounts = [] } of containers) {
        expect(securityContext!.readOnlyRootFilesystem, name).toBe(true)
        expect(volumeMounts.filter(({ readOnly }) => !readOnly)).toEqual([])
      }
    }
  })

  test('has a memory limit, 256 MiB unless told otherwise', () => {
    for (const set of ['default', 'production'] as const) {
      for (const { containers } of podsOf(render(set)).values()) {
        for (const { resources } of containers) expect(resources!.limits!.memory).toBe('256Mi')
      }
    }
    for (const [name, { containers }] of pods()) {
      for (const { resources } of containers) expect(resources?.limits?.memory, name).toBeDefined()
    }
  })

  test('reads secrets from files that others on its node cannot read, and holds none in its description', () => {
    for (const [name, { volumes = [], containers }] of pods()) {
      const modes = volumes.flatMap(({ secret }) => (secret ? [secret.defaultMode] : []))
      expect(modes, name).toEqual([0o440])
      expect(JSON.stringify(containers.map(({ env = [] }) => env))).not.toMatch(/secretKeyRef|password/i)
    }
  })
})

type Labels = Readonly<Record<string, string>>

interface Policy {
  readonly podSelector: {
    readonly matchLabels: Labels
    readonly matchExpressions?: readonly {
      readonly key: string
      readonly operator: string
      readonly values: readonly string[]
    }[]
  }
  readonly policyTypes: readonly string[]
  readonly ingress?: readonly { readonly ports: readonly Port[]; readonly from: readonly object[] }[]
  readonly egress: readonly { readonly ports: readonly Port[]; readonly to?: readonly object[] }[]
}

interface Port {
  readonly port: number
  readonly protocol?: string
}

describe.skipIf(reasonToSkip)('the network policy', () => {
  const policyOf = (set: 'production' | 'everything', values?: object) =>
    objectOf(render(set, values), 'NetworkPolicy', 'daemon').spec as Policy
  const portsOf = ({ egress }: Policy) => egress.map(({ ports }) => ports.map(({ port }) => port))

  /** Pods of a release by the component that they are, with their labels. */
  const labelled = ({ objects }: Release) =>
    objects.flatMap(({ kind, metadata, spec }) => {
      const { template } = (spec ?? {}) as { readonly template?: { readonly metadata: Metadata } }
      const { labels } = kind === 'Pod' ? metadata : (template?.metadata ?? {})
      return labels ? [labels] : []
    })
  const selects = ({ podSelector: { matchLabels, matchExpressions = [] } }: Policy, labels: Labels) =>
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => operator === 'In' && values.includes(labels[key]!))

  test('closes both directions for every pod of the release, each by one policy', () => {
    for (const set of ['production', 'everything'] as const) {
      const release = render(set)
      const policies = release.objects.filter(({ kind }) => kind === 'NetworkPolicy')
      const chosen = labelled(release).map(labels => [
        labels['app.kubernetes.io/component'],
        ...policies
          .filter(({ spec }) => selects(spec as Policy, labels))
          .map(({ metadata }) => metadata.name),
      ])
      const name = objectOf(release, 'Deployment').metadata.name
      expect(chosen.toSorted()).toEqual([
        ['daemon', name],
        ['migration', `${name}-migration`],
        ['test', name],
      ])
      for (const { spec } of policies) expect((spec as Policy).policyTypes).toEqual(['Ingress', 'Egress'])
    }
  })

  test('of the migration is there before the migration is', () => {
    const release = render('production')
    const { metadata } = objectOf(release, 'NetworkPolicy', 'migration')
    const job = objectOf(release, 'Job').metadata
    const weightOf = ({ annotations }: Metadata) => Number(annotations!['helm.sh/hook-weight'])
    expect(metadata.annotations!['helm.sh/hook']).toBe(job.annotations!['helm.sh/hook'])
    expect(weightOf(metadata)).toBeLessThan(weightOf(job))
    expect(objectOf(release, 'NetworkPolicy', 'daemon').metadata.annotations).toBeUndefined()
  })

  test('of the migration lets nobody in, and out to DNS and Postgres alone', () => {
    const { ingress, egress } = objectOf(render('production'), 'NetworkPolicy', 'migration').spec as Policy
    expect(ingress).toBeUndefined()
    const own = policyOf('production').egress
    expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53], [6432]])
    for (const rule of egress) expect(own).toContainEqual(rule)
  })

  test('is not there for a migration that is switched off', () => {
    const { objects } = render('production', { migration: { enabled: false } })
    expect(objects.filter(({ kind }) => kind === 'NetworkPolicy')).toHaveLength(1)
  })

  test('lets out to DNS, to the ports of the provider, to Postgres, and nowhere else', () => {
    expect(portsOf(policyOf('production'))).toEqual([[53, 53], [6432], [443, 8443], [9464]])
    expect(portsOf(policyOf('everything'))).toEqual([[53, 53], [5432], [443, 80, 9443], [19464], [3128]])
    const { egress } = policyOf('production')
    expect(egress[0]!.ports.map(({ protocol }) => protocol)).toEqual(['UDP', 'TCP'])
    expect(egress[1]!.to).toEqual([{ ipBlock: { cidr: '10.20.0.0/16' } }])
  })

  test('knows the port of an address that is a number', () => {
    const url = (text: string) => ({ config: { provider: { analytics: { url: text } } } })
    expect(portsOf(policyOf('production', url('https://[2001:db8::1]:444/a')))[2]).toEqual([443, 444])
    expect(portsOf(policyOf('production', url('https://[2001:db8::1]')))[2]).toEqual([443])
    expect(portsOf(policyOf('production', url('http://10.0.0.1/x:9')))[2]).toEqual([443, 80])
  })

  test('lets in to the endpoints alone, from where the values say', () => {
    const [rule, ...others] = policyOf('production').ingress!
    expect(others).toEqual([])
    expect(rule!.ports).toEqual([{ port: 9464 }])
    expect(rule!.from).toContainEqual({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
    })
  })

  test('lets in to a port of its own what brings notifications, where an app takes them', () => {
    const [, notices, ...others] = policyOf('everything', {
      networkPolicy: { notificationsFrom: [{ podSelector: {} }] },
    }).ingress!
    expect(others).toEqual([])
    expect(notices).toEqual({ ports: [{ port: 9465 }], from: [{ podSelector: {} }] })
  })

  test('lets in a Prometheus of any namespace where the values name none', () => {
    expect(policyOf('everything').ingress![0]!.from).toContainEqual({ namespaceSelector: {} })
    const release = { podSelector: { matchLabels: expect.anything() } }
    expect(policyOf('everything', { networkPolicy: { ingressFrom: [] } }).ingress![0]!.from).toEqual([
      release,
    ])
  })
})
