import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { repository } from '../container/image.ts'

/** An object of the cluster, as far as the tests look into it. */
export interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec?: unknown
  readonly data?: Readonly<Record<string, string>>
}

export interface Metadata {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const chart = join(repository, 'helm/penstock')
export const valuesFile = (name: string) => join(repository, `test/helm/values/${name}.yaml`)

/** The real sets of values; `default` is none at all. */
export const sets = ['default', 'smallest', 'production', 'everything'] as const
export type ValueSet = (typeof sets)[number]

const found = spawnSync('bash', [join(repository, 'scripts/helm.sh'), '--find'], { encoding: 'utf8' })

/** Where helm is; undefined where nobody has built it. */
const helmPath: string | undefined = found.status === 0 ? found.stdout.trim() : undefined

/** Why the tests of the chart are skipped; undefined where they run. REQUIRE_HELM makes them fail instead. */
export const reasonToSkip =
  helmPath || process.env.REQUIRE_HELM ? undefined : 'helm is not there: bash scripts/helm.sh builds it'
if (reasonToSkip) process.stderr.write(`the chart is not tested: ${reasonToSkip}\n`)

export interface HelmResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs helm as an operator does; `values` is what stands in a file of theirs. */
export function helm(args: readonly string[], values?: object): HelmResult {
  if (!helmPath) throw new Error('helm is not there: bash scripts/helm.sh builds it')
  // JSON is YAML too.
  const more = values === undefined ? [] : ['--values', '-']
  const input = values === undefined ? '' : JSON.stringify(values)
  const { status, stdout, stderr, error } = spawnSync(helmPath, [...args, ...more], {
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
  })
  if (error) throw error
  return { status, stdout, stderr }
}

export interface Release {
  readonly name: string
  readonly namespace: string
  readonly objects: readonly Rendered[]
}

/** What would be sent to the cluster for a release. Throws what helm says when it refuses the values. */
export function render(set: ValueSet, values?: object): Release {
  const [name, namespace] = ['school', 'data']
  const files = set === 'default' ? [] : ['--values', valuesFile(set)]
  const args = ['template', name, chart, '--namespace', namespace, ...files]
  const { status, stdout, stderr } = helm(args, values)
  if (status !== 0) throw new Error(stderr)
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  const documents = parseAllDocuments(stdout, { version: '1.1' }).map(
    document => document.toJS() as Rendered | null,
  )
  return { name, namespace, objects: documents.filter(document => document !== null) }
}

/** The only object of a kind, or that of a component. */
export function objectOf(release: Release, kind: string, component?: string): Rendered {
  const fit = release.objects.filter(
    ({ kind: found, metadata }) =>
      found === kind &&
      (component === undefined || metadata.labels?.['app.kubernetes.io/component'] === component),
  )
  if (fit.length === 1) return fit[0]!
  throw new Error(`${fit.length} objects of kind ${kind}${component ? ` of the component ${component}` : ''}`)
}
