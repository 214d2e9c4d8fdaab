import { objectOf, type Release, type Rendered } from './helm.ts'

/** A pod's description, as far as the tests look into it. */
export interface PodSpec {
  readonly automountServiceAccountToken?: boolean
  readonly enableServiceLinks?: boolean
  readonly hostNetwork?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: PodSecurity
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly Volume[]
}

export interface PodSecurity {
  readonly runAsNonRoot?: boolean
  readonly runAsUser?: number
  readonly runAsGroup?: number
  readonly fsGroup?: number
  readonly seccompProfile?: { readonly type: string }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string | number>>
    readonly limits?: Readonly<Record<string, string | number>>
  }
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly privileged?: boolean
    readonly runAsUser?: number
    readonly runAsNonRoot?: boolean
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] }
  }
  readonly volumeMounts?: readonly {
    readonly name: string
    readonly mountPath: string
    readonly readOnly?: boolean
  }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly timeoutSeconds?: number
  readonly failureThreshold: number
}

export interface Volume {
  readonly name: string
  readonly configMap?: { readonly name: string }
  readonly secret?: {
    readonly secretName: string
    readonly defaultMode?: number
    readonly items?: readonly { readonly key: string; readonly path: string }[]
  }
  readonly [other: string]: unknown
}

/** The pod that an object is or makes; undefined where it makes none. */
export function podOf({ kind, spec }: Rendered): PodSpec | undefined {
  if (kind === 'Pod') return spec as PodSpec
  const { template } = (spec ?? {}) as { readonly template?: { readonly spec: PodSpec } }
  return template?.spec
}

/** All pods of a release, by kind and name. */
export function podsOf(release: Release): ReadonlyMap<string, PodSpec> {
  const found = release.objects.flatMap(object => {
    const pod = podOf(object)
    return pod ? [[`${object.kind} ${object.metadata.name}`, pod] as const] : []
  })
  return new Map(found)
}

/** The daemon's pod. */
export function daemonPod(release: Release): PodSpec {
  return podOf(objectOf(release, 'Deployment'))!
}
