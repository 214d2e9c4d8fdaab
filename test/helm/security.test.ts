import { describe, expect, test } from 'vitest'
import { objectOf, reasonToSkip, render, sets } from './helm.ts'
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

interface Policy {
  readonly podSelector: { readonly matchLabels: object }
  readonly policyTypes: readonly string[]
  readonly ingress: readonly { readonly ports: readonly Port[]; readonly from: readonly object[] }[]
  readonly egress: readonly { readonly ports: readonly Port[]; readonly to?: readonly object[] }[]
}

interface Port {
  readonly port: number
  readonly protocol?: string
}

describe.skipIf(reasonToSkip)('the network policy', () => {
  const policyOf = (set: 'production' | 'everything', values?: object) =>
    objectOf(render(set, values), 'NetworkPolicy').spec as Policy
  const portsOf = ({ egress }: Policy) => egress.map(({ ports }) => ports.map(({ port }) => port))

  test('closes both directions for every pod of the release', () => {
    const release = render('production')
    const { podSelector, policyTypes } = objectOf(release, 'NetworkPolicy').spec as Policy
    expect(policyTypes).toEqual(['Ingress', 'Egress'])
    const labels = release.objects
      .flatMap(({ kind, metadata, spec }) =>
        kind === 'Pod'
          ? [metadata]
          : ['Deployment', 'Job'].includes(kind)
            ? [(spec as { template: { metadata: { labels?: object } } }).template.metadata]
            : [],
      )
      .map(metadata => metadata.labels)
    expect(labels).toHaveLength(3)
    for (const each of labels) expect(each).toMatchObject(podSelector.matchLabels)
  })

  test('lets out to DNS, to the ports of the provider, to Postgres, and nowhere else', () => {
    expect(portsOf(policyOf('production'))).toEqual([[53, 53], [443, 8443], [6432], [9464]])
    expect(portsOf(policyOf('everything'))).toEqual([[53, 53], [443, 80, 9443], [5432], [19464], [3128]])
    const { egress } = policyOf('production')
    expect(egress[0]!.ports.map(({ protocol }) => protocol)).toEqual(['UDP', 'TCP'])
    expect(egress[2]!.to).toEqual([{ ipBlock: { cidr: '10.20.0.0/16' } }])
  })

  test('knows the port of an address that is a number', () => {
    const url = (text: string) => ({ config: { provider: { analytics: { url: text } } } })
    expect(portsOf(policyOf('production', url('https://[2001:db8::1]:444/a')))[1]).toEqual([443, 444])
    expect(portsOf(policyOf('production', url('https://[2001:db8::1]')))[1]).toEqual([443])
    expect(portsOf(policyOf('production', url('http://10.0.0.1/x:9')))[1]).toEqual([443, 80])
  })

  test('lets in to the endpoints alone, from where the values say', () => {
    const [rule, ...others] = policyOf('production').ingress
    expect(others).toEqual([])
    expect(rule!.ports).toEqual([{ port: 9464 }])
    expect(rule!.from).toContainEqual({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
    })
  })
})
